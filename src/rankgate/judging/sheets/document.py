"""Ratings that came back in sheets, as lines of JSON or CSV, and what was left empty."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rankgate.files.checks.declare import counted
from rankgate.present.document import Document, PlainRows, Points
from rankgate.present.document import document as made
from rankgate.present.forms import as_csv
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import wrapped
from rankgate.present.grid import printable

if TYPE_CHECKING:
    from rankgate.judging.sheets.collected import CollectedRatings

FORMS = ("jsonl", "csv")
"""The forms of ratings, by the name that ``--format`` takes."""


def render(result: CollectedRatings, form: str) -> str:
    """The ratings in one of `FORMS`."""
    rows = result.to_dict()["ratings"]
    if form == "csv":
        head = list(result.table.drop("at", "seconds").columns)
        return as_csv.unguarded(head, [[row[name] for name in head] for row in rows])
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def document(result: CollectedRatings) -> Document:
    """How many ratings there are, and what was left empty; CSV has the ratings."""
    first, *more = _lines(result)
    table = result.table.drop("at", "seconds")
    return made(first, Points(tuple(more)), rows=PlainRows(tuple(table.columns), table.rows()))


def summary(result: CollectedRatings, added: int | None = None, width: int = WIDTH) -> str:
    """A few lines for the person who ran the command; how many were added to a file."""
    lines = _lines(result, added)
    return "\n".join(part for line in lines for part in wrapped(line, width)) + "\n"


def _lines(result: CollectedRatings, added: int | None = None) -> list[str]:
    table = result.table
    graded = len(table) - table["grade"].null_count()
    unsure = len(table) - graded
    raters = table["rater"].n_unique()
    lines = [
        f"{counted(graded, 'grade')} by {counted(raters, 'rater')}; {unsure} could not be graded"
    ]
    if added is not None and added < len(table):
        lines.append(f"added: {added}; the others are in the file already")
    for note in result.notes:
        shown = ", ".join(map(printable, note.examples))
        more = ", …" if note.count > len(note.examples) else ""
        lines.append(f"{note.what}: {note.count} ({shown}{more})")
    return lines
