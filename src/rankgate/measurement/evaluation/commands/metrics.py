"""``rankgate metrics``: list the metrics, or show the details of one."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import METRIC
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.metric import metric_details
from rankgate.measurement.evaluation.metrics import metrics
from rankgate.measurement.metrics.names import of_plugins


@click.command("metrics")
@click.argument("name", required=False, type=METRIC)
@metric_options.metrics_from
@options.form(*FORMS)
def command(name: str | None, form: str) -> None:
    """List the metrics, or show the details of the one called NAME.

    \b
    rankgate metrics nDCG
    """
    print_result(metric_details(name) if name else metrics(), form)
    if not name:
        print_summary(of_plugins().problems)
