"""The names that logs give our columns; they end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.core.errors import InputError, UsageError

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "query_id", "user_id", "userid", "user", "uid", "visitor_id", "visitorid", "customer_id",
        "reviewerid", "session_id", "sessionid", "session", "sess_id", "query", "qid",
    ),
    "doc_id": (
        "doc_id", "item_id", "itemid", "item", "iid", "movie_id", "movieid", "product_id",
        "productid", "asin", "parent_asin", "article_id", "track_id", "book_id", "news_id",
        "clicked_doc_id", "doc", "document", "content_id", "contentid", "content",
    ),
    "at": (
        "at", "timestamp", "time", "ts", "datetime", "date", "event_time", "unixreviewtime",
        "created_at", "t_dat",
    ),
    "kind": ("kind", "event", "event_type", "event_name", "action", "action_name", "behavior",
             "behaviour", "type"),
    "value": ("value", "rating", "overall", "stars", "weight", "count", "score", "label"),
}  # fmt: skip
"""For each of our columns the names it may have, best first; upper and lower case are one."""

_NEEDED = ("query_id", "doc_id")


def mapped(
    found: Sequence[str], chosen: Mapping[str, str], label: str, line: int | None = None
) -> dict[str, str]:
    """Which column of a log is which of ours: ours -> theirs.

    Args:
        found: the log's columns.
        chosen: ours -> theirs, as the user says; the others are found by their names.
        label: what errors call the log.
        line: where its columns are named.

    Raises:
        UsageError: a chosen column that is not one of ours.
        InputError: a column that is not there, or none for the user or the item.
    """
    for ours, theirs in chosen.items():
        if ours not in ALIASES:
            raise UsageError(
                f"a log has no column '{ours}'; choose {', '.join(ALIASES)}.", code="missing-column"
            )
        if theirs not in found:
            problem = f"no column '{theirs}' among {', '.join(found[:10])}."
            raise InputError(problem, source=label, line=line, code="missing-column")
    lower: dict[str, str] = {}
    for name in found:
        lower.setdefault(name.strip().lower(), name)
    columns = dict(chosen)
    for ours, aliases in ALIASES.items():
        theirs = next(
            (lower[a] for a in aliases if a in lower and lower[a] not in columns.values()), ""
        )
        if ours not in columns and theirs:
            columns[ours] = theirs
    for ours in _NEEDED:
        if ours not in columns:
            problem = (
                f"no column for {'the user or query' if ours == 'query_id' else 'the item'} among "
                f"{', '.join(found[:10])}; name it with {ours}=COLUMN."
            )
            raise InputError(problem, source=label, line=line, code="missing-column")
    return {ours: columns[ours] for ours in ALIASES if ours in columns}
