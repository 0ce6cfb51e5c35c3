"""``rankgate metrics``: list the metrics, or show the details of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.output import print_result, print_summary
from rankgate.evaluation.metric import metric_details
from rankgate.evaluation.metrics import metrics
from rankgate.metrics.names import of_plugins
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.metrics.declare import Metric


@click.command("metrics")
@click.argument("name", required=False)
@options.metrics_from
@options.form(*FORMS)
def command(name: str | None, extra: tuple[Metric, ...], form: str) -> None:
    """List the metrics, or show the details of the one called NAME.

    \b
    rankgate metrics nDCG
    """
    print_result(metric_details(name, extra) if name else metrics(extra), form)
    if not name:
        print_summary(of_plugins().problems)
