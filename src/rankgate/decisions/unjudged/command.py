"""``rankgate holes``: what unjudged documents could change, and what to judge next."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.places import deliver
from rankgate.core.console.progress import Progress
from rankgate.core.present.write import FORMS
from rankgate.decisions.unjudged.document import pool
from rankgate.decisions.unjudged.hole_model import SELECTIONS
from rankgate.decisions.unjudged.holes import holes
from rankgate.measurement import metric_options


@click.command("holes")
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@metric_options.metrics
@metric_options.convention
@options_of(holes, "depth", "margin", "draws")
@options.seed
@options_of(holes, "selection", choices={"selection": SELECTIONS})
@click.option(
    "--judge-next",
    "count",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many documents to suggest for judging next.",
)
@options.form(*FORMS, "pool")
@options.output
def command(
    qrels: str,
    baseline: str,
    candidate: str,
    count: int,
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Estimate how unjudged documents could change the result of CANDIDATE against BASELINE.

    \b
    rankgate holes qrels.txt old.run new.run -m nDCG@10
    rankgate holes qrels.txt old.run new.run -m nDCG@10 --judge-next 50 --format pool -o pool.csv
    """
    with Progress(2):
        analysis = holes(qrels, baseline, candidate, **chosen)
    if form == "pool":
        deliver(pool(analysis, count), output)
    elif form == "json":
        print_result(analysis, form, output)
    else:
        print_result(analysis, form, output, count=count)
