"""``rankgate online weeks``: satisfaction over weeks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.online.commands.arguments import events_argument, events_options, kpi_option
from rankgate.online.users.weeks import weeks

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("weeks")
@events_argument
@kpi_option
@verb_options(weeks, "qrels")
@metric_options.metrics_option(
    "A ranking metric to correlate with KPIs; may be given several times. Without it nDCG@10."
)
@events_options("judgments qrels", goals=True, figures=True)
@options.form(*FORMS)
@options.output
def command(events: Events, form: str, output: str | None, **arguments: Any) -> None:
    """Follow users over weeks: KPIs, users that come back, novelty, ranking metrics.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online weeks events
    rankgate online weeks events --qrels clicks.csv -m nDCG@10 -o weeks.html
    """
    print_result(weeks(events, **arguments), form, output)
