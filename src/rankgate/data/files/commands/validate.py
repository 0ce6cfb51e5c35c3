"""``rankgate validate``: everything that is wrong with files of judgments and runs."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import Progress
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.data.files.checklist import checklist
from rankgate.data.files.validate import validate

_INVALID = 2


@click.command("validate")
@click.argument("files", type=click.Path(), nargs=-1, metavar="FILE...")
@options_of(validate, "against QRELS")
@options.from_
@options.as_either
@options.scale
@click.option("--list", "listed", is_flag=True, help="List all checks.")
@options_of(validate, "columns NAME=COLUMN,...")
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
    **chosen: Any,
) -> None:
    """Check each FILE for errors and suspicious data.

    An error stops rankgate from reading or scoring, a warning moves numbers, a note is good to
    know. Each comes with its line, an example and how to fix it. Exits with 2 if there are
    errors, with 0 otherwise.

    \b
    rankgate validate qrels.txt
    rankgate validate bm25.run dense.run --against qrels.txt
    rankgate validate ratings.csv --scale 0..3 --format json
    rankgate validate --list
    """
    form = "text" if form == "table" else form  # its name in earlier versions
    if listed:
        print_result(checklist(), form, output)
        return
    if not files:
        raise UsageError("no file to look at; give at least one, or --list.", code="missing-input")
    with Progress(len(files) + bool(chosen["against"])):
        result = validate(list(files), **chosen)
    print_result(result, form, output)
    ctx.exit(0 if result.valid else _INVALID)
