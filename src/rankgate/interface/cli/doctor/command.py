"""``rankgate doctor``: look at the installation and the project."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rankgate.core.console import options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.interface.cli.doctor.examine import doctor
from rankgate.interface.cli.doctor.team import TEAMS


@click.command("doctor", cls=DefiningCommand, definitions={"Teams": TEAMS.items()})
@click.argument("folder", type=click.Path(exists=True, file_okay=False), default=".")
@click.option(
    "--team",
    type=click.Choice(list(TEAMS)),
    metavar="TEAM",
    help="Also say what evaluation lacks that a team of this size can afford (see Teams below).",
)
@options.form(*FORMS)
def command(folder: str, team: str | None, form: str) -> None:
    """Check the installation and the project in FOLDER; say how to fix what would fail.

    Exits with 2 if something is wrong; what is only missing is no error.

    \b
    rankgate doctor
    rankgate doctor --team startup
    """
    result = doctor(Path(folder), team)
    print_result(result, form)
    if result.wrong:
        sys.exit(2)
