"""Routes for starting a project: queries, engines, steps and schedules."""

from __future__ import annotations

from rankgate.engines.configuration import ENGINES
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.resolution.resolve import resolve, rules
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages import engine_pages, query_entry_pages, step_pages
from rankgate.workspace.web.project_routes import STRATEGY_FIELD
from rankgate.workspace.web.web_request import MANAGING_ROLES, Field, Route, declared_fields

_PROJECT = "/projects/{project}"
_ENGINES_PATH = f"{_PROJECT}/engines"
_STEPS_PATH = f"{_PROJECT}/steps"

_STATE_FIELD = Field(
    "seen", kind="whole", help="The last run of the step that the sender saw; left out: none."
)
_METRICS = Field(
    "metrics",
    "Metrics",
    "json",
    help="Such as nDCG@10, separated by blanks; the default is nDCG@10.",
    schema={"type": ["array", "string"], "items": {"type": "string"}, "maxLength": 300},
)
_QUERY_FIELDS = (
    Field(
        "text",
        "Type or paste queries",
        "long",
        most=1_000_000,
        help="One query per line; or a table from a spreadsheet with column names in the first line: query, "
        "and optionally id, weight and tags.",
    ),
    Field("file", "Or a file of queries", "file", help="In any format that rankgate reads."),
    Field(
        "log",
        "Or a log of searches to draw queries from",
        "file",
        help="CSV, TSV, JSONL or Parquet with a column query, user_query or search_term.",
    ),
    Field(
        "count", "Queries to draw from the log", "whole", default="100", unset=100, least=1, largest=50_000
    ),
    Field(
        "sampling",
        "How they are drawn",
        "choice",
        default="stratified",
        unset="stratified",
        choices=(
            ("stratified", "equal numbers of frequent, less frequent and rare queries"),
            ("pps", "frequent ones more often"),
            ("random", "each as likely as any other"),
        ),
    ),
    Field("preview", kind="flag", help="Only report what would be added."),
)


def _judgments(*, required: bool) -> Field:
    label = "Judgments" if required else "Judgments, to evaluate the run at once"
    return Field("judgments", label, required=required, most=200, options=web_request.list_judgment_names)


def _run(name: str, label: str, *, required: bool = True) -> Field:
    return Field(name, label, required=required, most=200, options=web_request.list_run_names)


_ENGINE = Field("engine", "Engine", required=True, most=63, options=web_request.list_engine_names)
_SYSTEM = Field(
    "system",
    "System",
    most=200,
    help="Whose run it is, for the history: all runs of one system are one series. A run of an engine of the "
    "project has the name of the engine.",
)
_PAIR_FIELDS = (
    _judgments(required=True),
    _run("baseline", "Baseline"),
    _run("candidate", "Candidate"),
    _SYSTEM,
)

ENGINE_ROUTES = (
    Route(
        "engines",
        "GET",
        _ENGINES_PATH,
        MANAGING_ROLES,
        engine_pages.engines_page,
        "Engines",
        (Field("kind", "Kind", most=63), Field("engine", "Engine", most=63)),
        scope="manage",
    ),
    *(
        Route(
            f"engine-save-{kind.name}",
            "POST",
            f"{_ENGINES_PATH}/kinds/{kind.name}",
            MANAGING_ROLES,
            engine_pages.save_handler(kind),
            "Save the engine",
            engine_pages.engine_fields(kind),
            scope="manage",
        )
        for kind in ENGINES.all_objects
    ),
    Route(
        "engine-try",
        "POST",
        f"{_ENGINES_PATH}/{{engine}}/try",
        MANAGING_ROLES,
        engine_pages.try_engine,
        "Try it",
        (
            Field(
                "query",
                "Query",
                default=engine_pages.DEFAULT_QUERY,
                unset=engine_pages.DEFAULT_QUERY,
                most=2_000,
            ),
        ),
        scope="manage",
    ),
    Route(
        "engine-delete",
        "POST",
        f"{_ENGINES_PATH}/{{engine}}/delete",
        MANAGING_ROLES,
        engine_pages.delete_engine,
        "Delete the engine",
        scope="manage",
    ),
)

START_ROUTES = (
    Route(
        "queries-add",
        "POST",
        f"{_PROJECT}/queries",
        MANAGING_ROLES,
        query_entry_pages.add_queries,
        "Add the queries",
        _QUERY_FIELDS,
        scope="manage",
    ),
    *ENGINE_ROUTES,
    Route("steps", "GET", _STEPS_PATH, MANAGING_ROLES, step_pages.steps_page, "Steps", scope="manage"),
    Route(
        "step-snapshot",
        "POST",
        f"{_STEPS_PATH}/snapshot",
        MANAGING_ROLES,
        step_pages.start_snapshot,
        "Take a snapshot",
        (
            _ENGINE,
            _judgments(required=False),
            _METRICS,
            Field("depth", "Documents of each list", "whole", least=1, largest=10_000),
            Field("rate", "Queries a second, at most", "number", least=0.01),
            _STATE_FIELD,
        ),
        scope="manage",
    ),
    Route(
        "step-batch",
        "POST",
        f"{_STEPS_PATH}/batch",
        MANAGING_ROLES,
        step_pages.start_batch,
        "Make a batch",
        (
            Field("runs", "Runs, with commas between", required=True, most=2_000),
            Field("batch", "Name of the batch", required=True, most=100),
            *declared_fields(PoolDesign, "depth"),
            STRATEGY_FIELD,
            Field(
                "judgments", "Leave out pairs judged in", most=200, options=web_request.list_judgment_names
            ),
            _STATE_FIELD,
        ),
        scope="manage",
    ),
    Route(
        "step-judgments",
        "POST",
        f"{_STEPS_PATH}/judgments",
        MANAGING_ROLES,
        step_pages.start_judgments,
        "Make judgments",
        (
            Field("judgments", "Name of the judgments", required=True, most=100),
            *declared_fields(
                resolve,
                "rule",
                rule={
                    "kind": "choice",
                    "choices": tuple(
                        (rule.name, rule.title) for rule in rules() if rule.name != "adjudicated"
                    ),
                },
            ),
            _STATE_FIELD,
        ),
        scope="manage",
    ),
    Route(
        "step-evaluation",
        "POST",
        f"{_STEPS_PATH}/evaluation",
        MANAGING_ROLES,
        step_pages.start_evaluation,
        "Evaluate",
        (_judgments(required=True), _run("run", "Run"), _SYSTEM, _METRICS, _STATE_FIELD),
        scope="manage",
    ),
    Route(
        "step-comparison",
        "POST",
        f"{_STEPS_PATH}/comparison",
        MANAGING_ROLES,
        step_pages.start_comparison,
        "Compare",
        (*_PAIR_FIELDS, _METRICS, _STATE_FIELD),
        scope="manage",
    ),
    Route(
        "step-gate",
        "POST",
        f"{_STEPS_PATH}/gate",
        MANAGING_ROLES,
        step_pages.start_gate,
        "Get a verdict",
        (*_PAIR_FIELDS, _STATE_FIELD),
        scope="manage",
    ),
    Route(
        "job-cancel",
        "POST",
        f"{_PROJECT}/schedule/runs/{{run:int}}/cancel",
        MANAGING_ROLES,
        step_pages.cancel_run,
        "Cancel",
        scope="manage",
    ),
    Route(
        "schedule-engine",
        "POST",
        f"{_PROJECT}/schedule/engine",
        MANAGING_ROLES,
        step_pages.schedule_engine,
        "Save the schedule",
        (
            _ENGINE,
            Field(
                "every",
                "How often",
                "choice",
                required=True,
                default="day",
                choices=(
                    ("day", "every day"),
                    ("workday", "every day from Monday to Friday"),
                    ("week", "every Monday"),
                    ("hour", "every hour, at the minute of the time"),
                    ("cron", "as the field below says"),
                ),
            ),
            Field("time", "Time", default="06:00", unset="06:00", most=5),
            Field("timezone", "Time zone", default="UTC", unset="UTC", most=100),
            Field(
                "cron",
                "Minute, hour, day, month, day of the week",
                most=100,
                help="As cron has them, such as 30 6 * * mon,thu.",
            ),
            _judgments(required=False),
            _METRICS,
            Field(
                "baseline",
                "Baseline of a gate",
                most=200,
                options=web_request.list_run_names,
                help="With it every run gets a verdict.",
            ),
            Field("name", "Name of the job", most=63),
        ),
        scope="manage",
    ),
)
"""All routes of this module."""
