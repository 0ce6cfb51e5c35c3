"""``rankgate reconcile``: the same data under all conventions, and what separates the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.errors import UsageError
from rankgate.evaluation.commands.list_options import context
from rankgate.explanation.reconcile import bridge, reconcile
from rankgate.explanation.reported import reported
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.evaluation.context import Context
    from rankgate.present.result import Result


@click.command("reconcile")
@options.qrels
@options.run
@options.metric
@click.option("--from", "begin", metavar="NAME", help="The convention to start from.")
@click.option("--to", "end", metavar="NAME", help="The target convention, reached axis by axis.")
@click.option(
    "--value",
    metavar="NUMBER",
    help="Find the conventions that give this reported value.",
)
@context
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    run: str,
    metric: str,
    begin: str | None,
    end: str | None,
    value: str | None,
    context: Context,
    form: str,
    output: str | None,
) -> None:
    """Score RUN under every convention and explain the differences.

    \b
    rankgate reconcile qrels.txt bm25.run -m nDCG@10
    rankgate reconcile qrels.txt bm25.run -m nDCG@10 --from trec --to esci
    rankgate reconcile qrels.txt bm25.run -m nDCG@10 --value 0.4326
    rankgate reconcile test.qrels.csv knn.run -m Gini@10 --items books.csv
    """
    if (begin is None) != (end is None):
        raise UsageError(
            "--from and --to go together; name both conventions.", code="missing-input"
        )
    if begin is not None and value is not None:
        raise UsageError(
            "--value looks through all conventions; leave out --from and --to.",
            code="conflicting-options",
        )
    result: Result
    if begin is not None and end is not None:
        result = bridge(qrels, run, metric, begin, end, context=context)
    elif value is not None:
        result = reported(qrels, run, metric, value, context=context)
    else:
        result = reconcile(qrels, run, metric, context=context)
    print_result(result, form, output)
