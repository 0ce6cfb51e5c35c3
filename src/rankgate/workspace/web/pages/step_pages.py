"""The steps of a project from queries to a verdict and a schedule, with a button for each step.

Each button runs rankgate commands as a job. The page shows completed steps, the next step, and the
running job.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.resolution.resolve import resolve, rules
from rankgate.store.blobs import stored_runs
from rankgate.store.material import project_engines, queries_documents
from rankgate.store.people import users
from rankgate.store.people.audit import Actor
from rankgate.store.rating import batches, tasks
from rankgate.store.records import records, scheduled_jobs
from rankgate.workspace.records.schedule.job_settings import make_job, set_jobs
from rankgate.workspace.records.schedule.started_jobs import find_step_job, read_progress, start_step
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages.engine_pages import offered_kinds
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found
from rankgate.workspace.web.shared_fields import PROJECT, STRATEGY_FIELD
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    declared_fields,
    invalid_value,
    list_engine_names,
    list_judgment_names,
    list_run_names,
    page,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.store.blobs.stored_runs import StoredJudgments, StoredRun
    from rankgate.store.material.project_engines import ProjectEngine
    from rankgate.store.records.scheduled_jobs import JobRun
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


_TWO = 2
"""The number of runs for a comparison."""


@dataclass(frozen=True)
class ProjectState:
    """The present contents of a project.

    Attributes:
        queries: the number of queries.
        engines: the engines of the project.
        runs: the runs, the oldest first.
        raters: the people who may rate.
        batches: the number of batches.
        open, done_tasks, disputed: the numbers of tasks of the batches by state.
        judgments: the resolved judgments, the oldest first.
        evaluations, comparisons, verdicts, sweeps: the number of records of each kind, up to three.
        scheduled: the scheduled jobs.
        system: the proposed name of the last run's system; empty without runs.
        has_texts: True if a document has fields to show.
    """

    queries: int
    engines: Sequence[ProjectEngine]
    runs: Sequence[StoredRun]
    raters: int
    batches: int
    open: int
    done_tasks: int
    disputed: int
    judgments: Sequence[StoredJudgments]
    evaluations: int
    comparisons: int
    verdicts: int
    sweeps: int
    scheduled: int
    system: str
    has_texts: bool

    @classmethod
    def read(cls, connection: Connection, request: WebRequest) -> ProjectState:
        """Read the state of a request's project."""
        project = request.project.id
        progress = tasks.progress(connection, project)
        records_by_kind = {
            kind: len(records.list_records(connection, project, kind=kind, most=3))
            for kind in ("evaluation", "comparison", "verdict", "sweep")
        }
        jobs = scheduled_jobs.list_jobs(connection, project)
        runs = sorted(stored_runs.list_runs(connection, project), key=lambda run: run.id)
        roles = [role for _, role in users.members(connection, project)]
        return cls(
            queries_documents.count_queries(connection, project),
            project_engines.list_engines(connection, project),
            runs,
            sum(role == "rater" for role in roles),
            len(batches.list_batches(connection, project)),
            progress.open,
            progress.done,
            progress.disputed,
            stored_runs.list_judgments(connection, project),
            records_by_kind["evaluation"],
            records_by_kind["comparison"],
            records_by_kind["verdict"],
            records_by_kind["sweep"],
            sum(job.enabled for job in jobs),
            _propose_system(connection, request, runs[-1]) if runs else "",
            bool(queries_documents.field_names(connection, project)),
        )


@dataclass(frozen=True)
class StepView:
    """A step on the page.

    Attributes:
        name: the name of the step and of its job.
        title: the action.
        is_done: True if the project has its output.
        is_ready: True if the project has its inputs.
        text: the output of the project, or the missing input.
        path: the path of the page of the step; empty without one.
        label: the label of the link to that page.
        route: the route of its button; empty if people work on the page itself.
        form_values: the first values of the form of the button.
        open_settings: the settings that are visible at first.
        warning: a warning about the step.
        is_optional: True if later steps do not need it.
    """

    name: str
    title: str
    is_done: bool
    is_ready: bool
    text: str
    path: str = ""
    label: str = ""
    route: str = ""
    form_values: Mapping[str, Any] | None = None
    open_settings: tuple[str, ...] = ()
    warning: str = ""
    is_optional: bool = False


STEPS_PATH = f"{PROJECT}/steps"

_STATE_FIELD = Field(
    "seen", kind="whole", help="The last run of the step that the sender saw; left out: none."
)


def step_fields() -> tuple[Field, ...]:
    """The fields of every button that starts the job of a step."""
    return (_STATE_FIELD,)


def last_run_number(request: WebRequest, step: str) -> int | None:
    """The number of the last run of a step; None if it never ran."""
    with request.store.read() as connection:
        run = _last_run(connection, request, step)
    return None if run is None else run.id


_METRICS = Field(
    "metrics",
    "Metrics",
    "json",
    help="Such as nDCG@10, separated by blanks; the default is nDCG@10.",
    schema={"type": ["array", "string"], "items": {"type": "string"}, "maxLength": 300},
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


@page("steps", STEPS_PATH, MANAGING_ROLES, "Steps")
def steps_page(request: WebRequest) -> PageReply:
    """The page of all steps with their states, buttons and jobs."""
    with request.store.read() as connection:
        state = ProjectState.read(connection, request)
        views = _list_steps(request, state)
        runs = {view.name: _last_run(connection, request, view.name) for view in views}
    following = _find_following(views)
    steps = [
        {
            "name": view.name,
            "title": view.title,
            "state": "done"
            if view.is_done
            else "next"
            if view is following
            else "optional"
            if view.is_optional and view.is_ready
            else "later",
            "ready": view.is_ready,
            "text": view.text,
            "warning": view.warning,
            "run": _run_view(runs[view.name]),
        }
        for view in views
    ]
    extra = {
        "views": {view.name: view for view in views},
        "options": {
            "engine": [engine.name for engine in state.engines],
            "judgments": [judgments.name for judgments in state.judgments],
            **{key: [run.name for run in state.runs] for key in ("run", "baseline", "candidate")},
        },
        "kinds": offered_kinds(request),
        "scheduler": request.config.schedule,
        "under_way": any(run is not None and run.under_way for run in runs.values()),
    }
    return PageReply("steps.html", {"project": request.project.name, "steps": steps}, extra)


def _find_following(views: Sequence[StepView]) -> StepView | None:
    return next((view for view in views if view.is_ready and not view.is_done and not view.is_optional), None)


def following_step(request: WebRequest) -> StepView | None:
    """The next step of a request's project, with the path of its page or button; None if none is left."""
    with request.store.read() as connection:
        view = _find_following(_list_steps(request, ProjectState.read(connection, request)))
    if view is None or (view.path and not view.route):
        return view
    return replace(view, path=request.project_path(f"steps#{view.name}"))


def _last_run(connection: Connection, request: WebRequest, step: str) -> JobRun | None:
    job = find_step_job(connection, request.project.id, step)
    return None if job is None else scheduled_jobs.last_run(connection, job.id)


def _run_view(run: JobRun | None) -> PageRow | None:
    if run is None:
        return None
    progress = read_progress(run.log) if run.under_way else None
    return {
        "id": run.id,
        "state": run.state,
        "under_way": run.under_way,
        "error": run.error,
        "finished_at": run.finished_at,
        "record": run.record,
        "progress": None if progress is None else list(progress),
    }


def _list_steps(request: WebRequest, state: ProjectState) -> list[StepView]:
    """The steps in order."""
    return [*_preparing_steps(request, state), *_rating_steps(request, state), *_result_steps(request, state)]


def _preparing_steps(request: WebRequest, state: ProjectState) -> list[StepView]:
    engine_names = [engine.name for engine in state.engines]
    has_answers = bool(engine_names or state.runs)
    latest_judgments = state.judgments[-1].name if state.judgments else ""
    return [
        StepView(
            "queries",
            "What do people search for?",
            state.queries > 0,
            is_ready=True,
            text=count_noun(state.queries, "query")
            if state.queries
            else "Type or paste them, send a file, or draw them from a log of searches.",
            path=request.project_path("queries#add"),
            label="Add queries",
        ),
        StepView(
            "engine",
            "What answers them?",
            has_answers,
            is_ready=True,
            text=", ".join(engine_names)
            if engine_names
            else count_noun(len(state.runs), "uploaded run")
            if state.runs
            else "A search engine, by a form; or runs that you upload.",
            path=request.project_path("engines"),
            label="Engines",
        ),
        StepView(
            "raters",
            "Who rates?",
            state.raters > 0,
            is_ready=True,
            text=count_noun(state.raters, "rater")
            if state.raters
            else "Invite raters by a link. Managers can also rate.",
            path=request.project_path("people"),
            label="People",
        ),
        StepView(
            "snapshot",
            "Snapshot",
            bool(state.runs),
            is_ready=bool(state.queries and engine_names),
            text=f"{count_noun(len(state.runs), 'run')}, the last one {state.runs[-1].name}"
            if state.runs
            else "Sends every query to the engine, and keeps its lists as a run.",
            route="step-snapshot" if engine_names else "",
            form_values={"engine": engine_names[-1] if engine_names else "", "judgments": latest_judgments},
            open_settings=("engine",) if len(engine_names) > 1 else (),
        ),
    ]


def _rating_steps(request: WebRequest, state: ProjectState) -> list[StepView]:
    has_rated = bool(state.batches and state.done_tasks and not state.open and not state.disputed)
    run_names = [run.name for run in state.runs]
    return [
        StepView(
            "batch",
            "Pool and batch",
            state.batches > 0,
            is_ready=bool(run_names),
            text=count_noun(state.batches, "batch")
            if state.batches
            else "The first documents of each run, without repeats, become tasks of raters.",
            route="step-batch",
            form_values={
                "runs": ", ".join(run_names[-_TWO:]),
                "batch": f"batch-{state.batches + 1}",
                "strategy": "2" if state.raters > 1 else "1",
            },
            warning=""
            if state.has_texts or not run_names
            else "No document has a text for raters: name fields of documents in the engine, or upload a "
            "file of documents.",
        ),
        StepView(
            "rating",
            "Rate",
            has_rated,
            is_ready=state.batches > 0,
            text=_rating_text(state),
            path=request.project_path("disputes" if state.disputed and not state.open else "rate"),
            label="Disagreements" if state.disputed and not state.open else "Rate",
        ),
        StepView(
            "judgments",
            "Judgments",
            bool(state.judgments),
            is_ready=state.done_tasks > 0,
            text=f"{count_noun(len(state.judgments), 'set')}, the last one {state.judgments[-1].name}"
            if state.judgments
            else "A rule makes one judgment of the ratings of a document.",
            route="step-judgments",
            form_values={"judgments": f"judgments-{len(state.judgments) + 1}"},
            warning=f"{count_noun(state.open, 'task')} of raters "
            f"{'is' if state.open == 1 else 'are'} still open."
            if state.open and state.done_tasks
            else "",
        ),
        StepView(
            "clicks",
            "Judgments from clicks",
            any("min_examined" in judgments.made_by for judgments in state.judgments),
            is_ready=state.queries > 0,
            text="Instead of raters, or besides them: a click model makes judgments of a log.",
            path=request.project_path("steps", "clicks"),
            label="Send a log",
            is_optional=True,
        ),
    ]


def _rating_text(state: ProjectState) -> str:
    if not state.batches:
        return "Raters grade documents by keyboard, without seeing the systems."
    total = state.done_tasks + state.open
    disputed = (
        f", {count_noun(state.disputed, 'pair waits', 'pairs wait')} for a final word"
        if state.disputed
        else ""
    )
    verb = "is" if state.done_tasks == 1 else "are"
    return f"{state.done_tasks:,} of {count_noun(total, 'task')} {verb} done{disputed}"


def _result_steps(request: WebRequest, state: ProjectState) -> list[StepView]:
    run_names = [run.name for run in state.runs]
    latest = run_names[-1] if run_names else ""
    judgments = state.judgments[-1].name if state.judgments else ""
    two_runs = {
        "judgments": judgments,
        "baseline": run_names[0] if run_names else "",
        "candidate": latest,
        "system": state.system,
    }
    has_pair = bool(judgments) and len(run_names) >= _TWO
    return [
        StepView(
            "evaluation",
            "Evaluation",
            state.evaluations > 0,
            is_ready=bool(judgments and run_names),
            text="A run is scored by the judgments, and recorded for the history.",
            path=request.project_path("records") if state.evaluations else "",
            label="Records",
            route="step-evaluation",
            form_values={"judgments": judgments, "run": latest, "system": state.system},
            open_settings=("system",),
        ),
        StepView(
            "comparison",
            "Comparison",
            state.comparisons > 0,
            is_ready=has_pair,
            text="Two runs are compared: what changed, and whether it is more than chance."
            if has_pair
            else "A comparison needs two runs: take another snapshot after a change of the engine.",
            path=f"{request.project_path('records')}?kind=comparisons" if state.comparisons else "",
            label="Comparisons",
            route="step-comparison",
            form_values=two_runs,
        ),
        StepView(
            "gate",
            "Gate verdict",
            state.verdicts > 0,
            is_ready=has_pair,
            text="Whether the candidate may replace the baseline: pass, fail or inconclusive.",
            path=f"{request.project_path('records')}?kind=gates" if state.verdicts else "",
            label="Verdicts",
            route="step-gate",
            form_values=two_runs,
        ),
        StepView(
            "sweep",
            "Sweep",
            state.sweeps > 0,
            is_ready=bool(judgments and state.engines),
            text="The engine is measured at several values of its settings; the best one is chosen.",
            path=request.project_path("steps", "sweep"),
            label="Plan a sweep",
            is_optional=True,
        ),
        StepView(
            "history",
            "History",
            state.evaluations >= _TWO,
            is_ready=state.evaluations > 0,
            text="Every evaluation over time, with what changed.",
            path=request.project_path("trends"),
            label="Trends",
        ),
        StepView(
            "schedule",
            "Schedule",
            state.scheduled > 0,
            is_ready=bool(state.engines and state.queries),
            text=count_noun(state.scheduled, "job")
            if state.scheduled
            else "The engine is asked again every day or week, and the run is evaluated.",
            path=request.project_path("schedule#engine"),
            label="Schedule",
        ),
    ]


def start_job(
    request: WebRequest, step: str, kind: str, values: JsonObject, last_run: int | None = None
) -> ActionReply:
    """Start the job of a step once, even if several users press its button."""
    last_run = request.values["seen"] if last_run is None else last_run
    with request.store.write() as connection:
        started_run = start_step(
            connection, request.project.id, step, kind, values, last_run_seen=last_run, user=request.user.id
        )
        if started_run.new:
            request.record(connection, "step.start", step)
    if not started_run.new and not started_run.run.under_way and last_run is None:
        raise invalid_value(
            "seen",
            f"is missing: the step has run since the page was opened; its last run is {started_run.run.id}",
        )
    data = {"run": started_run.run.id, "started": started_run.new}
    return ActionReply(request.project_path(f"steps#{step}"), data)


def _refuse_unknown(request: WebRequest, *names: str) -> None:
    """Refuse unknown names, with an error next to their field."""
    lists = {
        "engine": (list_engine_names, "engine"),
        "judgments": (list_judgment_names, "judgments"),
        **dict.fromkeys(("run", "baseline", "candidate"), (list_run_names, "run")),
    }
    for field in names:
        list_names, noun = lists[field]
        value = request.values[field]
        if value is not None and value not in list_names(request):
            raise invalid_value(field, f"there is no {noun} {value!r}")


def _metrics(request: WebRequest) -> dict[str, list[str] | None]:
    return {"metrics": request.values["metrics"] or None}


def _system_of(request: WebRequest, run: str) -> str:
    """The name of a run's system in the history.

    It is the engine of the run; else the system of the request; else the system under which the run
    was recorded, or the name of the run.
    """
    with request.store.read() as connection:
        stored_run = stored_runs.find_run(connection, request.project.id, run)
        if stored_run is None:
            return run
        engine = stored_run.made_by.get("engine")
        return str(
            engine or request.values["system"] or _recorded_system(connection, request, stored_run) or run
        )


def _recorded_system(connection: Connection, request: WebRequest, run: StoredRun) -> str:
    """The system under which a run was last recorded; empty if it was not."""
    latest = records.list_records(connection, request.project.id)
    systems = (
        record.system for record in latest if record.inputs.get("runs", {}).get(record.system) == run.sha256
    )
    return next(systems, "")


def _propose_system(connection: Connection, request: WebRequest, run: StoredRun) -> str:
    """The system of a run that the forms propose: for a new uploaded run that of the last record."""
    latest = records.list_records(connection, request.project.id, most=1)
    return str(
        run.made_by.get("engine")
        or _recorded_system(connection, request, run)
        or (latest[0].system if latest else _DATE_SUFFIX.sub("", run.name))
        or run.name
    )


_DATE_SUFFIX = re.compile(r"[-_.@ ]?\d{4}-?\d\d-?\d\d([-_T ]?\d\d[\d:]*)?$")
"""The date at the end of a run's name."""


@action(
    "step-snapshot",
    f"{STEPS_PATH}/snapshot",
    MANAGING_ROLES,
    "Take a snapshot",
    _ENGINE,
    _judgments(required=False),
    _METRICS,
    Field("depth", "Documents of each list", "whole", least=1, largest=10_000),
    Field("rate", "Queries a second, at most", "number", least=0.01),
    _STATE_FIELD,
)
def start_snapshot(request: WebRequest) -> ActionReply:
    """Start sending the queries to an engine; with judgments, the run is evaluated at once."""
    _refuse_unknown(request, "engine", "judgments")
    names = ("engine", "depth", "rate", "judgments")
    values = {name: request.values[name] for name in names}
    return start_job(request, "snapshot", "engine-snapshot", values | _metrics(request))


@action(
    "step-batch",
    f"{STEPS_PATH}/batch",
    MANAGING_ROLES,
    "Make a batch",
    Field("runs", "Runs, with commas between", required=True, most=2_000),
    Field("batch", "Name of the batch", required=True, most=100),
    *declared_fields(PoolDesign, "depth"),
    STRATEGY_FIELD,
    Field("judgments", "Leave out pairs judged in", most=200, options=web_request.list_judgment_names),
    _STATE_FIELD,
)
def start_batch(request: WebRequest) -> ActionReply:
    """Start creating a batch of the first documents of runs."""
    run_names = [word.strip() for word in (request.values["runs"] or "").split(",") if word.strip()]
    known_names = list_run_names(request)
    for name in run_names:
        if name not in known_names:
            raise invalid_value("runs", f"there is no run {name!r}")
    if not run_names:
        raise invalid_value("runs", "is missing")
    with request.store.read() as connection:
        taken_names = [batch.name for batch in batches.list_batches(connection, request.project.id)]
    if request.values["batch"] in taken_names and not _is_repeated(request, "batch"):
        raise invalid_value("batch", "is the name of another batch")
    names = ("batch", "depth", "strategy", "judgments")
    values = {name: request.values[name] for name in names}
    return start_job(request, "batch", "pool", values | {"runs": run_names})


def _is_repeated(request: WebRequest, step: str) -> bool:
    """True if the step is running, or was started after the sender saw its button."""
    with request.store.read() as connection:
        last = _last_run(connection, request, step)
    return last is not None and (last.under_way or last.id != request.values["seen"])


@action(
    "step-judgments",
    f"{STEPS_PATH}/judgments",
    MANAGING_ROLES,
    "Make judgments",
    Field("judgments", "Name of the judgments", required=True, most=100),
    *declared_fields(
        resolve,
        "rule",
        rule={
            "kind": "choice",
            "choices": tuple((rule.name, rule.title) for rule in rules() if rule.name != "adjudicated"),
        },
    ),
    _STATE_FIELD,
)
def start_judgments(request: WebRequest) -> ActionReply:
    """Start creating judgments from the ratings."""
    name = request.values["judgments"]
    if name in list_judgment_names(request) and not _is_repeated(request, "judgments"):
        raise invalid_value("judgments", "is the name of other judgments")
    values = {"judgments": name, "rule": request.values["rule"]}
    return start_job(request, "judgments", "judgments", values)


@action(
    "step-evaluation",
    f"{STEPS_PATH}/evaluation",
    MANAGING_ROLES,
    "Evaluate",
    _judgments(required=True),
    _run("run", "Run"),
    _SYSTEM,
    _METRICS,
    _STATE_FIELD,
)
def start_evaluation(request: WebRequest) -> ActionReply:
    """Start evaluating a run."""
    _refuse_unknown(request, "judgments", "run")
    run = request.values["run"]
    values = {"judgments": request.values["judgments"], "runs": [run], "system": _system_of(request, run)}
    return start_job(request, "evaluation", "evaluate", values | _metrics(request))


def _two_runs(request: WebRequest) -> dict[str, Json]:
    _refuse_unknown(request, "judgments", "baseline", "candidate")
    names = ("judgments", "baseline", "candidate")
    values = {name: request.values[name] for name in names}
    if values["baseline"] == values["candidate"]:
        raise invalid_value("candidate", "is the baseline itself; choose another run")
    return values | {"system": _system_of(request, values["candidate"])}


@action(
    "step-comparison",
    f"{STEPS_PATH}/comparison",
    MANAGING_ROLES,
    "Compare",
    *_PAIR_FIELDS,
    _METRICS,
    _STATE_FIELD,
)
def start_comparison(request: WebRequest) -> ActionReply:
    """Start comparing two runs."""
    return start_job(request, "comparison", "compare", _two_runs(request) | _metrics(request))


@action("step-gate", f"{STEPS_PATH}/gate", MANAGING_ROLES, "Get a verdict", *_PAIR_FIELDS, _STATE_FIELD)
def start_gate(request: WebRequest) -> ActionReply:
    """Start checking a run against a baseline."""
    return start_job(request, "gate", "gate", _two_runs(request))


@action("job-cancel", f"{PROJECT}/schedule/runs/{{run:int}}/cancel", MANAGING_ROLES, "Cancel")
def cancel_run(request: WebRequest) -> ActionReply:
    """Cancel a waiting or running run of a job."""
    number = request.path["run"]
    with request.store.write() as connection:
        job_run = scheduled_jobs.get_job_run(connection, number)
        job = scheduled_jobs.job_by_number(connection, job_run.job)
        if job.project != request.project.id:
            raise not_found("run")
        is_cancelled = scheduled_jobs.cancel_run(connection, number, f"cancelled by {request.user.name}")
        if is_cancelled:
            request.record(connection, "job.cancel", job.name)
    return ActionReply(request.project_path("schedule", "runs", number), {"cancelled": is_cancelled})


_CRON = {
    "day": "{minute} {hour} * * *",
    "workday": "{minute} {hour} * * mon-fri",
    "week": "{minute} {hour} * * mon",
    "hour": "{minute} * * * *",
}
"""The cron schedules for querying an engine."""


@action(
    "schedule-engine",
    f"{PROJECT}/schedule/engine",
    MANAGING_ROLES,
    "Save the schedule",
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
    does_step=True,
)
def schedule_engine(request: WebRequest) -> ActionReply:
    """Query an engine on a schedule and evaluate its runs, with the gate if it has a baseline."""
    fields = request.values
    _refuse_unknown(request, "engine", "judgments", "baseline")
    if fields["baseline"] is not None and fields["judgments"] is None:
        raise invalid_value("judgments", "a gate needs judgments; choose some")
    schedule = _read_schedule(request)
    name = fields["name"] or f"{fields['engine']}-{fields['every']}"
    job = make_job(
        {
            "name": name,
            "kind": "engine-snapshot" if fields["baseline"] is None else "engine-gate",
            "schedule": schedule,
            "timezone": fields["timezone"],
            "engine": fields["engine"],
            "judgments": fields["judgments"],
            "baseline": fields["baseline"],
            "metrics": fields["metrics"] or None,
        }
    )
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        set_jobs(connection, request.project.id, (job,), actor, others=False)
    return ActionReply(request.project_path("schedule"), {"job": job.name, "schedule": job.schedule})


def _read_schedule(request: WebRequest) -> str:
    """The cron schedule of a form.

    Raises:
        Refused: a time is invalid; the error is shown next to its field.
    """
    interval, time = request.values["every"], request.values["time"] or "06:00"
    if interval == "cron":
        if request.values["cron"] is None:
            raise invalid_value("cron", "is missing: minute, hour, day, month, day of the week")
        return str(request.values["cron"])
    hour, _, minute = time.partition(":")
    if not (hour.isdecimal() and minute.isdecimal() and int(hour) < 24 and int(minute) < 60):
        raise invalid_value("time", "is a time such as 06:00")
    return _CRON[interval].format(hour=int(hour), minute=int(minute))
