"""``rankgate online doctor``: faults of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.faults.diagnose import doctor

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("doctor")
@events_argument
@verb_options(doctor, "split")
@events_options()
@options.form(*FORMS)
@options.output
def command(
    events: Events,
    split: Mapping[str, float] | None,
    form: str,
    output: str | None,
) -> None:
    """Find faults in a log, and the KPIs that they make wrong.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs.

    \b
    rankgate online doctor ubi.ndjson
    rankgate online doctor events --split old=0.9 --split new=0.1
    """
    print_result(doctor(events, split=split), form, output)
