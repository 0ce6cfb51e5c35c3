"""``rankgate online intents``: how unlike the clicks of different users are."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import logs
from rankgate.online.users.intents import intents


@click.command("intents")
@logs
@options_of(intents, "mapping", "min_users N")
@options.form(*FORMS)
@options.output
def command(events: str | tuple[str, ...], form: str, output: str | None, **chosen: Any) -> None:
    """Measure for each query how unlike the clicks of different users are.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online intents events
    rankgate online intents ubi.ndjson --min-users 20 -o intents.html
    """
    print_result(intents(events, **chosen), form, output)
