"""Routes by which programs use a project as they use a store, as data."""

from __future__ import annotations

from rankgate.workspace.web.pages import remote
from rankgate.workspace.web.route import MANAGE, MEMBER, VIEW, Field, Route

_AT = "/projects/{project}"
_NAME = Field("name", "Name", required=True, most=200)
_JSON = Field("about", "About it", "long", most=200_000, help="An object of JSON.")

REMOTE = (
    Route("contents", "GET", f"{_AT}/contents.json", MEMBER, remote.contents,
          "Scale, batches, runs and judgments"),
    Route("table-file", "GET", f"{_AT}/tables/{{kind}}/file", VIEW, remote.table,
          "A table as Parquet",
          (Field("name", "Name", most=200, help="Of a run, judgments, or a batch."),
           Field("counted", "How admitted models count", "choice",
                 choices=(("fill", "fill"), ("equal", "equal"), ("none", "none")),
                 help="Of ratings: only those that judgments are made of."))),
    Route("judgments-add", "POST", f"{_AT}/tables/judgments", MANAGE, remote.add_judgments,
          "Add judgments",
          (_NAME, Field("table", "Grades as Parquet", "file", required=True), _JSON),
          scope="manage"),
    Route("result-add", "POST", f"{_AT}/results", MANAGE, remote.add_result, "Add a result",
          (Field("name", "Name", most=200),
           Field("result", "The result as JSON", "file", required=True), _JSON), scope="manage"),
)  # fmt: skip
