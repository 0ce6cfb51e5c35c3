"""Routes of recorded results: overview, records, queries, comments, as data."""

from __future__ import annotations

from rankgate.store.tables.records import SUBJECTS
from rankgate.workspace.web.dashboard import comments, overview, query, record, records, trends
from rankgate.workspace.web.route import (
    MEMBER_ROLES,
    RATING_ROLES,
    SIGNED_IN,
    VIEWING_ROLES,
    Field,
    Route,
)

_AFTER = Field("after", "After", "whole")
_RECORD = "/projects/{project}/records/{record}"
_KIND = Field("kind", "Kind", "choice", choices=tuple((kind, kind) for kind in SUBJECTS))
_SUBJECT = Field("subject", "Subject", most=500, help="The id of a query, the hash of a record.")
_SUBJECTS = (
    Field("kind", "Kind", "choice", required=True, choices=_KIND.choices),
    Field("subject", "Subject", required=True, most=500, help=_SUBJECT.help),
)
_SERIES = (
    Field("system", "System", most=500),
    Field("slice", "Slice", most=500),
    Field("branch", "Branch", most=500),
    Field("since", "From", "moment"),
)
_METRIC = Field("metric", "Metric", required=True, most=200)

DASHBOARD_ROUTES = (
    Route("home", "GET", "/", SIGNED_IN, overview.projects_page, "Projects", scope=None),
    Route("projects", "GET", "/projects", SIGNED_IN, overview.projects_page, "Projects"),
    Route(
        "project", "GET", "/projects/{project}", VIEWING_ROLES, overview.overview_page, "Overview"
    ),
    Route(
        "records",
        "GET",
        "/projects/{project}/records",
        VIEWING_ROLES,
        records.records_page,
        "Records",
        (
            Field(
                "kind",
                "Kind",
                most=50,
                help="Of the result, such as verdict; or a group, such as gates.",
            ),
            Field("system", "System", most=500),
            Field("branch", "Branch", most=500),
            Field(
                "verdict",
                "Verdict",
                "choice",
                choices=tuple((verdict, verdict) for verdict in ("pass", "fail", "inconclusive")),
            ),
            Field("label", "Label", most=500, help="name=value, or a name for any value."),
            Field(
                "words",
                "Search",
                most=200,
                help="In names, systems, branches and revisions, or the start of a hash.",
            ),
            Field("since", "From", "moment"),
            Field("until", "Before", "moment"),
            Field("before", "Below this record", "whole"),
            Field("most", "Records", "whole", help="At most 10000; 50 by default."),
        ),
        tabular=True,
    ),
    Route("record", "GET", _RECORD, VIEWING_ROLES, record.record_page, "Record"),
    Route(
        "record-table",
        "GET",
        f"{_RECORD}/tables/{{table}}",
        VIEWING_ROLES,
        record.table_page,
        "Table",
        tabular=True,
    ),
    Route(
        "record-svg",
        "GET",
        f"{_RECORD}/charts/{{chart}}.svg",
        VIEWING_ROLES,
        record.chart_svg,
        "Chart as SVG",
    ),
    Route(
        "record-png",
        "GET",
        f"{_RECORD}/charts/{{chart}}.png",
        VIEWING_ROLES,
        record.chart_png,
        "Chart as PNG",
    ),
    Route(
        "record-values",
        "GET",
        f"{_RECORD}/values",
        VIEWING_ROLES,
        record.query_values_page,
        "Values by query",
        (_AFTER,),
        tabular=True,
    ),
    Route(
        "trends",
        "GET",
        "/projects/{project}/trends",
        VIEWING_ROLES,
        trends.trends_page,
        "Trends",
        (Field("metric", "Metric", most=200, help="All series without it."), *_SERIES),
        tabular=True,
    ),
    Route(
        "trend-svg",
        "GET",
        "/projects/{project}/trends.svg",
        VIEWING_ROLES,
        trends.trend_svg,
        "Trend as SVG",
        (_METRIC, *_SERIES),
    ),
    Route(
        "trend-png",
        "GET",
        "/projects/{project}/trends.png",
        VIEWING_ROLES,
        trends.trend_png,
        "Trend as PNG",
        (_METRIC, *_SERIES),
    ),
    Route(
        "queries",
        "GET",
        "/projects/{project}/queries",
        VIEWING_ROLES,
        query.queries_page,
        "Queries",
        (Field("words", "Search", most=200), _AFTER),
        tabular=True,
    ),
    Route(
        "query-values",
        "GET",
        "/projects/{project}/query",
        VIEWING_ROLES,
        query.query_page,
        "Query",
        (
            Field("query", "Query", required=True, most=500, help="Its id."),
            Field("metric", "Metric", most=200),
            Field("record", "Record", most=64, help="Whose lists are shown; by default the last."),
        ),
        tabular=True,
    ),
    Route(
        "explain",
        "GET",
        "/projects/{project}/explain",
        VIEWING_ROLES,
        query.explanation_page,
        "How a value is computed",
        (
            Field("query", "Query", required=True, most=500),
            Field("metric", "Metric", required=True, most=200),
            Field("record", "Record", required=True, most=64),
            Field("system", "System", most=500, help="By default the last of the record."),
        ),
    ),
    Route(
        "comments",
        "GET",
        "/projects/{project}/comments",
        MEMBER_ROLES,
        comments.page,
        "Comments",
        (_KIND, _SUBJECT),
    ),
    Route(
        "comment-add",
        "POST",
        "/projects/{project}/comments",
        RATING_ROLES,
        comments.add,
        "Add the comment",
        (
            *_SUBJECTS,
            Field("text", "Comment", "long", required=True, most=5_000),
            Field("comment_id", most=100, help="Made by the client, and the same in every retry."),
        ),
        scope="rate",
    ),
    Route(
        "comment-withdraw",
        "POST",
        "/projects/{project}/comments/{comment:int}/withdraw",
        RATING_ROLES,
        comments.withdraw,
        "Take the comment back",
        scope="rate",
    ),
)
