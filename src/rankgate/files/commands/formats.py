"""``rankgate formats``: list the formats, or show the details of one."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.output import print_result, print_summary
from rankgate.data.formats import registry
from rankgate.files.format import format_details
from rankgate.files.formats import formats
from rankgate.present.write import FORMS


@click.command("formats")
@click.argument("name", required=False)
@options.form(*FORMS)
def command(name: str | None, form: str) -> None:
    """List the formats that are read and written, or show the details of the one called NAME.

    \b
    rankgate formats trec
    """
    print_result(format_details(name) if name else formats(), form)
    if not name:
        print_summary(registry.of_plugins().problems)
