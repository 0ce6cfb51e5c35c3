"""``rankgate metrics``: list the metrics, or read one's passport."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver
from rankgate.console.terminal import styled, width
from rankgate.evaluation.documents.metric_details import FORMS, render, render_all
from rankgate.evaluation.metric_details import passport, passports
from rankgate.metrics.plugins import from_file


@click.command("metrics")
@click.argument("name", required=False)
@options.metrics_from
@options.form(*FORMS)
def command(name: str | None, metrics_from: str | None, form: str) -> None:
    """List the metrics, or read the passport of the one called NAME.

    \b
    rankgate metrics nDCG
    """
    extra = from_file(metrics_from)
    if name is None:
        deliver(render_all(passports(extra), form, width()))
    else:
        deliver(styled(render(passport(name, extra), form, width()), form))
