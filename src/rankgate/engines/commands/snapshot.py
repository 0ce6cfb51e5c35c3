"""``rankgate snapshot``: an engine's results for every query, as a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.recording import with_record_option
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.engines.snapshots.compare_engines import compare_engines
from rankgate.engines.snapshots.queries import queries_of
from rankgate.engines.snapshots.take import snapshot

if TYPE_CHECKING:
    from rankgate.engines.snapshots.engine_comparison import EngineComparison
    from rankgate.engines.snapshots.snapshot import Snapshot


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
@options.parameters(
    "A parameter of the engine's request, as in k1=0.9; may be given several times."
)
@verb_options(snapshot, "depth N", "concurrency N", "rate", "again", "force", "to FORMAT")
@click.option(
    "--compare",
    "baseline",
    metavar="BASELINE.toml",
    type=click.Path(),
    help="Another engine that is asked each query right before or after, so that latencies are "
    "compared under the same load.",
)
@click.option(
    "--baseline-output",
    metavar="RUN",
    type=click.Path(),
    help="The file of the baseline's run.",
)
@verb_options(compare_engines, "seed N")
@options.from_formats("queries queries")
@with_record_option
@options.form(*FORMS)
def command(
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

    Each answer is saved before the next query is asked: after an interruption, the same command
    goes on. Exits with 3 if the engine is down before all queries are asked, or no query was
    answered.

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
