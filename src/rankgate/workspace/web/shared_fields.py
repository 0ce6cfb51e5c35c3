"""Fields that several pages and actions declare."""

from __future__ import annotations

from rankgate.workspace.records.history import history
from rankgate.workspace.web import web_request
from rankgate.workspace.web.web_request import Field, declared_fields

STRATEGY_FIELD = Field(
    "strategy",
    "Raters a document",
    "choice",
    default="2",
    choices=(
        ("1", "one"),
        ("2", "two; a third word where they differ"),
        ("3", "three"),
        ("agree", "until two agree"),
    ),
)
TRANSFORM_FIELD = Field(
    "transform",
    "Transform",
    "long",
    most=2_000,
    help="What each grade becomes on the project's scale, a line each: 2: 1. Or graded-to-binary, "
    "graded-to-detail, and so on.",
)
RAW = Field("raw", "Cells as they are", "flag", help="also those that a spreadsheet would run as formulas")
NAME = Field("name", "Name", required=True, most=100)
TWO_RUNS_FIELDS = (
    Field("first", "First run", most=200, options=web_request.list_run_names),
    Field("second", "Second run", most=200, options=web_request.list_run_names),
)
ID = Field("rating_id", most=100, help="Made by the client, and the same in every retry.")
BATCH = Field("batch", "Batch", "whole", help="The next task is of this batch only.")
PASSWORD = Field("password", "Password", "secret", required=True, most=1_000)
NEW_PASSWORD = Field(
    "password",
    "New password",
    "secret",
    required=True,
    most=1_000,
    help="Ten characters or more. All other sessions end.",
)
END_TOKENS = Field("end_tokens", "End all API tokens too", "flag")
NEXT_ADDRESS = Field("next", most=2_000)
PAIR = (
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
ALERTS_PATH = "/projects/{project}/alerts"
(SYSTEM,) = declared_fields(history, "system")
(SINCE_FIELD,) = declared_fields(history, "since", since={"kind": "moment"})
AFTER_FIELD = Field("after", "After", "whole")
BEFORE_FIELD = Field("before", "Before", "whole")
DEADLINE_FIELD = Field("deadline", "Deadline", "moment")
WATCHED_METRIC = Field("metric", "Metric", required=True, most=200, options=web_request.list_watched_metrics)
SLICE = Field("slice", "Slice", most=500)
PROJECT = "/projects/{project}"
