"""The command ``rankgate metrics``: the list of metrics, and the details of one."""

from __future__ import annotations

import click

from rankgate.core.console import shared_options
from rankgate.core.console.option_types import METRIC
from rankgate.core.console.terminal_output import (
    print_result,
    print_summary,
)
from rankgate.core.present.write_results import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.metrics.metric_name_parser import of_plugins as metrics_of_plugins


@click.command("metrics")
@click.argument("name", required=False, type=METRIC)
@metric_options.metrics_from
@shared_options.form(*FORMS)
def metrics_command(name: str | None, form: str) -> None:
    """List the metrics, or show the details of the one called NAME.

    \b
    rankgate metrics nDCG
    """
    print_result(metric_details(name) if name else metrics(), form)
    if not name:
        print_summary(metrics_of_plugins().problems)
