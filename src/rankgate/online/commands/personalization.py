"""``rankgate online personalization``: what personal lists give to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options, kpi_option
from rankgate.online.users.personalization import personalization

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("personalization")
@events_argument
@verb_options(personalization, "control VARIANT")
@kpi_option
@verb_options(personalization, "groups FILE", "ranks N")
@events_options(goals=True, figures=True)
@options.form(*FORMS)
@options.output
def command(events: Events, form: str, output: str | None, **arguments: Any) -> None:
    """Compare personal lists with lists that are the same for everybody, by group of users.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online personalization events --control old
    rankgate online personalization events --control old --groups users.csv -k search_ctr
    """
    print_result(personalization(events, **arguments), form, output)
