"""``rankgate plugins``: list the plug-ins."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.interface.cli.plugins.installed_plugins import plugins


@click.command("plugins")
@options.form(*FORMS)
def command(form: str) -> None:
    """List the plug-ins: where they are from, what they add, and their errors.

    Packages are found by their entry points; files are those of --plugin.

    \b
    rankgate plugins
    rankgate --plugin mine.py plugins
    """
    print_result(plugins(), form)
