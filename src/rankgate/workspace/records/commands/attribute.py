"""``rankgate attribute``: system or judge?"""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.workspace.records.attribute import attribute


@click.command("attribute")
@click.argument("old")
@click.argument("new")
@verb_options(attribute, "from_ FOLDER --from", "store URL", "project NAME")
@verb_options(attribute, "metric METRIC -m", "system SYSTEM")
@options.form(*FORMS)
@options.output
def command(old: str, new: str, form: str, output: str | None, **arguments: Any) -> None:
    """Explain why a value changed between the records OLD and NEW: system, judgments or queries.

    A record is named by its number, the first letters of its hash, or its date.

    \b
    rankgate attribute 2026-03-09 2026-03-10 --from history/ -m nDCG@10
    rankgate attribute 1 2 --store sqlite:///judging.db --project shop --system bm25
    """
    print_result(attribute(old, new, **arguments), form, output)
