"""The commands ``rankgate explain`` and ``rankgate reconcile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import CONVENTION, SectionedCommand
from rankgate.core.console.terminal_output import print_result, prints
from rankgate.core.declare import Cutoff
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
@own_options("depth", "all_parameters")
@shared_options.form(*FORMS)
@shared_options.output
@of_collection("run")
def explain_command(
    collection: Collection,
    run: str,
    *,
    depth: Cutoff = DEPTH,
    all_parameters: bool = False,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Show how the value of one metric for one query of RUN was computed.

    \b
    rankgate explain qrels.txt bm25.run --query q7 -m nDCG@10
    \f

    Options:
        depth: Show at most this many documents of each list, the most important first.
        all_parameters: Show all parameters of the metric, not only those that differ from the
            defaults.
    """
    result = explain(collection, run, depth=depth, **arguments)
    if form == "json":  # it has every parameter in any case
        print_result(result, form, output)
    else:
        print_result(result, form, output, every=all_parameters)


@click.command("reconcile", cls=SectionedCommand)
@shared_options.qrels
@shared_options.run
@metric_options.metric
@own_options("begin NAME --from", "end NAME --to", kinds=dict.fromkeys(("begin", "end"), CONVENTION))
@verb_options(reconcile, "value NUMBER", kinds={"value": click.STRING})
@of_collection("run", from_flag="--from-format")
@prints
def reconcile_command(
    run: str,
    metric: str,
    *,
    begin: str | None = None,
    end: str | None = None,
    value: str | None,
    collection: Collection,
) -> Result:
    """Score RUN under every convention and explain the differences.

    \b
    rankgate reconcile qrels.txt bm25.run -m nDCG@10
    rankgate reconcile qrels.txt bm25.run -m nDCG@10 --from trec --to esci
    rankgate reconcile qrels.txt bm25.run -m nDCG@10 --value 0.4326
    rankgate reconcile test.qrels.csv knn.run -m Gini@10 --items books.csv
    \f

    Options:
        begin: The convention to start from.
        end: The target convention, reached axis by axis.
    """
    if (begin is None) != (end is None):
        raise UsageError("--from and --to go together; name both conventions.", code="missing-input")
    if begin is not None and value is not None:
        raise UsageError(
            "--value looks through all conventions; leave out --from and --to.", code="conflicting-options"
        )
    if begin is not None and end is not None:
        return bridge(collection, run, metric, begin, end)
    if value is not None:
        return find_reported(collection, run, metric, value)
    return reconcile_metrics(collection, run, metric)
