"""Routes for the cause of a fall: two evaluations, a query's lists, missing documents."""

from __future__ import annotations

from rankgate.workspace.web.dashboard import change_pages, missing_documents
from rankgate.workspace.web.web_request import MANAGING_ROLES, VIEWING_ROLES, Field, Route

_QUERY = Field("query", "Query", required=True, most=500, help="Its id.")
_PAIR = (
    Field(
        "before",
        "Before",
        required=True,
        most=64,
        help="The first letters of the record's hash, or its number.",
    ),
    Field("after", "After", required=True, most=64, help="The later record."),
    Field("metric", "Metric", most=200),
    Field("system", "System", most=500, help="By default the last one that both have."),
)

CHANGE_ROUTES = (
    Route(
        "change",
        "GET",
        "/projects/{project}/changes",
        VIEWING_ROLES,
        change_pages.change_page,
        "What changed",
        (*_PAIR, Field("start", "First row", "whole")),
        tabular=True,
    ),
    Route(
        "query-change",
        "GET",
        "/projects/{project}/changes/query",
        VIEWING_ROLES,
        change_pages.query_change_page,
        "What changed for a query",
        (_QUERY, *_PAIR),
    ),
    Route(
        "missing-add",
        "POST",
        "/projects/{project}/changes/batch",
        MANAGING_ROLES,
        missing_documents.add_missing_batch,
        "Judge missing documents",
        (
            *(Field(field.name, required=field.required, most=field.most) for field in _PAIR),
            Field("query", most=500, help="Only this query; by default every query that fell."),
            Field(
                "rater",
                "Rated by",
                most=100,
                help="Empty: by everybody who rates. One person has the documents for 30 days.",
                options=missing_documents.list_rater_names,
            ),
        ),
        scope="manage",
    ),
)
