"""``rankgate holes``: what unjudged documents could change, and what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.places import write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import TEST, SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.commands import options as comparing
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.unjudged.document import pool_csv
from rankgate.decisions.unjudged.holes import holes
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("holes", cls=SectionedCommand)
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@metric_options.metrics
@metric_options.convention
@verb_options(holes, "depth", "draws")
@value_options("test", Test, "seed", section=TEST)
@comparing.loss_margin("The allowed loss (margin) of the decision.")
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
@of_collection("baseline", "candidate")
def command(
    collection: Collection,
    baseline: str,
    candidate: str,
    count: int,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Estimate how unjudged documents could change the result of CANDIDATE against BASELINE.

    \b
    rankgate holes qrels.txt old.run new.run -m nDCG@10
    rankgate holes qrels.txt old.run new.run -m nDCG@10 --judge-next 50 --format pool -o pool.csv
    """
    with TerminalProgress(2):
        analysis = holes(collection, baseline, candidate, **settings)
    if form == "pool":
        write_output(pool_csv(analysis, count), output)
    elif form == "json":
        print_result(analysis, form, output)
    else:
        print_result(analysis, form, output, count=count)
