"""Statistics for three systems or more."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode_fields

FRIEDMAN: dict[str, Any] = {
    "metric": pl.String,
    "statistic": pl.Float64,
    "p_value": pl.Float64,
    "f": pl.Float64,
    "f_p_value": pl.Float64,
    "critical": pl.Float64,
}
"""Friedman's χ² of systems ranked within queries, Iman and Davenport's F, and the difference of two
mean ranks from which on Nemenyi's test distinguishes a pair."""


@dataclass(frozen=True)
class ManySystems:
    """Statistics that need three systems or more.

    Attributes:
        systems: their names, the baseline first.
        means: ``metric``, ``system``, ``mean``, ``n``, best first; over the queries on which all
            have a value; ``mean_rank`` within queries, 1 is the best.
        anova: ``metric``, ``f``, ``p_value``, ``ms_system``, ``ms_query``, ``ms_residual``.
        pairs: ``metric``, ``first``, ``second``, ``delta`` (first − second), ``gain``
            (above 0 where the first is better), ``low``, ``high``,
            ``p_tukey``, ``p_randomised``, ``p_nemenyi`` (of mean ranks): corrected for all pairs
            of the metric.
        orderings: ``first``, ``second`` (metrics), ``tau``, ``tau_ap_b`` (tau AP, the mean of both
            directions; `rankgate.rank_similarity` has the directed ``tau-AP``), ``rbo`` (p = .9),
            ``spearman``, ``pearson`` (of means): how alike they order the systems; ``tau_low``,
            ``tau_high``, ``spearman_low``, ``spearman_high`` over resampled queries.
        reliability: ``metric``, the components of variance, Eρ² and Φ with intervals, queries
            needed for .95 of each, and the tau and tau-AP to expect of another set of queries;
            ``split_half``: the correlation of two random halves of the queries, stepped up to all
            of them, with 95 % of the splits, and ``split_half_tau`` of the halves' orders.
        level: of the intervals.
        resamples: of the randomised Tukey test.
        seed: of the drawing.
        friedman: the columns of `FRIEDMAN`.
    """

    systems: tuple[str, ...]
    means: pl.DataFrame
    anova: pl.DataFrame
    pairs: pl.DataFrame
    orderings: pl.DataFrame
    reliability: pl.DataFrame
    level: float
    resamples: int
    seed: int
    friedman: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FRIEDMAN))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return encode_fields(self)


TABLES = ("means", "anova", "pairs", "orderings", "reliability", "friedman")
