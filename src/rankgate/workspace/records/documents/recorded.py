"""Recorded evaluations as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.workspace.records.recorded import Recorded

_REVISION = 12


def document(result: Recorded) -> Document:
    """How many are new, and a row for each."""
    table = result.records
    new, known = int(table["new"].sum()), int((~table["new"]).sum())
    words = [f"{new} recorded"] if new or not known else []
    words += [f"{known} recorded before"] if known else []
    rows = tuple(
        (
            row["record"], row["evaluated_at"][:16].replace("T", " "), row["kind"],
            printable(row["system"]), _short(row["revision"]), row["verdict"] or "",
            f"{row['figures']:,}", f"{row['queries']:,}", "" if row["new"] else "recorded before",
        )
        for row in table.iter_rows(named=True)
    )  # fmt: skip
    head = ("record", "evaluated (UTC)", "kind", "system", "revision", "verdict", "figures",
            "queries", "")  # fmt: skip
    return made(
        f"{', '.join(words)} in {result.place}",
        Table("", Grid(head, rows, frozenset({0, 1, 2, 3, 4, 5, 8}))),
        Warnings(tuple(each.text for each in result.notices)),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _short(revision: str) -> str:
    end = "+" if revision.endswith("+") else ""
    return revision.rstrip("+")[:_REVISION] + end
