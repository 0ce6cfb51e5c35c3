"""The names that logs give our columns; the reader translates them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankgate.core.errors import InputError, UsageError

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "query_id",
        "user_id",
        "userid",
        "user",
        "uid",
        "visitor_id",
        "visitorid",
        "customer_id",
        "reviewerid",
        "session_id",
        "sessionid",
        "session",
        "sess_id",
        "query",
        "qid",
    ),
    "doc_id": (
        "doc_id",
        "item_id",
        "itemid",
        "item",
        "iid",
        "movie_id",
        "movieid",
        "product_id",
        "productid",
        "asin",
        "parent_asin",
        "article_id",
        "track_id",
        "book_id",
        "news_id",
        "clicked_doc_id",
        "doc",
        "document",
        "content_id",
        "contentid",
        "content",
    ),
    "at": (
        "at",
        "timestamp",
        "time",
        "ts",
        "datetime",
        "date",
        "event_time",
        "unixreviewtime",
        "created_at",
        "t_dat",
    ),
    "kind": (
        "kind",
        "event",
        "event_type",
        "event_name",
        "action",
        "action_name",
        "behavior",
        "behaviour",
        "type",
    ),
    "value": ("value", "rating", "overall", "stars", "weight", "count", "score", "label"),
}
"""The names that each of our columns may have, best first; case is ignored."""

_REQUIRED = ("query_id", "doc_id")


def map_columns(
    log_columns: Sequence[str],
    chosen_columns: Mapping[str, str],
    label: str,
    line: int | None = None,
) -> dict[str, str]:
    """Map our columns to those of a log: ours -> theirs.

    Args:
        log_columns: the log's columns.
        chosen_columns: ours -> theirs, from the user; the others are found by their names.
        label: what errors call the log.
        line: the line that names its columns.

    Raises:
        UsageError: a chosen column that is not one of ours.
        InputError: a column that is not there, or none for the user or the item.
    """
    for column, log_column in chosen_columns.items():
        if column not in ALIASES:
            raise UsageError(
                f"a log has no column '{column}'; choose {', '.join(ALIASES)}.",
                code="missing-column",
            )
        if log_column not in log_columns:
            problem = f"no column '{log_column}' among {', '.join(log_columns[:10])}."
            raise InputError(problem, source=label, line=line, code="missing-column")
    name_by_lower_case: dict[str, str] = {}
    for name in log_columns:
        name_by_lower_case.setdefault(name.strip().lower(), name)
    columns = dict(chosen_columns)
    for column, aliases in ALIASES.items():
        log_column = next(
            (
                name_by_lower_case[alias]
                for alias in aliases
                if alias in name_by_lower_case and name_by_lower_case[alias] not in columns.values()
            ),
            "",
        )
        if column not in columns and log_column:
            columns[column] = log_column
    for column in _REQUIRED:
        if column not in columns:
            problem = (
                f"no column for {'the user or query' if column == 'query_id' else 'the item'} "
                f"among {', '.join(log_columns[:10])}; name it with {column}=COLUMN."
            )
            raise InputError(problem, source=label, line=line, code="missing-column")
    return {column: columns[column] for column in ALIASES if column in columns}
