"""``rankgate sheet``: create rating sheets from a pool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.places import check_paths, input_paths
from rankgate.judging.sheets.sheets import FORMS, Form, sheets


@click.command("sheet")
@click.argument("pool", type=click.Path())
@click.option(
    "--raters",
    required=True,
    metavar="NAME,...",
    help="The raters' names; with several, -o is a folder with one file each.",
)
@verb_options(sheets, "scale SCALE", "per_document N", "overlap SHARE", "queries", "documents")
@verb_options(sheets, "guideline VERSION", "show")
@options.from_formats("pools pool", "queries queries", "documents documents", "ratings show")
@options.seed
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="csv",
    show_default=True,
    help="The file format of the sheets.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE|FOLDER",
    type=click.Path(),
    help="Write the sheet to FILE, or one sheet per rater into FOLDER.",
)
def command(pool: str, raters: str, form: Form, output: str, **arguments: Any) -> None:
    """Create rating sheets from POOL: one per rater, in random order, without systems and ranks.

    Spreadsheet programs read no cell as a formula; rankgate collect reports ids that they changed.

    \b
    rankgate sheet pool.csv --raters ann -o ann.csv
    rankgate sheet pool.csv --raters ann,bob,cyd --overlap 0.2 --format xlsx -o sheets
    rankgate sheet differ.csv --raters dan --show ratings.jsonl -o dan.csv
    """
    if not Path(output).is_dir():
        check_paths(input_paths(), output)
    names = [name.strip() for name in raters.split(",")]
    result = sheets(pool, names, **arguments)
    paths = result.write(output, form)
    for name, path in zip(result.tables, paths, strict=True):
        click.echo(f"{path}: {len(result.tables[name][1])} documents for {name}", err=True)
    if len(paths) > 1:
        click.echo(f"rated by two or more: {result.doubled}", err=True)
