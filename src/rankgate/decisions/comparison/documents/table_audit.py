"""Render an audit: impossible numbers, and the systems that a table distinguishes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Points, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import UNDEFINED
from rankgate.decisions.comparison.table_audit import (
    CONSISTENT,
    IMPOSSIBLE,
    UNKNOWN,
    UNREAD,
    UNRESOLVABLE,
)

if TYPE_CHECKING:
    from rankgate.decisions.comparison.table_audit import TableAudit

_STATUS = {IMPOSSIBLE: "fail", CONSISTENT: "pass"}
_LEAD = {
    IMPOSSIBLE: "Some numbers cannot be means over so many queries.",
    UNRESOLVABLE: "Every number is possible; no metric tells the best system from the second.",
    CONSISTENT: "Every number that could be checked is possible.",
    UNKNOWN: "Nothing could be checked.",
}


def document(result: TableAudit) -> Document:
    """The verdict, the impossible numbers, the best systems of each metric, unknown columns."""
    impossible = result.cells.filter(status=IMPOSSIBLE)
    unread = result.cells.filter(status=UNREAD)
    unknown_cells = result.cells.filter(status=UNKNOWN)
    reasons = unknown_cells.group_by("why", maintain_order=True).agg(
        pl.col("column").unique().sort()
    )
    return made(
        f"{make_printable(result.table)}: {result.verdict}",
        Table("impossible", _reason_grid(impossible)),
        Table("not read", _reason_grid(unread)),
        Table("best and second", _pair_grid(result)),
        Points(
            tuple(
                f"{', '.join(map(make_printable, row['column']))}: {row['why']}"
                for row in reasons.iter_rows(named=True)
            )
        ),
        f"{result.cells.height:,} cells: {_count(result, 'possible')} possible, "
        f"{impossible.height} impossible, {unknown_cells.height} unknown, {unread.height} not "
        "read. A printed number can be any mean that rounds to it; one that was cut off, or that "
        "is over several runs of a system, can look impossible. Needed is the smallest difference "
        f"that is significant at {1 - result.level:.2g} if per-query differences have a standard "
        f"deviation of {result.sd:g}; usual ones are larger.",
        lead=(_LEAD[result.verdict],),
        status=_STATUS.get(result.verdict, "inconclusive"),
        rows=PlainRows(tuple(result.cells.columns), list(result.cells.iter_rows())),
    )


def _count(result: TableAudit, status: str) -> int:
    return result.cells.filter(status=status).height


def _reason_grid(cells: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            f"{row['line']}",
            make_printable(row["system"]),
            make_printable(row["column"]),
            row["printed"],
            row["why"],
        )
        for row in cells.iter_rows(named=True)
    )
    return Grid(("line", "system", "column", "printed", "why"), rows, frozenset({1, 2, 4}))


def _pair_grid(result: TableAudit) -> Grid:
    rows = tuple(
        (
            make_printable(row["column"]),
            make_printable(row["best"]),
            make_printable(row["second"]),
            f"{row['difference']:.4f}",
            UNDEFINED if row["needed"] is None else f"{row['needed']:.4f}",
            row["status"],
            row["why"] or "",
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("column", "best", "second", "difference\nat most", "needed", "status", "why")
    return Grid(header, rows, frozenset({0, 1, 2, 5, 6}))
