"""``rankgate explain``: show how one value came about, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.explanation.explain import DEPTH, explain
from rankgate.metrics.plugins import from_file
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.scoring import Convention


@click.command("explain")
@options.qrels
@options.run
@click.option("--query", required=True, metavar="ID", help="The id of the query.")
@options.metric
@options.metrics_from
@options.convention
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="Show at most this many documents of each list, those that matter first.",
)
@click.option(
    "--all-parameters",
    is_flag=True,
    help="Show every parameter of the metric, not only those that differ from the usual values.",
)
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    run: str,
    query: str,
    metric: str,
    metrics_from: str | None,
    convention: Convention,
    depth: int,
    all_parameters: bool,
    form: str,
    output: str | None,
) -> None:
    """Show how the value of one metric for one query of RUN was computed.

    \b
    rankgate explain qrels.txt bm25.run --query 7 -m nDCG@10
    """
    refuse_clashes((qrels, run), output)
    extra = from_file(metrics_from)
    result = explain(qrels, run, query, metric, convention, depth=depth, extra=extra)
    if form == "json":  # it has every parameter in any case
        print_result(result, form, output)
    else:
        print_result(result, form, output, every=all_parameters)
