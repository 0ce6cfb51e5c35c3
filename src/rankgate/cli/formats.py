"""``rankgate formats``: list the formats, or read what one is."""

from __future__ import annotations

import click

from rankgate import services
from rankgate.cli import options
from rankgate.cli.places import deliver
from rankgate.cli.terminal import styled, width
from rankgate.report.formats import FORMS, render, render_all


@click.command("formats")
@click.argument("name", required=False)
@options.form(*FORMS)
def command(name: str | None, form: str) -> None:
    """List the formats that are read and written, or read what the one called NAME is.

    \b
    rankgate formats trec
    """  # noqa: D301 - click needs the character that \b makes
    facts = services.format_facts(name)
    if name is None:
        deliver(render_all(facts, form, width()))
    else:
        deliver(styled(render(facts[0], form, width()), form))
