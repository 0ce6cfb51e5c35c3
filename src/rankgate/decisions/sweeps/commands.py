"""``rankgate sweep``: settings measured point by point, and one of them chosen."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import click
from click.core import ParameterSource

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    print_result,
    print_to_stderr,
    with_record_option,
)
from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.decisions.sweeps.sweep_verb import plan_steps, sweep
from rankgate.measurement import metric_options, store_options

if TYPE_CHECKING:
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject


@click.command("sweep")
@shared_options.paths("plan SWEEP.toml")
@verb_options(sweep, "folder FOLDER", "workers N", "trials N")
@store_options.in_project()
@own_options("qrels NAME --judgments", "dials NAME=VALUES --dial")
@metric_options.metrics_option("With --project: a metric; the first one decides. Without it: nDCG@10.")
@own_options("rate X", "search")
@with_record_option
@shared_options.form(*FORMS)
@shared_options.output
def sweep_command(
    plan: str,
    *,
    form: str,
    output: str | None,
    store: str | None,
    project: str | None,
    qrels: str | None = None,
    dials: tuple[str, ...] = (),
    metrics: tuple[str, ...],
    rate: Annotated[float, Range(0, exclusive=True)] | None = None,
    search: Literal["grid", "race"] | None = None,
    **options_of_sweep: Any,
) -> None:
    """Measure every setting that SWEEP.toml describes, and choose one.

    The result names the best setting, and its gain over the baseline on queries that were not used
    to choose it. Measurements are kept: after an interruption, the same command continues. Exits
    with 3 if a point failed.

    With --project, SWEEP.toml is the name of an engine of the project instead: its queries are asked
    at all values of the dials.

    \b
    rankgate sweep sweep.toml
    rankgate sweep sweep.toml --workers 4 -o sweep.html
    rankgate sweep shop --project shop --judgments gold --dial k1=0.9,1.2
    \f

    Options:
        qrels: With --project: judgments in the project.
        dials: With --project: a parameter of the engine and its values, as in k1=0.9,1.2; may be
            given several times.
        rate: With --project: queries a second, at most.
        search: With --project: every setting at every query (grid), or fewer requests in rounds, judged
            by held-out queries (race).
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # set-ups are undone after SIGTERM too
    of_project = (qrels, dials, metrics, rate, search)
    source_of = click.get_current_context().get_parameter_source  # rankgate.toml may have defaults
    names = ("qrels", "dials", "metrics", "rate", "search")
    if project is None and any(source_of(name) is ParameterSource.COMMANDLINE for name in names):
        raise UsageError(
            "--judgments, --dial, -m, --rate and --search are for --project; write them into the file.",
            code="conflicting-options",
        )
    with store_options.project_of(store, project) as stored_project:
        source = plan if stored_project is None else _plan_of_project(stored_project, plan, *of_project)
        steps, cost = plan_steps(source, options_of_sweep["trials"])
        if cost:
            print_to_stderr(f"{cost}\n")
        with TerminalProgress(steps):
            result = sweep(source, **options_of_sweep)
    if project is not None:
        result = replace(result, name=plan)
    print_result(result, form, output)
    if not result.finished:
        sys.exit(3)


def _plan_of_project(
    project: StoredProject | RemoteProject,
    engine: str,
    judgments: str | None,
    dials: tuple[str, ...],
    metrics: tuple[str, ...],
    rate: float | None,
    search: str | None,
) -> dict[str, Any]:
    """The plan of a sweep of a project's engine.

    Raises:
        UsageError: the judgments are missing; the project is on a server.
    """
    from rankgate.decisions.sweeps.project_sweep import project_plan, read_dials
    from rankgate.engines.project_engines import EngineAccess
    from rankgate.store.stored_project import StoredProject

    if not isinstance(project, StoredProject):
        problem = "engines of a project are asked where its store is, not from another machine."
        raise UsageError(problem, code="not-remote")
    if judgments is None:
        problem = "--judgments names the judgments in the project; it is missing."
        raise UsageError(problem, code="missing-input")
    access = EngineAccess.from_environment()
    values = read_dials(dials)
    return project_plan(project, engine, judgments, values, metrics, rate=rate, access=access, search=search)
