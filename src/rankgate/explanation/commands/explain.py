"""``rankgate explain``: show how one value came about, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.places import deliver, refuse_clashes
from rankgate.explanation.documents.explanation import FORMS, render
from rankgate.explanation.explain import DEPTH, explain
from rankgate.metrics.plugins import from_file

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
    help="Tell every parameter of the metric, not only those that are other than usual.",
)
@options.form(*FORMS)
@options.output
def command(  # noqa: PLR0917 - click passes them by name
    qrels: str,
    run: str,
    query: str,
    metric: str,
    metrics_from: str | None,
    convention: Convention,
    depth: int,
    all_parameters: bool,  # noqa: FBT001 - a flag of the command line
    form: str,
    output: str | None,
) -> None:
    """Show how the value of one metric for one query of RUN came about.

    \b
    rankgate explain qrels.txt bm25.run --query 7 -m nDCG@10
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes((qrels, run), output)
    extra = from_file(metrics_from)
    result = explain(qrels, run, query, metric, convention, depth=depth, extra=extra)
    deliver(render(result, form, every=all_parameters), output)
