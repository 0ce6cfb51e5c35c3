"""Routes by which programs use a project as they use a store, as data."""

from __future__ import annotations

from rankgate.workspace.web.pages import remote
from rankgate.workspace.web.route import MANAGING_ROLES, MEMBER_ROLES, VIEWING_ROLES, Field, Route

_PROJECT_PATH = "/projects/{project}"
_NAME = Field("name", "Name", required=True, most=200)
_JSON = Field("about", "About it", "long", most=200_000, help="An object of JSON.")

REMOTE_ROUTES = (
    Route(
        "contents",
        "GET",
        f"{_PROJECT_PATH}/contents.json",
        MEMBER_ROLES,
        remote.contents_file,
        "Scale, batches, runs and judgments",
    ),
    Route(
        "table-file",
        "GET",
        f"{_PROJECT_PATH}/tables/{{kind}}/file",
        VIEWING_ROLES,
        remote.table_file,
        "A table as Parquet",
        (
            Field("name", "Name", most=200, help="Of a run, judgments, or a batch."),
            Field(
                "counted",
                "How admitted models count",
                "choice",
                choices=(("fill", "fill"), ("equal", "equal"), ("none", "none")),
                help="Of ratings: only those that judgments are made of.",
            ),
        ),
    ),
    Route(
        "judgments-add",
        "POST",
        f"{_PROJECT_PATH}/tables/judgments",
        MANAGING_ROLES,
        remote.add_judgments,
        "Add judgments",
        (_NAME, Field("table", "Grades as Parquet", "file", required=True), _JSON),
        scope="manage",
    ),
    Route(
        "result-add",
        "POST",
        f"{_PROJECT_PATH}/results",
        MANAGING_ROLES,
        remote.add_result,
        "Add a result",
        (
            Field("name", "Name", most=200),
            Field("result", "The result as JSON", "file", required=True),
            _JSON,
        ),
        scope="manage",
    ),
)
