"""``rankgate snapshot``: what an engine returns for every query, as a run."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.console import options
from rankgate.console.declared_options import options_of
from rankgate.console.output import print_result
from rankgate.console.progress import Progress
from rankgate.engines.queries import queries_of
from rankgate.engines.take import snapshot
from rankgate.present.write import FORMS


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
@options_of(snapshot, "depth N", "concurrency N", "rate", "again", "force", "to FORMAT")
@options.form(*FORMS)
def command(engine: str, queries: str, target: str, form: str, **chosen: Any) -> None:
    """Ask the engine of ENGINE.toml every query, and write what it returns as RUN.

    Each answer is on disk before the next query is asked: after an interruption, the same command
    goes on. Exits with 1 if the engine is down before all queries are asked.

    \b
    rankgate snapshot engine.toml queries.tsv -o new.run
    rankgate snapshot engine.toml queries.tsv -o k1.run --parameter k1=0.9
    rankgate snapshot engine.toml queries.tsv -o new.run --again
    """
    asked = {query.query_id: query.text for query in queries_of(queries)}
    with Progress(len(asked)) as progress:
        result = snapshot(engine, asked, target, on_progress=progress, **chosen)
    print_result(result, form)
    if not result.finished:
        sys.exit(1)
