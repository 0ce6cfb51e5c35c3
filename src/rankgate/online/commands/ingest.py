"""``rankgate online ingest``: logs as one table of events."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.online.events.ingest import ingest
from rankgate.online.events.privacy import Privacy


@click.command("ingest")
@click.argument("logs", type=click.Path(), nargs=-1, required=True, metavar="LOG...")
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(file_okay=False),
    required=True,
    metavar="FOLDER",
    help="The folder of the events; files that are in it are not read again.",
)
@verb_options(ingest, "mapping", "rank_base")
@options.from_formats("logs logs")
@value_options("privacy", Privacy, "queries", "users", "min_users N")
@options.form(*FORMS)
def command(logs: tuple[str, ...], folder: str, form: str, **arguments: Any) -> None:
    """Read LOGs into a folder of events, one Parquet file for each LOG.

    A LOG is a file of User Behavior Insights (JSON lines, CSV, Parquet, also .gz), or any other
    with --mapping FILE.toml. What cannot be read is counted.

    \b
    rankgate online ingest ubi.ndjson -o events
    rankgate online ingest 2026-01-*.csv -o events --mapping log.toml
    rankgate online ingest ubi.ndjson -o events --queries frequent --users hash
    """
    print_result(ingest(logs, folder, **arguments), form)
