"""``rankgate explain``: show how one value was computed, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import SectionedCommand
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection
from rankgate.measurement.explanation.explain import DEPTH, explain

if TYPE_CHECKING:
    from rankgate.data.collection import Collection


@click.command("explain", cls=SectionedCommand)
@options.qrels
@options.run
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
@options.form(*FORMS)
@options.output
@of_collection("run")
def command(
    collection: Collection,
    run: str,
    *,
    all_parameters: bool,
    form: str,
    output: str | None,
    **arguments: Any,
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
