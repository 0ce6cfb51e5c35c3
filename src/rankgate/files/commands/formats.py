"""``rankgate formats``: list the formats, or read what one is."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver
from rankgate.console.terminal import styled, width
from rankgate.files.documents.formats import FORMS, render, render_all
from rankgate.files.formats import format_facts


@click.command("formats")
@click.argument("name", required=False)
@options.form(*FORMS)
def command(name: str | None, form: str) -> None:
    """List the formats that are read and written, or read what the one called NAME is.

    \b
    rankgate formats trec
    """
    facts = format_facts(name)
    if name is None:
        deliver(render_all(facts, form, width()))
    else:
        deliver(styled(render(facts[0], form, width()), form))
