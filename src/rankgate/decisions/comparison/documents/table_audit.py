"""An audit as a document: what is impossible, and which systems a table tells apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, PlainRows, Points, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
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
    """The verdict, the impossible numbers, the best systems of each metric, what is unknown."""
    impossible = result.cells.filter(status=IMPOSSIBLE)
    unread = result.cells.filter(status=UNREAD)
    unknown = result.cells.filter(status=UNKNOWN)
    reasons = unknown.group_by("why", maintain_order=True).agg(pl.col("column").unique().sort())
    return made(
        f"{printable(result.table)}: {result.verdict}",
        Table("impossible", _reasons(impossible)),
        Table("not read", _reasons(unread)),
        Table("best and second", _pairs(result)),
        Points(tuple(f"{', '.join(map(printable, row['column']))}: {row['why']}"
                     for row in reasons.iter_rows(named=True))),
        f"{result.cells.height:,} cells: {_count(result, 'possible')} possible, "
        f"{impossible.height} impossible, {unknown.height} unknown, {unread.height} not read. A "
        "printed number can be any mean that rounds to it; one that was cut off, or that is over "
        "several runs of a system, can look impossible. Needed is the smallest difference that is "
        f"significant at {1 - result.level:.2g} if per-query differences have a standard deviation "
        f"of {result.sd:g}; usual ones are larger.",
        lead=(_LEAD[result.verdict],),
        status=_STATUS.get(result.verdict, "inconclusive"),
        rows=PlainRows(tuple(result.cells.columns), list(result.cells.iter_rows())),
    )  # fmt: skip


def _count(result: TableAudit, status: str) -> int:
    return result.cells.filter(status=status).height


def _reasons(cells: pl.DataFrame) -> Grid:
    rows = tuple(
        (f"{row['line']}", printable(row["system"]), printable(row["column"]), row["printed"],
         row["why"])
        for row in cells.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("line", "system", "column", "printed", "why"), rows, frozenset({1, 2, 4}))


def _pairs(result: TableAudit) -> Grid:
    rows = tuple(
        (printable(row["column"]), printable(row["best"]), printable(row["second"]),
         f"{row['difference']:.4f}",
         UNDEFINED if row["needed"] is None else f"{row['needed']:.4f}",
         row["status"], row["why"] or "")
        for row in result.pairs.iter_rows(named=True)
    )  # fmt: skip
    head = ("column", "best", "second", "difference\nat most", "needed", "status", "why")
    return Grid(head, rows, frozenset({0, 1, 2, 5, 6}))
