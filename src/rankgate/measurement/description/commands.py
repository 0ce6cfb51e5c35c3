"""``rankgate describe``: the format and contents of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.terminal_output import TerminalProgress, prints
from rankgate.measurement.description.describe import describe

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result


@click.command("describe")
@shared_options.paths("files... FILE...")
@shared_options.from_option
@shared_options.as_kind
@verb_options(describe, "cutoff -k")
@shared_options.table_columns
@prints
def describe_command(files: tuple[str, ...], **arguments: Any) -> Result:
    """Show what each FILE holds: format, queries, documents, grades, ties, hashes.

    For several files also what they have in common, and which share of the first documents of
    the runs is judged.

    \b
    rankgate describe ratings.csv
    rankgate describe qrels.txt bm25.run dense.run -k 20
    """
    with TerminalProgress(len(files)):
        return describe(list(files), **arguments)
