"""The result of ``total_error``: one interval for queries, judgments and snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

METRICS = {
    "metric": pl.String,
    "queries": pl.Int64,
    "baseline": pl.Float64,
    "candidate": pl.Float64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "error": pl.Float64,
    "naive_low": pl.Float64,
    "naive_high": pl.Float64,
    "naive_error": pl.Float64,
}
SOURCES = {"metric": pl.String, "source": pl.String, "levels": pl.Int64, "share": pl.Float64}
NEXT = {
    "metric": pl.String,
    "facet": pl.String,
    "levels": pl.Int64,
    "error": pl.Float64,
    "less": pl.Float64,
}


@dataclass(frozen=True)
class TotalError(Result):
    """A difference with the error of all that was drawn to measure it.

    Attributes:
        baseline, candidate: the systems.
        convention: name, axes and hash.
        facets: what was repeated, with how many levels of each, the queries first.
        metrics: for each metric the means over all repetitions, their difference, its interval
            and standard error for other queries, judgments and snapshots; and those of queries
            alone (naive), which take the judgments and the snapshots for the only ones there are.
        sources: what each facet, each interaction and unjudged documents add to the variance.
        next: by how much the error falls if a facet had twice as many levels, most first.
        level: of the intervals.
        left_out: queries without a value in some repetition.
        without_holes: metrics whose unjudged documents are not counted, as they look deeper than
            the lists.
        input_notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "total_error"
    label: ClassVar[str] = "Total error"
    document_from: ClassVar[str] = "rankgate.decisions.uncertainty.document:document"
    order: ClassVar[int] = 12
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "metrics": METRICS,
        "sources": SOURCES,
        "next": NEXT,
    }

    baseline: str
    candidate: str
    convention: Mapping[str, Any]
    facets: Mapping[str, int]
    metrics: pl.DataFrame
    sources: pl.DataFrame
    next: pl.DataFrame
    level: float
    left_out: int
    without_holes: tuple[str, ...] = ()
    input_notices: tuple[Notice, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Cautions of runs, facets of two levels, queries and documents that are not counted."""
        few = [name for name, levels in self.facets.items() if levels == 2]
        notices = []
        if few:
            text = (
                f"{', '.join(few)}: two levels say little about others; where they add much, the "
                "interval is as wide as that needs"
            )
            notices.append(Notice("few-levels", text))
        if self.left_out:
            text = f"{self.left_out:,} queries without a value in some repetition are left out"
            notices.append(Notice("left-out", text))
        if self.without_holes:
            text = f"unjudged documents are not counted for {', '.join(self.without_holes)}"
            notices.append(Notice("holes-not-counted", text))
        return (*self.input_notices, *notices)

    def _table(self) -> pl.DataFrame:
        return self.metrics
