"""``rankgate validate``: find problems in files of judgments and runs."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.data.files.checklist import make_checklist
from rankgate.data.files.validate import validate

_INVALID = 2


@click.command("validate")
@click.argument("files", type=click.Path(), nargs=-1, metavar="FILE...")
@verb_options(validate, "against QRELS")
@options.from_option
@options.as_kind
@options.scale
@click.option("--list", "listed", is_flag=True, help="List all checks.")
@options.table_columns
@options.form(*FORMS, "table")
@options.output
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    listed: bool,
    form: str,
    output: str | None,
    **settings: Any,
) -> None:
    """Check each FILE for errors and suspicious data.

    An error stops rankgate from reading or scoring, a warning can change numbers, a note is for
    information. Each has its line, an example and how to fix it. Exits with 2 if there are
    errors, with 0 otherwise.

    \b
    rankgate validate qrels.txt
    rankgate validate bm25.run dense.run --against qrels.txt
    rankgate validate ratings.csv --scale 0..3 --format json
    rankgate validate --list
    """
    form = "text" if form == "table" else form  # its name in earlier versions
    if listed:
        print_result(make_checklist(), form, output)
        return
    if not files:
        raise UsageError("no file to look at; give at least one, or --list.", code="missing-input")
    with TerminalProgress(len(files) + bool(settings["against"])):
        result = validate(list(files), **settings)
    print_result(result, form, output)
    ctx.exit(0 if result.valid else _INVALID)
