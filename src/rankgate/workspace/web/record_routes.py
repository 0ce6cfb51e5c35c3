"""Routes by which programs record evaluations and read their history, as data."""

from __future__ import annotations

from rankgate.store.tables.records import ANNOTATIONS
from rankgate.workspace.web.pages import recorded
from rankgate.workspace.web.route import MANAGING_ROLES, VIEWING_ROLES, Field, Route

_PROJECT_PATH = "/projects/{project}"
_RECORDED_PATH = f"{_PROJECT_PATH}/recorded"
_SINCE = Field("since", "From", "moment")
_METRIC = Field("metric", "Metric", most=200)

RECORD_ROUTES = (
    Route(
        "record-add",
        "POST",
        f"{_PROJECT_PATH}/records",
        MANAGING_ROLES,
        recorded.add_record,
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
        recorded.save_input,
        "Keep the judgments or a run of an evaluation",
        (
            Field(
                "kind",
                "Kind",
                "choice",
                required=True,
                choices=(("judgments", "judgments"), ("run", "run")),
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
        recorded.add_annotation,
        "Note it",
        (
            Field(
                "kind",
                "Kind",
                "choice",
                required=True,
                choices=tuple((kind, kind) for kind in ANNOTATIONS),
            ),
            Field("text", "What happened", required=True, most=2_000),
            Field("at", "When (UTC)", "moment", help="Now, if it is left out."),
            Field("revision", "Revision", most=200),
            Field("metric", "Only for this metric", most=200, help="Empty is all."),
            Field(
                "annotation_id", most=100, help="Made by the client, and the same in every retry."
            ),
        ),
        scope="record",
    ),
    Route(
        "annotation-withdraw",
        "POST",
        f"{_PROJECT_PATH}/annotations/{{annotation:int}}/withdraw",
        MANAGING_ROLES,
        recorded.withdraw_annotation,
        "Withdraw the annotation",
        scope="manage",
    ),
    Route(
        "points",
        "GET",
        f"{_RECORDED_PATH}/points.json",
        VIEWING_ROLES,
        recorded.points_file,
        "Recorded figures",
        (_METRIC, Field("system", "System", most=500), Field("slice", "Slice", most=500), _SINCE),
    ),
    Route(
        "annotations",
        "GET",
        f"{_RECORDED_PATH}/annotations.json",
        VIEWING_ROLES,
        recorded.annotations_file,
        "Annotations",
        (_METRIC, _SINCE),
    ),
    Route(
        "recorded",
        "GET",
        f"{_RECORDED_PATH}/{{record:int}}.json",
        VIEWING_ROLES,
        recorded.record_file,
        "What is known of a record",
    ),
    Route(
        "recorded-file",
        "GET",
        f"{_RECORDED_PATH}/{{record:int}}/file",
        VIEWING_ROLES,
        recorded.per_query_file,
        "A record's values per query, as Parquet",
    ),
    Route(
        "recorded-input",
        "GET",
        f"{_RECORDED_PATH}/inputs/{{kind}}/{{sha256}}",
        VIEWING_ROLES,
        recorded.input_file,
        "Kept judgments or a kept run, as Parquet",
    ),
)
