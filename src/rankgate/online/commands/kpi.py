"""``rankgate online kpi``: what users did, in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import backend_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.name_types import KPI
from rankgate.core.console.output import print_result
from rankgate.core.console.recording import with_record_option
from rankgate.core.present.write import FORMS
from rankgate.data.spark_tables import is_on_spark
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.indicators.catalogue import KPIS, SLICES
from rankgate.online.indicators.compute import kpi

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command(
    "kpi",
    cls=DefiningCommand,
    definitions={"KPIs": [(indicator.name, indicator.title) for indicator in KPIS.values()]},
)
@events_argument
@click.option(
    "-k",
    "--kpi",
    "names",
    multiple=True,
    metavar="KPI",
    type=KPI,
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
@with_record_option
@options.form(*FORMS)
@options.output
@backend_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    events: Events,
    names: tuple[str, ...],
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Compute KPIs of a log, after a check for faults.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. A KPI
    that a fault of the log makes wrong is not given; exit code 3: none is left. On Spark there
    is no check for faults.

    \b
    rankgate online kpi events --by day --by band
    rankgate online kpi ubi.ndjson -k search_ctr -k abandonment_rate --format json
    rankgate online kpi events --by position -o kpi.html
    """
    result = kpi(events, names, checks=not is_on_spark(events.log), **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)
