"""The table of events: one row for each thing that was logged."""

from __future__ import annotations

from collections.abc import Mapping

COLUMNS: Mapping[str, str] = {
    "event_id": "VARCHAR",
    "at": "TIMESTAMP WITH TIME ZONE",
    "kind": "VARCHAR",
    "action": "VARCHAR",
    "query_event_id": "VARCHAR",
    "query": "VARCHAR",
    "session": "VARCHAR",
    "user": "VARCHAR",
    "doc_id": "VARCHAR",
    "rank": "INTEGER",
    "value": "DOUBLE",
    "variant": "VARCHAR",
    "page": "INTEGER",
    "latency_ms": "DOUBLE",
    "cache_hit": "BOOLEAN",
    "state": "VARCHAR",
    "attributes": "VARCHAR",
    "source_file": "VARCHAR",
    "source_line": "BIGINT",
}
"""Name and SQL type of every column; ``attributes`` is JSON, ``rank`` counts from 1."""

KINDS = ("search", "impression", "click", "dwell", "add_to_cart", "purchase", "refund", "other")
"""The kinds of events."""

COLUMN_MEANINGS: Mapping[str, str] = {
    "event_id": "the event's id; its file and line where the log has none",
    "at": "when it happened, in UTC; null where the log has no readable time",
    "kind": f"one of {', '.join(KINDS)}",
    "action": "what the log calls it",
    "query_event_id": "the search that it belongs to",
    "query": "the words of the search",
    "session": "the visit",
    "user": "the user, or the browser where the user is unknown",
    "doc_id": "the document",
    "rank": "where the document was shown, from 1",
    "value": "money of a purchase or refund, seconds of a dwell, the answer of a survey",
    "variant": "the arm of an experiment",
    "page": "the page of the results, from 1",
    "latency_ms": "how long the search took",
    "cache_hit": "whether the search was answered by a cache",
    "state": "of a search: ok, zero (no results) or failed",
    "attributes": "everything else, as JSON",
    "source_file": "the file",
    "source_line": "its line; of CSV the record, of Parquet the row",
}
"""The meaning of every column."""

ACTIONS: Mapping[str, str] = {
    **dict.fromkeys(("search", "query", "ubi_query"), "search"),
    **dict.fromkeys(("impression", "impressions", "on_impression", "shown", "show"), "impression"),
    **dict.fromkeys(
        ("click", "click_through", "item_click", "product_click", "result_click"), "click"
    ),
    **dict.fromkeys(("dwell", "page_exit"), "dwell"),
    **dict.fromkeys(("add_to_cart", "addtocart", "cart", "add_cart"), "add_to_cart"),
    **dict.fromkeys(("purchase", "transaction", "buy", "order"), "purchase"),
    **dict.fromkeys(("refund", "return", "returned"), "refund"),
}
"""The kinds of usual actions; a mapping can add more."""

UBI_ACTIONS: Mapping[str, str] = {**ACTIONS, **dict.fromkeys(("search", "query"), "other")}
"""In UBI a search is a record of the queries file; ``search`` events come with every keystroke."""

SURVEY_PATTERN = "survey|satisf|rating|csat|feedback"
"""A regular expression of actions that are answers of surveys; their kind is ``other``."""
