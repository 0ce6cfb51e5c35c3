"""``rankgate config``: what commands take from the project's file."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.interface.cli.configuration.project_settings import config


@click.command("config")
@options.form(*FORMS)
def command(form: str) -> None:
    """Show the default of each option in this folder, and where it comes from.

    rankgate.toml, or [tool.rankgate] of pyproject.toml, has [defaults] for options and
    [files] for names of files; a command takes @NAME for such a file.

    \b
    rankgate config
    rankgate eval @qrels @production @candidate
    """
    print_result(config(), form)
