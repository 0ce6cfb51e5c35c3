"""``rankgate metrics``: list the metrics, or read one's passport."""

from __future__ import annotations

import click

from rankgate import services
from rankgate.cli import options
from rankgate.cli.places import deliver
from rankgate.cli.terminal import styled, width
from rankgate.report.passports import FORMS, render, render_all


@click.command("metrics")
@click.argument("name", required=False)
@options.metrics_from
@options.form(*FORMS)
def command(name: str | None, metrics_from: str | None, form: str) -> None:
    """List the metrics, or read the passport of the one called NAME.

    \b
    rankgate metrics nDCG
    """  # noqa: D301 - click needs the character that \b makes
    extra = services.metrics_from(metrics_from)
    if name is None:
        deliver(render_all(services.passports(extra), form, width()))
    else:
        deliver(styled(render(services.passport(name, extra), form, width()), form))
