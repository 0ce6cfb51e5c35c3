"""Routes by which programs record evaluations and read their history, as data."""

from __future__ import annotations

from rankgate.store.tables.records import ANNOTATIONS
from rankgate.workspace.web.pages import recorded
from rankgate.workspace.web.route import MANAGE, VIEW, Field, Route

_AT = "/projects/{project}"
_READ = f"{_AT}/recorded"
_SINCE = Field("since", "From", "moment")
_METRIC = Field("metric", "Metric", most=200)

RECORDS = (
    Route("record-add", "POST", f"{_AT}/records", MANAGE, recorded.add, "Record an evaluation",
          (Field("record", "Figures and the result, as JSON", "file", required=True,
                 help="As rankgate record writes it; the same content is recorded once."),
           Field("per_query", "Values per query, as Parquet", "file",
                 help="system, query_id, and a column for each metric.")), scope="record"),
    Route("record-input", "POST", f"{_AT}/records/inputs", MANAGE, recorded.keep,
          "Keep the judgments or a run of an evaluation",
          (Field("kind", "Kind", "choice", required=True,
                 choices=(("judgments", "judgments"), ("run", "run"))),
           Field("name", "Name", required=True, most=200),
           Field("table", "Rows as Parquet", "file", required=True)), scope="record"),
    Route("annotation-add", "POST", f"{_AT}/annotations", MANAGE, recorded.annotate, "Note it",
          (Field("kind", "Kind", "choice", required=True,
                 choices=tuple((each, each) for each in ANNOTATIONS)),
           Field("text", "What happened", required=True, most=2_000),
           Field("at", "When (UTC)", "moment", help="Now, if it is left out."),
           Field("revision", "Revision", most=200),
           Field("metric", "Only for this metric", most=200, help="Empty is all."),
           Field("annotation_id", most=100,
                 help="Made by the client, and the same in every retry.")), scope="record"),
    Route("annotation-withdraw", "POST", f"{_AT}/annotations/{{annotation:int}}/withdraw", MANAGE,
          recorded.withdraw, "Withdraw the annotation", scope="manage"),
    Route("points", "GET", f"{_READ}/points.json", VIEW, recorded.points, "Recorded figures",
          (_METRIC, Field("system", "System", most=500), Field("slice", "Slice", most=500),
           _SINCE)),
    Route("annotations", "GET", f"{_READ}/annotations.json", VIEW, recorded.happened,
          "Annotations", (_METRIC, _SINCE)),
    Route("recorded", "GET", f"{_READ}/{{record:int}}.json", VIEW, recorded.details,
          "What is known of a record"),
    Route("recorded-file", "GET", f"{_READ}/{{record:int}}/file", VIEW, recorded.per_query,
          "A record's values per query, as Parquet"),
    Route("recorded-input", "GET", f"{_READ}/inputs/{{kind}}/{{sha256}}", VIEW, recorded.kept,
          "Kept judgments or a kept run, as Parquet"),
)  # fmt: skip
