"""``rankgate formats``: list the formats, or show the details of one."""

from __future__ import annotations

import click

from rankgate.core.console import options
from rankgate.core.console.name_types import FORMAT
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.present.write import FORMS
from rankgate.data.files.format import format_details
from rankgate.data.files.formats import formats
from rankgate.data.formats import registry


@click.command("formats")
@click.argument("name", required=False, type=FORMAT)
@options.form(*FORMS)
def command(name: str | None, form: str) -> None:
    """List the formats that are read and written, or show the details of the one called NAME.

    \b
    rankgate formats trec
    """
    print_result(format_details(name) if name else formats(), form)
    if not name:
        print_summary(registry.load_plugin_formats().problems)
