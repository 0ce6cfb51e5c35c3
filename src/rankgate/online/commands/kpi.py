"""``rankgate online kpi``: what users did, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import on_backend
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.recording import recordable
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_options, logs
from rankgate.online.indicators.catalogue import KPIS, SLICES
from rankgate.online.indicators.compute import kpi

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command(
    "kpi",
    cls=DefiningCommand,
    definitions={"KPIs": [(each.name, each.title) for each in KPIS.values()]},
)
@logs
@click.option(
    "-k",
    "--kpi",
    "names",
    multiple=True,
    metavar="KPI",
    help="A KPI such as search_ctr; may be given several times. Without it all.",
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(list(SLICES)),
    default=("day",),
    show_default=True,
    help="What divides the log; band is the frequency of the query; may be given several times.",
)
@events_options(goals=True, figures=True)
@recordable
@options.form(*FORMS)
@options.output
@on_backend("kpi")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: Events,
    names: tuple[str, ...],
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Compute KPIs of a log, after the log doctor.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. A KPI
    that a fault of the log makes wrong is not given; exit code 3: no KPI is.

    \b
    rankgate online kpi events --by day --by band
    rankgate online kpi ubi.ndjson -k search_ctr -k abandonment_rate --format json
    rankgate online kpi events --by position -o kpi.html
    """  # fmt: skip
    result = kpi(events, names, **chosen)
    print_result(result, form, output)
    ctx.exit(result.status)
