"""The commands ``rankgate explain`` and ``rankgate reconcile``.

``rankgate explain`` shows how one value was computed, document by document. ``rankgate
reconcile`` scores the same data under all conventions, and shows what separates the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.option_types import CONVENTION, SectionedCommand
from rankgate.core.console.terminal_output import print_result
from rankgate.core.declare import declared_parameter
from rankgate.core.errors import UsageError
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.explanation.explain import DEPTH, explain
from rankgate.measurement.explanation.reconcile import bridge, find_reported, reconcile, reconcile_metrics

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


@click.command("explain", cls=SectionedCommand)
@shared_options.qrels
@shared_options.run
@verb_options(explain, "query ID")
@metric_options.metric
@metric_options.metrics_from
@metric_options.convention
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="Show at most this many documents of each list, the most important first.",
)
@click.option(
    "--all-parameters",
    is_flag=True,
    help="Show all parameters of the metric, not only those that differ from the defaults.",
)
@shared_options.form(*FORMS)
@shared_options.output
@of_collection("run")
def explain_command(
    collection: Collection, run: str, *, all_parameters: bool, form: str, output: str | None, **arguments: Any
) -> None:
    """Show how the value of one metric for one query of RUN was computed.

    \b
    rankgate explain qrels.txt bm25.run --query q7 -m nDCG@10
    """
    result = explain(collection, run, **arguments)
    if form == "json":  # it has every parameter in any case
        print_result(result, form, output)
    else:
        print_result(result, form, output, every=all_parameters)


@click.command("reconcile", cls=SectionedCommand)
@shared_options.qrels
@shared_options.run
@metric_options.metric
@click.option("--from", "begin", metavar="NAME", type=CONVENTION, help="The convention to start from.")
@click.option(
    "--to", "end", metavar="NAME", type=CONVENTION, help="The target convention, reached axis by axis."
)
@click.option("--value", metavar="NUMBER", help=declared_parameter(reconcile, "value").sentence)
@of_collection("run", from_flag="--from-format")
@shared_options.form(*FORMS)
@shared_options.output
def reconcile_command(
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
        raise UsageError("--from and --to go together; name both conventions.", code="missing-input")
    if begin is not None and value is not None:
        raise UsageError(
            "--value looks through all conventions; leave out --from and --to.", code="conflicting-options"
        )
    result: Result
    if begin is not None and end is not None:
        result = bridge(collection, run, metric, begin, end)
    elif value is not None:
        result = find_reported(collection, run, metric, value)
    else:
        result = reconcile_metrics(collection, run, metric)
    print_result(result, form, output)
