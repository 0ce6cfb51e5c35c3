"""Routes for recorded results, and for programs that use a project.

Pages show recorded results: overview, records, queries and comments. Further routes let programs
record evaluations, read the history, and use a project like a stored project.
"""

from __future__ import annotations

from rankgate.store.tables.record_tables import ANNOTATIONS, SUBJECTS
from rankgate.workspace.records.history import history
from rankgate.workspace.web.dashboard import (
    comment_pages,
    overview_pages,
    query_pages,
    record_pages,
    trend_pages,
)
from rankgate.workspace.web.pages import program_files
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    MEMBER_ROLES,
    RATING_ROLES,
    SIGNED_IN,
    VIEWING_ROLES,
    Field,
    Route,
    declared_fields,
)

_AFTER = Field("after", "After", "whole")
_RECORD = "/projects/{project}/records/{record}"
_KIND = Field("kind", "Kind", "choice", choices=tuple((kind, kind) for kind in SUBJECTS))
_SUBJECT = Field("subject", "Subject", most=500, help="The id of a query, the hash of a record.")
_SUBJECTS = (
    Field("kind", "Kind", "choice", required=True, choices=_KIND.choices),
    Field("subject", "Subject", required=True, most=500, help=_SUBJECT.help),
)
(_SYSTEM,) = declared_fields(history, "system")
(_SINCE,) = declared_fields(history, "since", since={"kind": "moment"})
_SLICE = Field("slice", "Slice", most=500)
_SERIES = (_SYSTEM, _SLICE, Field("branch", "Branch", most=500), _SINCE)
_METRIC = Field("metric", "Metric", required=True, most=200)

DASHBOARD_ROUTES = (
    Route("home", "GET", "/", SIGNED_IN, overview_pages.projects_page, "Projects", scope=None),
    Route("projects", "GET", "/projects", SIGNED_IN, overview_pages.projects_page, "Projects"),
    Route("project", "GET", "/projects/{project}", VIEWING_ROLES, overview_pages.overview_page, "Overview"),
    Route(
        "records",
        "GET",
        "/projects/{project}/records",
        VIEWING_ROLES,
        record_pages.records_page,
        "Records",
        (
            Field("kind", "Kind", most=50, help="Of the result, such as verdict; or a group, such as gates."),
            _SYSTEM,
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
            _SINCE,
            Field("until", "Before", "moment"),
            Field("before", "Below this record", "whole"),
            Field("most", "Records", "whole", help="At most 10000; 50 by default."),
        ),
        tabular=True,
    ),
    Route("record", "GET", _RECORD, VIEWING_ROLES, record_pages.record_page, "Record"),
    Route(
        "record-table",
        "GET",
        f"{_RECORD}/tables/{{table}}",
        VIEWING_ROLES,
        record_pages.table_page,
        "Table",
        tabular=True,
    ),
    Route(
        "record-svg",
        "GET",
        f"{_RECORD}/charts/{{chart}}.svg",
        VIEWING_ROLES,
        record_pages.chart_svg,
        "Chart as SVG",
    ),
    Route(
        "record-png",
        "GET",
        f"{_RECORD}/charts/{{chart}}.png",
        VIEWING_ROLES,
        record_pages.chart_png,
        "Chart as PNG",
    ),
    Route(
        "record-values",
        "GET",
        f"{_RECORD}/values",
        VIEWING_ROLES,
        record_pages.query_values_page,
        "Values by query",
        (_AFTER,),
        tabular=True,
    ),
    Route(
        "trends",
        "GET",
        "/projects/{project}/trends",
        VIEWING_ROLES,
        trend_pages.trends_page,
        "Trends",
        (Field("metric", "Metric", most=200, help="By default all series."), *_SERIES),
        tabular=True,
    ),
    Route(
        "trend-svg",
        "GET",
        "/projects/{project}/trends.svg",
        VIEWING_ROLES,
        trend_pages.trend_svg,
        "Trend as SVG",
        (_METRIC, *_SERIES),
    ),
    Route(
        "trend-png",
        "GET",
        "/projects/{project}/trends.png",
        VIEWING_ROLES,
        trend_pages.trend_png,
        "Trend as PNG",
        (_METRIC, *_SERIES),
    ),
    Route(
        "queries",
        "GET",
        "/projects/{project}/queries",
        VIEWING_ROLES,
        query_pages.queries_page,
        "Queries",
        (Field("words", "Search", most=200), _AFTER),
        tabular=True,
    ),
    Route(
        "query-values",
        "GET",
        "/projects/{project}/query",
        VIEWING_ROLES,
        query_pages.query_page,
        "Query",
        (
            Field("query", "Query", required=True, most=500, help="Its id."),
            Field("metric", "Metric", most=200),
            Field("record", "Record", most=64, help="The system with the lists; by default the last."),
        ),
        tabular=True,
    ),
    Route(
        "explain",
        "GET",
        "/projects/{project}/explain",
        VIEWING_ROLES,
        query_pages.explanation_page,
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
        comment_pages.page,
        "Comments",
        (_KIND, _SUBJECT),
    ),
    Route(
        "comment-add",
        "POST",
        "/projects/{project}/comments",
        RATING_ROLES,
        comment_pages.add,
        "Add the comment",
        (
            *_SUBJECTS,
            Field("text", "Comment", "long", required=True, most=5_000),
            Field("comment_id", most=100, help="Made by the client, and the same in every retry."),
            Field("comparison", most=200, help="Two records to open on one page."),
        ),
        scope="rate",
    ),
    Route(
        "comment-withdraw",
        "POST",
        "/projects/{project}/comments/{comment:int}/withdraw",
        RATING_ROLES,
        comment_pages.withdraw,
        "Take the comment back",
        scope="rate",
    ),
)


_PROJECT_PATH = "/projects/{project}"
_RECORDED_PATH = f"{_PROJECT_PATH}/recorded"
_RECORD_METRIC = Field("metric", "Metric", most=200)

RECORD_ROUTES = (
    Route(
        "record-add",
        "POST",
        f"{_PROJECT_PATH}/records",
        MANAGING_ROLES,
        program_files.add_record,
        "Record an evaluation",
        (
            Field(
                "record",
                "Figures and the result, as JSON",
                "file",
                required=True,
                help="As rankgate record writes it; the same content is recorded once.",
            ),
            Field(
                "per_query",
                "Values per query, as Parquet",
                "file",
                help="system, query_id, and a column for each metric.",
            ),
        ),
        scope="record",
    ),
    Route(
        "record-input",
        "POST",
        f"{_PROJECT_PATH}/records/inputs",
        MANAGING_ROLES,
        program_files.save_input,
        "Keep the judgments or a run of an evaluation",
        (
            Field(
                "kind", "Kind", "choice", required=True, choices=(("judgments", "judgments"), ("run", "run"))
            ),
            Field("name", "Name", required=True, most=200),
            Field("table", "Rows as Parquet", "file", required=True),
        ),
        scope="record",
    ),
    Route(
        "annotation-add",
        "POST",
        f"{_PROJECT_PATH}/annotations",
        MANAGING_ROLES,
        program_files.add_annotation,
        "Note it",
        (
            Field(
                "kind", "Kind", "choice", required=True, choices=tuple((kind, kind) for kind in ANNOTATIONS)
            ),
            Field("text", "Text of the note", required=True, most=2_000),
            Field("at", "When (UTC)", "moment", help="Now, if it is left out."),
            Field("revision", "Revision", most=200),
            Field("metric", "Only for this metric", most=200, help="Empty is all."),
            Field("annotation_id", most=100, help="Made by the client, and the same in every retry."),
        ),
        scope="record",
    ),
    Route(
        "annotation-withdraw",
        "POST",
        f"{_PROJECT_PATH}/annotations/{{annotation:int}}/withdraw",
        MANAGING_ROLES,
        program_files.withdraw_annotation,
        "Withdraw the annotation",
        scope="manage",
    ),
    Route(
        "points",
        "GET",
        f"{_RECORDED_PATH}/points.json",
        VIEWING_ROLES,
        program_files.points_file,
        "Recorded figures",
        (_RECORD_METRIC, _SYSTEM, _SLICE, _SINCE),
    ),
    Route(
        "annotations",
        "GET",
        f"{_RECORDED_PATH}/annotations.json",
        VIEWING_ROLES,
        program_files.annotations_file,
        "Annotations",
        (_RECORD_METRIC, _SINCE),
    ),
    Route(
        "recorded",
        "GET",
        f"{_RECORDED_PATH}/{{record:int}}.json",
        VIEWING_ROLES,
        program_files.record_file,
        "Details of a record",
    ),
    Route(
        "recorded-file",
        "GET",
        f"{_RECORDED_PATH}/{{record:int}}/file",
        VIEWING_ROLES,
        program_files.per_query_file,
        "A record's values per query, as Parquet",
    ),
    Route(
        "recorded-input",
        "GET",
        f"{_RECORDED_PATH}/inputs/{{kind}}/{{sha256}}",
        VIEWING_ROLES,
        program_files.input_file,
        "Kept judgments or a kept run, as Parquet",
    ),
)


_NAME = Field("name", "Name", required=True, most=200)
_JSON = Field("about", "About it", "long", most=200_000, help="An object of JSON.")

REMOTE_ROUTES = (
    Route(
        "contents",
        "GET",
        f"{_PROJECT_PATH}/contents.json",
        MEMBER_ROLES,
        program_files.contents_file,
        "Scale, batches, runs and judgments",
    ),
    Route(
        "table-file",
        "GET",
        f"{_PROJECT_PATH}/tables/{{kind}}/file",
        VIEWING_ROLES,
        program_files.table_file,
        "A table as Parquet",
        (
            Field("name", "Name", most=200, help="Of a run, judgments, or a batch."),
            Field(
                "counted",
                "How admitted models count",
                "choice",
                choices=(("fill", "fill"), ("equal", "equal"), ("none", "none")),
                help="For ratings: only ratings that count in judgments.",
            ),
        ),
    ),
    Route(
        "judgments-add",
        "POST",
        f"{_PROJECT_PATH}/tables/judgments",
        MANAGING_ROLES,
        program_files.add_judgments,
        "Add judgments",
        (_NAME, Field("table", "Grades as Parquet", "file", required=True), _JSON),
        scope="manage",
    ),
    Route(
        "result-add",
        "POST",
        f"{_PROJECT_PATH}/results",
        MANAGING_ROLES,
        program_files.add_result,
        "Add a result",
        (
            Field("name", "Name", most=200),
            Field("result", "The result as JSON", "file", required=True),
            _JSON,
        ),
        scope="manage",
    ),
)
