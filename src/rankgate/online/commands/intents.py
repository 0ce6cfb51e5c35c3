"""``rankgate online intents``: diversity of the clicks of different users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.users.intents import intents

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("intents")
@events_argument
@verb_options(intents, "min_users N")
@events_options()
@options.form(*FORMS)
@options.output
def command(events: Events, form: str, output: str | None, **arguments: Any) -> None:
    """Measure for each query how much the clicks of different users differ.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online intents events
    rankgate online intents ubi.ndjson --min-users 20 -o intents.html
    """
    print_result(intents(events, **arguments), form, output)
