"""Two engines asked in turn under the same load: the result of the verb ``compare_engines``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.engines.snapshots.snapshot import Snapshot

LATENCY = {
    "statistic": pl.String,
    "baseline": pl.Float64,
    "candidate": pl.Float64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
QUERIES = {
    "query_id": pl.String,
    "first": pl.String,
    "baseline_state": pl.String,
    "candidate_state": pl.String,
    "baseline_ms": pl.Float64,
    "candidate_ms": pl.Float64,
    "delta_ms": pl.Float64,
}


@dataclass(frozen=True)
class EngineComparison(Result):
    """Snapshots of two engines whose queries were interleaved.

    Attributes:
        baseline, candidate: the snapshots.
        pairs: queries that both engines answered, whose latencies are compared.
        latency: ``statistic`` (mean, p50, p95), ``baseline``, ``candidate``, ``delta``, ``low`` and
            ``high`` of the delta's interval, in milliseconds.
        queries: ``query_id``, ``first`` (which engine was asked first), states, latencies and the
            difference of each query.
        level: of the intervals.
        resamples: of the pairs.
        seed: of the order and the resampling.
    """

    kind: ClassVar[str] = "engine_comparison"
    label: ClassVar[str] = "Comparison of two engines"
    document_from: ClassVar[str] = "rankgate.engines.documents.comparison:document"
    order: ClassVar[int] = 30
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"latency": LATENCY, "queries": QUERIES}

    baseline: Snapshot
    candidate: Snapshot
    pairs: int
    latency: pl.DataFrame
    queries: pl.DataFrame
    level: float
    resamples: int
    seed: int

    @property
    def finished(self) -> bool:
        """True if both engines got every query."""
        return self.baseline.finished and self.candidate.finished

    @property
    def failed(self) -> bool:
        """True if one of the engines answered no query."""
        return self.baseline.failed or self.candidate.failed

    @property
    def names(self) -> tuple[str, str]:
        """The names of the engines, with a suffix where they are the same."""
        baseline, candidate = self.baseline.engine, self.candidate.engine
        return (
            (baseline, candidate)
            if baseline != candidate
            else (f"{baseline} (baseline)", f"{candidate} (candidate)")
        )

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices about each engine, and about unpaired queries."""
        notices = [
            replace(notice, text=f"{name}: {notice.text}", subject=name)
            for name, snapshot in zip(self.names, (self.baseline, self.candidate), strict=True)
            for notice in snapshot.notices
        ]
        if self.pairs < len(self.queries):
            notices.append(
                Notice(
                    "unpaired-queries",
                    f"latencies are those of the {self.pairs:,} of {len(self.queries):,} queries "
                    "that both engines answered",
                )
            )
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.queries
