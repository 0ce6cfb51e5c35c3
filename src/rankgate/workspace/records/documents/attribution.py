"""An attribution as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.workspace.records.attribution import Attribution

_ANSWERS = {
    "several": "several causes",
    "none": "nothing changed",
    "unknown": "the cause is not known",
}


def attribution_document(result: Attribution) -> Document:
    """The main cause, and a row for each cause."""
    rows = tuple(
        (
            row["cause"],
            row["changed"],
            "–" if row["part"] is None else f"{row['part']:+.4f}",
            row["evidence"],
        )
        for row in result.parts.iter_rows(named=True)
    )
    answer = _ANSWERS.get(result.answer, f"mostly the {result.answer}")
    return made(
        f"{result.metric} of {make_printable(result.system)}: {result.before:.4f} to "
        f"{result.after:.4f}, {result.delta:+.4f}: {answer}",
        Table("", Grid(("cause", "changed", "part", "why"), rows, frozenset({0, 1, 3}))),
        Warnings(result.warnings),
        rows=PlainRows(tuple(result.parts.columns), list(result.parts.iter_rows())),
    )
