"""How alike the rankings of two runs are, without judgments: the result of ``rank_similarity``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

MEASURES = {"measure": pl.String, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64,
            "lowest": pl.Float64, "lowest_query": pl.String, "n": pl.Int64}  # fmt: skip
PER_QUERY = {"query_id": pl.String, "measure": pl.String, "value": pl.Float64}
CURVE = {"depth": pl.Int64, "overlap": pl.Float64}
REPRODUCTION = {"metric": pl.String, "first": pl.Float64, "second": pl.Float64,
                "rmse": pl.Float64, "n": pl.Int64, "effect_ratio": pl.Float64,
                "delta_ri": pl.Float64}  # fmt: skip


@dataclass(frozen=True)
class RankSimilarity(Result):
    """How alike the rankings of two runs are.

    Attributes:
        first, second: the runs.
        p: how far down rank-biased overlap looks.
        ties: how it treats equal scores: ``w``, ``a`` or ``b``.
        depth: documents of each ranking that count.
        queries: queries of both runs.
        only_first, only_second: queries of one run alone, which are left out.
        measures: for each measure the mean over queries, the query that is least alike, and for
            ``RBO`` the means of its bounds (``low``, ``high``).
        per_query: the value of each query and measure.
        agreement: for each depth the mean share of documents that both rankings have above it.
        reproduction: where judgments are given, for each metric both means, the root mean square
            error of the values, and with baselines effect ratio and delta of the relative
            improvement (Breuer et al., SIGIR 2020).
        input_notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "rank_similarity"
    label: ClassVar[str] = "Similarity of rankings"
    document_from: ClassVar[str] = (
        "rankgate.decisions.comparison.documents.rank_similarity:document"
    )
    order: ClassVar[int] = 27
    charts: ClassVar[Mapping[str, str]] = {
        "overlap-curve": "rankgate.decisions.comparison.charts.overlap:draw"
    }
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "measures": MEASURES,
        "per_query": PER_QUERY,
        "agreement": CURVE,
        "reproduction": REPRODUCTION,
    }

    first: str
    second: str
    p: float
    ties: str
    depth: int
    queries: int
    only_first: int
    only_second: int
    measures: pl.DataFrame
    per_query: pl.DataFrame
    agreement: pl.DataFrame
    reproduction: pl.DataFrame
    input_notices: tuple[Notice, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Cautions of runs, and queries that only one run has."""
        missing = tuple(
            Notice("missing-queries", f"{count:,} queries only in {name} are left out", name)
            for name, count in ((self.first, self.only_first), (self.second, self.only_second))
            if count
        )
        return (*self.input_notices, *missing)

    def _table(self) -> pl.DataFrame:
        return self.measures
