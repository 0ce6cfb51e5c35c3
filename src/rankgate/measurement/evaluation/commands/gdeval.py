"""``rankgate gdeval``: gdeval's options, gdeval's output."""

from __future__ import annotations

import click

from rankgate.measurement.evaluation.commands.web_track import web_track_options
from rankgate.measurement.evaluation.web_track.gdeval import gdeval


@click.command("gdeval")
@web_track_options("gdeval")
@click.option(
    "-k",
    "cutoff",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="K",
    help="How many documents of each topic count.",
)
def command(qrels: str, run: str, **arguments: object) -> None:
    """Print what gdeval prints: nDCG and ERR of a run of the TREC web track, as CSV.

    \b
    rankgate gdeval qrels.txt bm25.run
    rankgate gdeval -c -k 10 qrels.txt bm25.run
    """
    for line in gdeval(qrels, run, **arguments):  # type: ignore[arg-type]
        click.echo(line)
