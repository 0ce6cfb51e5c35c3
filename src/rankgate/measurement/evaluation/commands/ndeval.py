"""``rankgate ndeval``: ndeval's options, ndeval's output."""

from __future__ import annotations

import click

from rankgate.measurement.evaluation.commands.web_track import web_track_options
from rankgate.measurement.evaluation.web_track.ndeval import ndeval


@click.command("ndeval")
@web_track_options("ndeval")
@click.option(
    "-alpha",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="How much less another document on a subtopic is worth.",
)
@click.option(
    "-beta",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="The chance to look at the next document, for NRBP.",
)
@click.option("-traditional", is_flag=True, help="Order by score and document, not by rank.")
@click.option(
    "-M",
    "depth",
    type=click.IntRange(1),
    metavar="DEPTH",
    help="How many documents of each topic count.",
)
def command(qrels: str, run: str, **arguments: object) -> None:
    """Print what ndeval prints: novelty and diversity of a run of the TREC web track, as CSV.

    QRELS has lines of topic, subtopic, document, grade.

    \b
    rankgate ndeval diversity.qrels bm25.run
    rankgate ndeval -traditional -c -alpha 0.7 diversity.qrels bm25.run
    """
    for line in ndeval(qrels, run, **arguments):  # type: ignore[arg-type]
        click.echo(line)
