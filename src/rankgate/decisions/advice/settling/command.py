"""``rankgate next``: draw what people or a model judge next to settle a comparison."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.name_types import METRIC
from rankgate.core.console.output import print_result
from rankgate.core.console.places import write_output
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.console.sections import TEST, SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.decisions.advice.settling.settle import settle
from rankgate.decisions.comparison.commands import options as comparing
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


def _add_people_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Pass ``--people`` as the collection's judgments, and ``--budget`` as one of the prices."""

    @functools.wraps(function)
    def with_judgments(
        *args: Any, people: str | None, prices: tuple[str, ...], budget: int | None, **options: Any
    ) -> object:
        if budget is not None:
            prices = (*prices, f"budget={budget}")
        return function(*args, qrels=people, prices=prices, **options)

    return with_judgments


@click.command("next", cls=SectionedCommand)
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@click.option(
    "--people",
    type=click.Path(),
    metavar="QRELS",
    help="People's judgments of all documents drawn so far; none for the first batch.",
)
@click.option(
    "-m",
    "--metric",
    default="DCG@10",
    show_default=True,
    metavar="METRIC",
    type=METRIC,
    help="A metric that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.",
)
@metric_options.convention
@verb_options(settle, "looks")
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    help="The most documents in a batch that people judge.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="NAME=NUMBER",
    help="What a document costs that people judge (human=1) or a model judges (model=0.01), and a "
    "query that people begin with (query=0); may be given several times.",
)
@click.option(
    "--save-sample",
    type=click.Path(),
    metavar="FILE",
    help="Write the sample to FILE: compare --sample and gate --sample take it.",
)
@click.option(
    "--save-batch",
    type=click.Path(),
    metavar="FILE",
    help="Write what is judged next to FILE, with who judges it: sheet and rate take it.",
)
@value_options("test", Test, "level", "power", "seed", section=TEST)
@comparing.loss_margin("A loss that does not matter; 0 asks which system is better.")
@options.form(*FORMS)
@options.output
@_add_people_options
@of_collection("baseline", "candidate")
def command(
    collection: Collection,
    baseline: str,
    candidate: str,
    *,
    save_sample: str | None,
    save_batch: str | None,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Select what people or a model should judge next, to decide a comparison.

    Each batch is a random sample with known chances, so that estimates keep no bias. Prices decide
    between more documents and more queries for people, and more queries for the model.

    \b
    rankgate next old.run new.run --predicted model.qrels --save-sample sample.csv \\
        --save-batch batch.csv
    rankgate next old.run new.run --predicted model.qrels --people people.qrels \\
        --sample sample.csv --save-sample sample2.csv --price human=0.5 --price query=3
    """
    with TerminalProgress(3):
        result = settle(collection, baseline, candidate, **settings)
    if save_sample:
        write_output(result.sample.write_csv(), save_sample)
    if save_batch:
        write_output(result.batch.write_csv(), save_batch)
    print_result(result, form, output)
