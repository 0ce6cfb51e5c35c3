"""``rankgate collect``: the ratings in sheets that came back."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.places import check_paths, input_paths, write_output
from rankgate.judging.sheets.collected import collect
from rankgate.judging.sheets.document import lines_of_json, summary


@click.command("collect")
@click.argument("sheets", type=click.Path(), nargs=-1, required=True, metavar="SHEET...")
@verb_options(collect, "pool", "scale SCALE", "rater NAME")
@options.from_formats("sheets sheets", "pools pool")
@options.form("jsonl", "csv")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write to FILE instead of to standard output; new ratings are appended to an existing "
    "JSONL file, without repeating any.",
)
def command(sheets: tuple[str, ...], form: str, output: str | None, **arguments: Any) -> None:
    """Read filled rating SHEETs and report every error in them.

    Rows without a grade are unrated. Nothing is guessed: ids that became dates or lost their
    zeros, grades that are not on the scale, rows that were added, or a rater who rates a document
    twice are errors, with the line.

    \b
    rankgate collect sheets/*.csv --pool pool.csv -o ratings.jsonl
    rankgate agree ratings.jsonl
    """
    check_paths(input_paths(), output)
    result = collect(sheets, **arguments)
    added = None
    if form == "jsonl" and output not in {None, "-"}:
        added = result.add_to(output)
    elif form == "jsonl":
        write_output(lines_of_json(result), output)
    else:
        print_result(result, form, output)
    print_summary(summary(result, added))
