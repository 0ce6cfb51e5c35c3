"""The result of ``audit``: cells and pairs of systems of a published table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

CELLS = {
    "system": pl.String,
    "column": pl.String,
    "metric": pl.String,
    "printed": pl.String,
    "line": pl.Int64,
    "n": pl.Int64,
    "low": pl.Float64,
    "high": pl.Float64,
    "status": pl.String,
    "why": pl.String,
}
PAIRS = {
    "column": pl.String,
    "best": pl.String,
    "second": pl.String,
    "difference": pl.Float64,
    "needed": pl.Float64,
    "status": pl.String,
    "why": pl.String,
}

IMPOSSIBLE, UNRESOLVABLE, CONSISTENT, UNKNOWN, UNREAD = (
    "impossible",
    "unresolvable",
    "consistent",
    "unknown",
    "unread",
)


@dataclass(frozen=True)
class TableAudit(Result):
    """Whether the numbers of a published table are possible, and tell its systems apart.

    Attributes:
        table: where it is from.
        verdict: ``impossible`` where a number is; ``unresolvable`` where no metric tells the best
            system from the second; ``consistent``; ``unknown`` where nothing could be checked.
        cells: for each ``system`` and ``column`` the ``metric``, the number as ``printed`` with its
            ``line``, ``n`` queries, the means from ``low`` to ``high`` that are printed so, and a
            ``status``: possible, impossible, unknown, or unread where the cell has no number that
            can be read, with the reason (``why``).
        pairs: for each ``column`` the ``best`` system and the ``second``, their largest
            ``difference`` before rounding, the smallest one that is significant (``needed``), and a
            ``status``: resolvable, unresolvable or unknown.
        sd: the standard deviation of per-query differences that was supposed.
        level: of significance, as 0.95.
    """

    kind: ClassVar[str] = "table_audit"
    label: ClassVar[str] = "Audit of a table"
    document_from: ClassVar[str] = "rankgate.decisions.comparison.documents.table_audit:document"
    order: ClassVar[int] = 28
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"cells": CELLS, "pairs": PAIRS}

    table: str
    verdict: str
    cells: pl.DataFrame
    pairs: pl.DataFrame
    sd: float
    level: float

    @property
    def status(self) -> int:
        """The exit code: 1 if a number is impossible, 0 if all is consistent, else 3."""
        return {IMPOSSIBLE: 1, CONSISTENT: 0}.get(self.verdict, 3)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Impossible numbers, and cells that could not be read."""
        codes = {IMPOSSIBLE: "impossible-mean", UNREAD: "unread-cell"}
        return tuple(
            Notice(
                codes[row["status"]],
                f"{row['system']}: {row['column']} {row['printed']}: {row['why']}",
                row["system"],
            )
            for row in self.cells.filter(pl.col("status").is_in(list(codes))).iter_rows(named=True)
        )

    def _table(self) -> pl.DataFrame:
        return self.cells
