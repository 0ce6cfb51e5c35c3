"""Routes of recorded results: overview, records, queries, comments, as data."""

from __future__ import annotations

from rankgate.store.tables.records import SUBJECTS
from rankgate.workspace.web.dashboard import comments, overview, query, record, records, trends
from rankgate.workspace.web.route import MEMBER, RATE, SIGNED_IN, VIEW, Field, Route

_AFTER = Field("after", "After", "whole")
_RECORD = "/projects/{project}/records/{record}"
_KIND = Field("kind", "Kind", "choice", choices=tuple((each, each) for each in SUBJECTS))
_SUBJECT = Field("subject", "Subject", most=500,
                 help="The id of a query, the hash of a record.")  # fmt: skip
_SUBJECTS = (
    Field("kind", "Kind", "choice", required=True, choices=_KIND.choices),
    Field("subject", "Subject", required=True, most=500, help=_SUBJECT.help),
)
_SERIES = (
    Field("system", "System", most=500), Field("slice", "Slice", most=500),
    Field("branch", "Branch", most=500), Field("since", "From", "moment"),
)  # fmt: skip
_METRIC = Field("metric", "Metric", required=True, most=200)

DASHBOARD = (
    Route("home", "GET", "/", SIGNED_IN, overview.listed, "Projects", scope=None),
    Route("projects", "GET", "/projects", SIGNED_IN, overview.listed, "Projects"),
    Route("project", "GET", "/projects/{project}", VIEW, overview.page, "Overview"),
    Route("records", "GET", "/projects/{project}/records", VIEW, records.page, "Records",
          (Field("kind", "Kind", most=50,
                 help="Of the result, such as verdict; or a group, such as gates."),
           Field("system", "System", most=500), Field("branch", "Branch", most=500),
           Field("verdict", "Verdict", "choice",
                 choices=tuple((each, each) for each in ("pass", "fail", "inconclusive"))),
           Field("label", "Label", most=500, help="name=value, or a name for any value."),
           Field("words", "Search", most=200,
                 help="In names, systems, branches and revisions, or the start of a hash."),
           Field("since", "From", "moment"), Field("until", "Before", "moment"),
           Field("before", "Below this record", "whole"),
           Field("most", "Records", "whole", help="At most 10000; 50 by default.")),
          tabular=True),
    Route("record", "GET", _RECORD, VIEW, record.page, "Record"),
    Route("record-table", "GET", f"{_RECORD}/tables/{{table}}", VIEW, record.table, "Table",
          tabular=True),
    Route("record-svg", "GET", f"{_RECORD}/charts/{{chart}}.svg", VIEW, record.svg,
          "Chart as SVG"),
    Route("record-png", "GET", f"{_RECORD}/charts/{{chart}}.png", VIEW, record.png,
          "Chart as PNG"),
    Route("record-values", "GET", f"{_RECORD}/values", VIEW, record.query_values,
          "Values by query", (_AFTER,), tabular=True),
    Route("trends", "GET", "/projects/{project}/trends", VIEW, trends.page, "Trends",
          (Field("metric", "Metric", most=200, help="All series without it."), *_SERIES),
          tabular=True),
    Route("trend-svg", "GET", "/projects/{project}/trends.svg", VIEW, trends.svg,
          "Trend as SVG", (_METRIC, *_SERIES)),
    Route("trend-png", "GET", "/projects/{project}/trends.png", VIEW, trends.png,
          "Trend as PNG", (_METRIC, *_SERIES)),
    Route("queries", "GET", "/projects/{project}/queries", VIEW, query.listed, "Queries",
          (Field("words", "Search", most=200), _AFTER), tabular=True),
    Route("query-values", "GET", "/projects/{project}/query", VIEW, query.page, "Query",
          (Field("query", "Query", required=True, most=500, help="Its id."),
           Field("metric", "Metric", most=200),
           Field("record", "Record", most=64, help="Whose lists are shown; by default the last.")),
          tabular=True),
    Route("explain", "GET", "/projects/{project}/explain", VIEW, query.explanation,
          "How a value is computed",
          (Field("query", "Query", required=True, most=500),
           Field("metric", "Metric", required=True, most=200),
           Field("record", "Record", required=True, most=64),
           Field("system", "System", most=500, help="By default the last of the record."))),
    Route("comments", "GET", "/projects/{project}/comments", MEMBER, comments.page, "Comments",
          (_KIND, _SUBJECT)),
    Route("comment-add", "POST", "/projects/{project}/comments", RATE, comments.add,
          "Add the comment",
          (*_SUBJECTS, Field("text", "Comment", "long", required=True, most=5_000),
           Field("comment_id", most=100,
                 help="Made by the client, and the same in every retry.")), scope="rate"),
    Route("comment-withdraw", "POST", "/projects/{project}/comments/{comment:int}/withdraw", RATE,
          comments.withdraw, "Take the comment back", scope="rate"),
)  # fmt: skip
