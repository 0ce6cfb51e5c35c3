"""``rankgate next``: draw what people or a model judge next to settle a comparison."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.places import deliver
from rankgate.core.console.progress import Progress
from rankgate.core.present.write import FORMS
from rankgate.decisions.advice.settling.settle import settle
from rankgate.measurement import metric_options


@click.command("next")
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@options_of(
    settle, "predicted QRELS", "predicted_saw QRELS|none|unknown", "people QRELS", "sample FILE"
)
@click.option(
    "-m", "--metric", default="DCG@10", show_default=True, metavar="METRIC",
    help="A metric that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.",
)  # fmt: skip
@metric_options.convention
@options_of(settle, "margin", "level", "power", "looks", "budget")
@click.option(
    "--price", "prices", multiple=True, metavar="NAME=NUMBER",
    help="What a document costs that people judge (human=1) or a model judges (model=0.01), and a "
    "query that people begin with (query=0); may be given several times.",
)  # fmt: skip
@options.seed
@click.option(
    "--save-sample", type=click.Path(), metavar="FILE",
    help="Write the sample to FILE: compare --sample and gate --sample take it.",
)  # fmt: skip
@click.option(
    "--save-batch", type=click.Path(), metavar="FILE",
    help="Write what is judged next to FILE, with who judges it: sheet and rate take it.",
)  # fmt: skip
@options.form(*FORMS)
@options.output
def command(
    baseline: str,
    candidate: str,
    *,
    save_sample: str | None,
    save_batch: str | None,
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Draw what people or a model should judge next to settle a comparison.

    Each batch is a random sample with known chances, so that estimates keep no bias. Prices decide
    between more documents and more queries for people, and more queries for the model.

    \b
    rankgate next old.run new.run --predicted model.qrels --save-sample sample.csv \\
        --save-batch batch.csv
    rankgate next old.run new.run --predicted model.qrels --people people.qrels \\
        --sample sample.csv --save-sample sample2.csv --price human=0.5 --price query=3
    """
    with Progress(3):
        result = settle(baseline, candidate, **chosen)
    if save_sample:
        deliver(result.sample.write_csv(), save_sample)
    if save_batch:
        deliver(result.batch.write_csv(), save_batch)
    print_result(result, form, output)
