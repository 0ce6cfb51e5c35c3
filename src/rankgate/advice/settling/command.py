"""``rankgate next``: draw the documents that settle a comparison for the least cost."""

from __future__ import annotations

from typing import Any

import click

from rankgate.advice.settling.settle import settle
from rankgate.console import options
from rankgate.console.declared_options import options_of
from rankgate.console.output import print_result
from rankgate.console.places import deliver
from rankgate.console.progress import Progress
from rankgate.present.write import FORMS


@click.command("next")
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path())
@options_of(settle, "predicted QRELS", "people QRELS", "sample FILE")
@click.option(
    "-m", "--metric", default="DCG@10", show_default=True, metavar="METRIC",
    help="A metric that is a sum over documents: DCG@10, SDCG@10, P@10, RBP.",
)  # fmt: skip
@options.convention
@options_of(settle, "margin", "level", "power", "looks", "budget")
@click.option(
    "--price", "prices", multiple=True, metavar="NAME=NUMBER",
    help="What a document that people judge costs (document=1), a query (query=0) and a document "
    "that the model judges (call=0.01); may be given several times.",
)  # fmt: skip
@options.seed
@click.option(
    "--save-sample", type=click.Path(), metavar="FILE",
    help="Write the sample to FILE: compare --sample and gate --sample take it.",
)  # fmt: skip
@click.option(
    "--save-batch", type=click.Path(), metavar="FILE",
    help="Write the new documents to FILE: sheet and rate take it.",
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
    """Draw the documents that people should judge next to settle a comparison.

    Each batch is a random sample with known chances, so that estimates keep no bias.

    \b
    rankgate next old.run new.run --predicted model.qrels --save-sample sample.csv \\
        --save-batch batch.csv
    rankgate next old.run new.run --predicted model.qrels --people people.qrels \\
        --sample sample.csv --save-sample sample2.csv --price document=0.5 --price query=3
    """
    with Progress(3) as progress:
        result = settle(baseline, candidate, on_progress=progress, **chosen)
    if save_sample:
        deliver(result.sample.write_csv(), save_sample)
    if save_batch:
        deliver(result.batch.write_csv(), save_batch)
    print_result(result, form, output)
