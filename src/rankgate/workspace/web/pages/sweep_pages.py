"""The step of a sweep: an engine of the project at all values of its dials, with the cost stated before.

Dials are the names in double braces of the engine's requests, and their values numbers or plain words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.sweeps.project_sweep import project_plan, read_dials
from rankgate.decisions.sweeps.request_count import count_requests
from rankgate.decisions.sweeps.sweep_plan import read_plan
from rankgate.decisions.sweeps.targets import EngineTarget
from rankgate.store.material import project_engines
from rankgate.workspace.web import web_request
from rankgate.workspace.web.pages.live_engines import ask_engine
from rankgate.workspace.web.pages.step_pages import STEPS_PATH, last_run_number, start_job, step_fields
from rankgate.workspace.web.replies import PageReply, Reply, RequestRefused
from rankgate.workspace.web.web_request import (
    MANAGING_ROLES,
    Field,
    action,
    invalid_value,
    list_engine_names,
    list_judgment_names,
    page,
    refused_declaration,
)

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep_plan import Plan
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

_SWEEP_PATH = f"{STEPS_PATH}/sweep"
_MAX_POINTS = 200
"""The largest number of settings of a sweep that is started by a form."""

_MAX_REQUESTS = 50_000
"""The largest number of requests of such a sweep."""

_VALUES_HELP = "Numbers or words, with commas between, such as 0.9, 1.2, 1.5."


def list_dial_names(request: WebRequest) -> list[str]:
    """The names of the parameters of the project's engines."""
    with request.store.read() as connection:
        engines = project_engines.list_engines(connection, request.project.id)
    return sorted({name for engine in engines for name in engine.settings.get("parameters") or {}})


_FIELDS = (
    Field("engine", "Engine", required=True, most=63, options=list_engine_names),
    Field("judgments", "Judgments", required=True, most=200, options=list_judgment_names),
    Field("dial", "What to change", required=True, most=100, options=list_dial_names),
    Field("values", "Its values", required=True, most=1_000, help=_VALUES_HELP),
    Field("second_dial", "And what else to change", most=100, options=list_dial_names),
    Field("second_values", "Its values", most=1_000, help=_VALUES_HELP),
    Field("metric", "Metric that decides", most=200, options=web_request.list_watched_metrics),
    Field(
        "rate", "Queries a second, at most", "number", default="10", least=0.01, help="Left empty: no limit."
    ),
    Field(
        "search",
        "Which settings at which queries",
        "choice",
        default="grid",
        choices=(
            ("grid", "Every setting at every query"),
            ("race", "Fewer in each round, judged by held-out queries"),
        ),
    ),
    *step_fields(),
    Field("preview", kind="flag", help="Only state the cost."),
)


@page("sweep", _SWEEP_PATH, MANAGING_ROLES, "Plan a sweep")
def sweep_page(request: WebRequest) -> PageReply:
    """The form of a sweep."""
    engines, judgments = list_engine_names(request), list_judgment_names(request)
    dials = list_dial_names(request)
    options = {
        "engine": engines,
        "judgments": judgments,
        "dial": dials,
        "second_dial": dials,
        "metric": web_request.list_watched_metrics(request),
    }
    with request.store.read() as connection:
        definitions = project_engines.list_engines(connection, request.project.id)
    with_dials = [definition.name for definition in definitions if definition.settings.get("parameters")]
    given = {
        "engine": (with_dials or engines or [""])[-1],
        "judgments": (judgments or [""])[-1],
        "dial": (dials or [""])[0],
        "metric": "nDCG@10",
    }
    lead = (
        "The engine is measured at each setting; the gain of the best one is estimated on queries that did "
        "not choose it. Settings are the engine's values of names in braces."
    )
    warning = "" if dials else "No engine has values of names in braces; give one to an engine first."
    data: PageRow = {"project": request.project.name, "lead": lead, "warning": warning}
    extra: PageRow = {
        "options": options,
        "given": given,
        "action": "step-sweep",
        "more": ["second_dial", "second_values"],
        "seen": last_run_number(request, "sweep"),
    }
    return PageReply("step_form.html", data, extra)


@action("step-sweep", _SWEEP_PATH, MANAGING_ROLES, "Start the sweep", *_FIELDS)
def start_sweep(request: WebRequest) -> Reply:
    """Start measuring an engine at all values of its dials, or only state the cost.

    Raises:
        Refused: a dial, a value or another setting does not fit, or the sweep is too large; next to
            its field.
    """
    fields = request.values
    texts = [f"{fields['dial']}={fields['values']}"]
    if fields["second_dial"] or fields["second_values"]:
        texts.append(f"{fields['second_dial'] or ''}={fields['second_values'] or ''}")
    plan = _read_plan(request, texts)
    requests = count_requests(plan)
    if len(plan.points) > _MAX_POINTS or requests > _MAX_REQUESTS:
        problem = (
            f"{count_noun(len(plan.points), 'setting')} and {count_noun(requests, 'request')} are too many; "
            f"at most {_MAX_POINTS} and {_MAX_REQUESTS:,}; take fewer values"
        )
        raise invalid_value("values", problem)
    if fields["preview"]:
        return PageReply("cost.html", _state_cost(request, plan, requests))
    metrics = [fields["metric"]] if fields["metric"] else None
    values = {name: fields[name] for name in ("engine", "judgments", "rate", "search")}
    return start_job(request, "sweep", "sweep", values | {"dials": texts, "metrics": metrics})


def _read_plan(request: WebRequest, texts: list[str]) -> Plan:
    """The plan of a sweep of the form, as its file would have it."""
    fields = request.values
    try:
        plan = project_plan(
            request.stored_project,
            fields["engine"],
            fields["judgments"],
            read_dials(texts),
            [fields["metric"]] if fields["metric"] else (),
            rate=fields["rate"],
            access=request.config.engines,
            search=fields["search"],
        )
        return read_plan(plan)
    except (InputError, UsageError) as error:
        refused = refused_declaration(error, {"engine", "judgments", "metric"})
        is_value = error.code in {"invalid-dial", "unknown-dial", "invalid-sweep"}
        refused.field = "values" if is_value else refused.field
        raise refused from None


def _state_cost(request: WebRequest, plan: Plan, requests: int) -> PageRow:
    """The cost of a sweep in numbers and sentences; one query is sent, to see how long an answer takes."""
    target = plan.target
    assert isinstance(target, EngineTarget)  # the plan of an engine
    configuration = target.configuration
    answer = ask_engine(configuration, target.queries[0].text, configuration.engine.depth)
    if answer.problem:
        raise RequestRefused(
            400, "no-answer", f"The engine gives no answer: {answer.problem}.", field="engine"
        )
    concurrency, rate = configuration.pace.concurrency, request.values["rate"]
    seconds = max(requests * answer.seconds / concurrency, requests / rate if rate else 0.0)
    points, queries = len(plan.points), len(target.queries)
    reason = "in rounds that fewer settings reach, some queries judging the choice alone"
    if plan.settings.search == "grid":
        reason = "as each query is sent twice at each setting"
    size = (
        f"{count_noun(points, 'setting')}, the present one among them, and {count_noun(queries, 'query')}: "
        f"{count_noun(requests, 'request')} to the engine, {reason}."
    )
    sentences = [
        size,
        f"About {_format_seconds(seconds)}, as the engine answered a query in {answer.seconds:.2f} s"
        + (f" and at most {rate:g} queries a second are sent." if rate else "."),
    ]
    return {
        "project": request.project.name,
        "points": points,
        "queries": queries,
        "requests": requests,
        "seconds": round(seconds, 1),
        "sentences": sentences,
    }


def _format_seconds(seconds: float) -> str:
    minutes = seconds / 60
    return f"{max(seconds, 1):.0f} s" if minutes < 2 else f"{minutes:.0f} min"
