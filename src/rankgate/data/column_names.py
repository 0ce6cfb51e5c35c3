"""The names that columns of judgments and runs have in tables of many tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "query_id",
        "qid",
        "query-id",
        "query",
        "q_id",
        "queryid",
        "topic",
        "topic_id",
        "user_id",
        "user",
        "keyword",
        "request_id",
        "userid",
        "uid",
    ),
    "doc_id": (
        "doc_id",
        "docid",
        "docno",
        "doc-id",
        "doc",
        "document",
        "document_id",
        "documentid",
        "corpus-id",
        "pid",
        "item_id",
        "item",
        "product_id",
        "itemid",
        "iid",
        "movie_id",
        "movieid",
    ),
    "grade": ("grade", "relevance", "rel", "rating", "label", "gain", "judgment", "judgement", "score"),
    "score": ("score", "sim", "similarity", "prediction"),
    "rank": ("rank", "position"),
    "subtopic": ("subtopic", "subtopic_id"),
    "subtopic_weight": ("subtopic_weight", "intent_weight", "intent_probability"),
    "inclusion": ("inclusion",),
    "stratum": ("stratum",),
    "rater": ("rater", "judge", "assessor", "annotator", "user_email", "rater_id"),
    "text": ("text", "query_text", "title"),
    "metric": ("metric", "measure"),
    "value": ("value",),
}
"""The names that each of our columns may have, best first; case is ignored."""

TIME_NAMES = (
    *("at", "timestamp", "time", "ts", "datetime", "date"),
    *("event_time", "unixreviewtime", "created_at", "t_dat"),
)
KIND_NAMES = (
    *("kind", "event", "event_type", "event_name", "action", "action_name"),
    *("behavior", "behaviour", "type"),
)
"""The names of times and of kinds of events in logs, best first."""
LOG_COLUMNS = frozenset({*TIME_NAMES, *KIND_NAMES} - {"date", "kind", "type"})
"""Column names that logs have, and judgments and documents seldom."""

NAME_SEPARATOR = "|"
"""The sign between alternative names of a column, where a user names columns."""

_TEXT_NAMES = frozenset({"doc", "document", "item"})
"""Names of ids that hold a text or a title if another column holds the id."""


def match_columns(table_columns: Iterable[str], our_columns: Iterable[str]) -> dict[str, str]:
    """Map our columns to those that a table has (ours -> theirs)."""
    name_by_lower_case: dict[str, str] = {}
    for name in table_columns:
        name_by_lower_case.setdefault(name.strip().lower(), name)
    columns = {column: _best_name(name_by_lower_case, column) for column in our_columns}
    return {column: name_by_lower_case[alias] for column, alias in columns.items() if alias}


def _best_name(name_by_lower_case: Mapping[str, str], column: str) -> str | None:
    """The best name of a column among the names that the table has."""
    names = [alias for alias in ALIASES[column] if alias in name_by_lower_case]
    ids = [name for name in names if name not in _TEXT_NAMES] if column == "doc_id" else []
    return next(iter(ids or names), None)


def document_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns that could hold the ids of documents, such as ``docid`` and ``docno``.

    >>> document_columns(["qid", "docid", "docno", "item", "score"])
    ('docid', 'docno')
    """
    name_by_lower_case = {name.strip().lower(): name for name in names}
    ids = [alias for alias in ALIASES["doc_id"] if alias in name_by_lower_case and alias not in _TEXT_NAMES]
    return tuple(name_by_lower_case[alias] for alias in ids)
