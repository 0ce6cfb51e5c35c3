"""The commands ``rankgate engines`` and ``rankgate snapshot``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import ENGINE, FullHelpGroup
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    print_result,
    print_summary,
    prints_to_stdout,
    with_figures_options,
)
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.engines.configuration import ENGINES, ONE_ENGINE
from rankgate.engines.engine_checks import check_engine, engines
from rankgate.engines.snapshots.compare_engines import compare_engines
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.engines.snapshots.snapshot_verb import snapshot
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import JsonObject
    from rankgate.engines.snapshots.snapshot import EngineComparison, Snapshot


@click.group("engines", cls=FullHelpGroup)
def engines_command() -> None:
    """Show the kinds of engines; check the file of one.

    \b
    rankgate engines list
    rankgate engines show opensearch
    rankgate engines check engine.toml --query "red shoes"
    """


@engines_command.command("list")
@shared_options.form(*FORMS)
def list_(form: str) -> None:
    """List the kinds of supported engines."""
    print_result(engines(), form)
    print_summary(ENGINES.added.problems)


@engines_command.command("show")
@click.argument("kind", type=ENGINE)
@prints_to_stdout
def show(kind: str) -> Result:
    """Show the keys of the file of one KIND of engine."""
    return engines(kind)


@engines_command.command("check")
@shared_options.paths("engine ENGINE.toml")
@verb_options(check_engine, "query")
@shared_options.parameters("A parameter of the engine's request; may be given several times.")
@shared_options.form(*FORMS)
def check(engine: str, query: str, parameters: tuple[str, ...], form: str) -> None:
    """Ask the engine one query; show what a snapshot would keep, and what is missing.

    Exits with 3 if there are no documents, or the index lacks a field that the engine's file names.
    """
    result = check_engine(engine, query, parameters)
    print_result(result, form)
    if result.failed:
        sys.exit(3)


@click.command("snapshot")
@shared_options.paths("engine ENGINE.toml", "queries")
@own_options("target RUN -o --output")
@shared_options.parameters("A parameter of the engine's request, as in k1=0.9; may be given several times.")
@verb_options(snapshot, "depth N", "concurrency N", "rate", "arrival_rate", "again", "force", "to FORMAT")
@own_options("baseline BASELINE.toml --compare", "baseline_output RUN", kinds={"baseline": click.Path()})
@verb_options(compare_engines, "seed N")
@shared_options.from_formats("queries queries")
@store_options.in_project()
@own_options("save_as NAME")
@with_figures_options
@shared_options.form(*FORMS)
def snapshot_command(
    engine: str,
    queries: str,
    *,
    target: str | None = None,
    form: str,
    baseline: str | None = None,
    baseline_output: str | None = None,
    seed: int,
    store: str | None,
    project: str | None,
    save_as: str | None = None,
    **options_of_snapshot: Any,
) -> None:
    """Send every query to the engine of ENGINE.toml, and write its results as RUN.

    Each answer is saved before the next query is sent: after an interruption, the same command
    goes on. Exits with 3 if the engine is down before all queries are sent, or no query
    was answered.

    With --project, ENGINE is the name of an engine of the project, and QUERIES the word queries;
    the run and texts of new documents are kept in the project.

    \b
    rankgate snapshot engine.toml queries.tsv -o new.run
    rankgate snapshot engine.toml queries.tsv -o k1.run --parameter k1=0.9
    rankgate snapshot engine.toml queries.tsv -o new.run --again
    rankgate snapshot --compare old.toml new.toml queries.tsv -o new.run --baseline-output old.run
    rankgate snapshot shop queries --project shop --save-as monday
    \f

    Options:
        target: The file of the run.
        baseline: Another engine that gets each query right before or after, so that latencies are
            compared under the same load.
        baseline_output: The file of the baseline's run.
        save_as: Keep the run in the project under this name, without -o.
    """
    if project is not None:
        if target or baseline or queries != "queries":
            raise UsageError(
                "with --project, ENGINE and QUERIES are names in the project, as in: rankgate snapshot shop "
                "queries --project shop --save-as monday.",
                code="conflicting-options",
            )
        stored_result = _snapshot_in_project(project, store, engine, save_as, options_of_snapshot)
        _print_snapshot(stored_result, form)
        return
    if target is None:
        raise UsageError("-o names the file of the run; it is missing.", code="missing-input")
    query_list = queries_of(queries)
    with TerminalProgress(len(query_list) * (2 if baseline else 1)):
        if baseline:
            outputs = (baseline_output or target, target)
            if options_of_snapshot.pop("arrival_rate"):
                raise UsageError(ONE_ENGINE, code="conflicting-options")
            result: Snapshot | EngineComparison = compare_engines(
                baseline, engine, query_list, outputs, seed=seed, **options_of_snapshot
            )
        elif baseline_output:
            raise UsageError(
                "--baseline-output is for the engine that --compare names.", code="conflicting-options"
            )
        else:
            result = snapshot(engine, query_list, target, **options_of_snapshot)
    _print_snapshot(result, form)


_FILE_OPTIONS = ("again", "force", "to")
"""Options of a snapshot that is written to a file."""


def _snapshot_in_project(
    project: str, store: str | None, engine: str, save_as: str | None, options: JsonObject
) -> Snapshot:
    """The snapshot of an engine of a project, which keeps its run there.

    Raises:
        UsageError: the name of the run is missing; the project is on a server.
    """
    from rankgate.engines.project_engines import EngineAccess
    from rankgate.engines.snapshots.project_snapshot import list_project_queries, snapshot_project
    from rankgate.store.stored_project import StoredProject

    if save_as is None:
        problem = "--save-as names the run in the project; it is missing."
        raise UsageError(problem, code="missing-input")
    with store_options.opened_project(store, project) as stored_project:
        if not isinstance(stored_project, StoredProject):
            problem = "engines of a project are asked where its store is, not from another machine."
            raise UsageError(problem, code="not-remote")
        with TerminalProgress(len(list_project_queries(stored_project))):
            return snapshot_project(
                stored_project,
                engine,
                save_as,
                access=EngineAccess.from_environment(),
                **{name: value for name, value in options.items() if name not in _FILE_OPTIONS},
            )


def _print_snapshot(result: Snapshot | EngineComparison, form: str) -> None:
    print_result(result, form)
    if not result.finished or result.failed:
        sys.exit(3)
