"""The commands ``rankgate engines`` and ``rankgate snapshot``.

``rankgate engines`` shows the kinds of engines, and takes a look at one. ``rankgate snapshot``
takes an engine's results for every query, as a run.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.option_types import ENGINE, FullHelpGroup
from rankgate.core.console.terminal_output import (
    TerminalProgress,
    print_result,
    print_summary,
    with_record_option,
)
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.engines.configuration import ENGINES
from rankgate.engines.engine_checks import check_engine, engines
from rankgate.engines.snapshots.compare_engines import compare_engines
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.engines.snapshots.snapshot_verb import snapshot

if TYPE_CHECKING:
    from rankgate.engines.snapshots.snapshot import EngineComparison, Snapshot


@click.group("engines", cls=FullHelpGroup, context_settings={"help_option_names": ["-h", "--help"]})
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
@shared_options.form(*FORMS)
def show(kind: str, form: str) -> None:
    """Show the keys of the file of one KIND of engine."""
    print_result(engines(kind), form)


@engines_command.command("check")
@click.argument("engine", type=click.Path(), metavar="ENGINE.toml")
@click.option("--query", default="test", show_default=True, help="The query.")
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
@click.argument("engine", type=click.Path(), metavar="ENGINE.toml")
@click.argument("queries", type=click.Path())
@click.option(
    "-o",
    "--output",
    "target",
    metavar="RUN",
    required=True,
    type=click.Path(),
    help="The file of the run.",
)
@shared_options.parameters(
    "A parameter of the engine's request, as in k1=0.9; may be given several times."
)
@verb_options(snapshot, "depth N", "concurrency N", "rate", "again", "force", "to FORMAT")
@click.option(
    "--compare",
    "baseline",
    metavar="BASELINE.toml",
    type=click.Path(),
    help="Another engine that gets each query right before or after, so that latencies "
    "are compared under the same load.",
)
@click.option(
    "--baseline-output",
    metavar="RUN",
    type=click.Path(),
    help="The file of the baseline's run.",
)
@verb_options(compare_engines, "seed N")
@shared_options.from_formats("queries queries")
@with_record_option
@shared_options.form(*FORMS)
def snapshot_command(
    engine: str,
    queries: str,
    target: str,
    form: str,
    baseline: str | None,
    baseline_output: str | None,
    seed: int,
    **options_of_snapshot: Any,
) -> None:
    """Send every query to the engine of ENGINE.toml, and write its results as RUN.

    Each answer is saved before the next query is sent: after an interruption, the same command
    goes on. Exits with 3 if the engine is down before all queries are sent, or no query
    was answered.

    \b
    rankgate snapshot engine.toml queries.tsv -o new.run
    rankgate snapshot engine.toml queries.tsv -o k1.run --parameter k1=0.9
    rankgate snapshot engine.toml queries.tsv -o new.run --again
    rankgate snapshot --compare old.toml new.toml queries.tsv -o new.run --baseline-output old.run
    """
    query_list = queries_of(queries)
    result: Snapshot | EngineComparison
    with TerminalProgress(len(query_list) * (2 if baseline else 1)):
        if baseline:
            outputs = (baseline_output or target, target)
            result = compare_engines(
                baseline, engine, query_list, outputs, seed=seed, **options_of_snapshot
            )
        elif baseline_output:
            raise UsageError(
                "--baseline-output is for the engine that --compare names.",
                code="conflicting-options",
            )
        else:
            result = snapshot(engine, query_list, target, **options_of_snapshot)
    print_result(result, form)
    if not result.finished or result.failed:
        sys.exit(3)
