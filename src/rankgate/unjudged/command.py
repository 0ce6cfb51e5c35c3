"""``rankgate holes``: what unjudged documents could hide, and what to judge next."""

from __future__ import annotations

import click

from rankgate.comparison.commands import options as comparing
from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import deliver, refuse_clashes
from rankgate.console.progress import Progress
from rankgate.present.write import FORMS
from rankgate.scoring import Convention
from rankgate.unjudged.document import pool
from rankgate.unjudged.hole_model import SELECTIONS, Selection
from rankgate.unjudged.holes import DRAWS, holes


@click.command("holes")
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@options.metrics
@options.convention
@comparing.depth
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="The loss that the decision allows.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=DRAWS,
    show_default=True,
    help="Sets of grades that are drawn.",
)
@options.seed
@click.option(
    "--selection",
    type=click.Choice(SELECTIONS),
    default="unknown",
    show_default=True,
    help="How documents to be judged were chosen: by chance, from pools of other systems, or not "
    "known: half of the draws each.",
)
@click.option(
    "--judge-next",
    "count",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many documents to judge next are shown.",
)
@options.form(*FORMS, "pool")
@options.output
def command(
    qrels: str,
    baseline: str,
    candidate: str,
    metrics: tuple[str, ...],
    convention: Convention,
    depth: int,
    margin: float,
    draws: int,
    seed: int,
    selection: Selection,
    count: int,
    form: str,
    output: str | None,
) -> None:
    """Ask what unjudged documents could make of CANDIDATE against BASELINE.

    \b
    rankgate holes qrels.txt old.run new.run -m nDCG@10
    rankgate holes qrels.txt old.run new.run -m nDCG@10 --judge-next 50 --format pool -o pool.csv
    """
    refuse_clashes((qrels, baseline, candidate), output)
    with Progress(2) as progress:
        analysis = holes(
            qrels,
            baseline,
            candidate,
            metrics,
            convention,
            depth=depth,
            margin=margin,
            draws=draws,
            seed=seed,
            selection=selection,
            on_progress=progress,
        )
    if form == "pool":
        deliver(pool(analysis, count), output)
    elif form == "json":
        print_result(analysis, form, output)
    else:
        print_result(analysis, form, output, count=count)
