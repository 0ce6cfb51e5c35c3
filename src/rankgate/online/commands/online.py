"""``rankgate online``: what users did."""

from __future__ import annotations

import click

from rankgate.online.commands import doctor, ingest, judgments, kpi


@click.group("online", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Read logs of users; find their faults; compute KPIs and judgments from clicks.

    \b
    rankgate online doctor log.ndjson
    rankgate online ingest log.ndjson -o events
    rankgate online kpi events --by day
    rankgate online judgments events -o qrels.csv
    """


for each in (ingest, doctor, kpi, judgments):
    command.add_command(each.command)
