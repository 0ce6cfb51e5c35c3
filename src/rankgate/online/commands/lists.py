"""``rankgate online lists``: what users were shown, as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_argument, events_options
from rankgate.online.shown.lists import lists

if TYPE_CHECKING:
    from rankgate.online.events.events import Events


@click.command("lists")
@events_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="RUN",
    type=click.Path(writable=True),
    required=True,
    help="Write the run to RUN.",
)
@verb_options(lists, "to FORMAT", "choose", "variant", "ranks N", "name")
@events_options()
@options.form(*FORMS)
def command(events: Events, target: str, form: str, **arguments: Any) -> None:
    """Write the lists that users were shown as a run.

    EVENTS is a folder that rankgate online ingest made, a table of events, or files of logs. Query
    ids are the texts of queries, as in the judgments that rankgate online judgments writes.

    \b
    rankgate online lists events -o shown.csv
    rankgate online lists events --variant new --choose latest -o new.csv
    rankgate eval clicks.csv shown.csv -m nDCG@10
    """
    check_paths(input_paths(), target)
    print_result(lists(events, output=target, **arguments), form)
