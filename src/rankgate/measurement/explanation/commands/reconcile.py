"""``rankgate reconcile``: the same data under all conventions, and what separates the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import CONVENTION
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.explanation.reconcile import bridge, reconcile
from rankgate.measurement.explanation.reported import find_reported

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.data.collection import Collection


@click.command("reconcile", cls=SectionedCommand)
@options.qrels
@options.run
@metric_options.metric
@click.option(
    "--from", "begin", metavar="NAME", type=CONVENTION, help="The convention to start from."
)
@click.option(
    "--to",
    "end",
    metavar="NAME",
    type=CONVENTION,
    help="The target convention, reached axis by axis.",
)
@click.option(
    "--value",
    metavar="NUMBER",
    help="Find the conventions that give this reported value.",
)
@of_collection("run", from_flag="--from-format")
@options.form(*FORMS)
@options.output
def command(
    run: str,
    metric: str,
    begin: str | None,
    end: str | None,
    value: str | None,
    collection: Collection,
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
        result = bridge(collection, run, metric, begin, end)
    elif value is not None:
        result = find_reported(collection, run, metric, value)
    else:
        result = reconcile(collection, run, metric)
    print_result(result, form, output)
