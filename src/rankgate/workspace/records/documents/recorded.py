"""Recorded evaluations as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.workspace.records.recorded import Recorded

_REVISION_LENGTH = 12


def recorded_document(result: Recorded) -> Document:
    """The number of new records, and a row for each."""
    table = result.records
    new_count, repeated_count = int(table["new"].sum()), int((~table["new"]).sum())
    count_texts = [f"{new_count} recorded"] if new_count or not repeated_count else []
    count_texts += [f"{repeated_count} recorded before"] if repeated_count else []
    rows = tuple(
        (
            row["record"],
            row["evaluated_at"][:16].replace("T", " "),
            row["kind"],
            make_printable(row["system"]),
            _short_revision(row["revision"]),
            row["verdict"] or "",
            f"{row['figures']:,}",
            f"{row['queries']:,}",
            "" if row["new"] else "recorded before",
        )
        for row in table.iter_rows(named=True)
    )
    column_names = (
        "record",
        "evaluated (UTC)",
        "kind",
        "system",
        "revision",
        "verdict",
        "figures",
        "queries",
        "",
    )
    return made(
        f"{', '.join(count_texts)} in {result.place}",
        Table("", Grid(column_names, rows, frozenset({0, 1, 2, 3, 4, 5, 8}))),
        Warnings(tuple(notice.text for notice in result.notices)),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _short_revision(revision: str) -> str:
    end = "+" if revision.endswith("+") else ""
    return revision.rstrip("+")[:_REVISION_LENGTH] + end
