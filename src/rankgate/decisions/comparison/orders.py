"""Intervals of the agreement of two metrics on the order of systems, over queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.inference import Test

    Floats = NDArray[np.float64]

DRAWS = 1000
"""Resamples of the queries."""

_CELLS = 1 << 22  # numbers of one block of resamples
_INTERVAL_NAMES = ("tau_low", "tau_high", "spearman_low", "spearman_high")


def order_intervals(
    runs: Sequence[ScoredRun], signs: Mapping[str, float], test: Test
) -> dict[tuple[str, str], dict[str, float]]:
    """Intervals of Kendall's tau b and Spearman's rho between the orders by two metrics.

    Percentiles over resampled queries, the same ones for all metrics, of those on which every
    system has a value of every metric. They are intervals of the agreement on other queries, not
    of other systems; NaN with fewer than two such queries, or if a resample ties all systems.
    """
    metrics, values = _common_values(runs, signs)
    pairs = list(combinations(metrics, 2))
    if len(values) < 2 or not pairs:
        return {pair: dict.fromkeys(_INTERVAL_NAMES, float("nan")) for pair in pairs}
    resampled = _resample(values, test.seed)
    return {
        (first_metric, second_metric): _correlation_intervals(
            resampled, metrics.index(first_metric), metrics.index(second_metric), test.level
        )
        for first_metric, second_metric in pairs
    }


def pair_intervals(
    first_values: Floats, second_values: Floats, level: float, seed: int
) -> dict[str, float]:
    """Intervals of tau b and rho between the orders of systems by two tables of values.

    Args:
        first_values: (n, S), larger is better; queries with a NaN in either table are left out.
        second_values: (n, S), of the same queries.
        level: of the intervals.
        seed: of the resampling.
    """
    is_complete = ~(np.isnan(first_values) | np.isnan(second_values)).any(axis=1)
    if is_complete.sum() < 2:
        return dict.fromkeys(_INTERVAL_NAMES, float("nan"))
    resampled = _resample(
        np.stack([first_values[is_complete], second_values[is_complete]], axis=1), seed
    )
    return _correlation_intervals(resampled, 0, 1, level)


def _correlation_intervals(
    resampled: tuple[Floats, Floats], i: int, j: int, level: float
) -> dict[str, float]:
    tails = [(1 - level) / 2, (1 + level) / 2]
    bounds = [
        np.quantile(_cosine(statistic[:, i], statistic[:, j]), tails) for statistic in resampled
    ]
    return dict(zip(_INTERVAL_NAMES, map(float, np.concatenate(bounds)), strict=True))


def _common_values(
    runs: Sequence[ScoredRun], signs: Mapping[str, float]
) -> tuple[list[str], Floats]:
    """The metrics, and (n, M, S) values of the queries without missing values."""
    metrics = list(runs[0].metrics)
    tables = [
        run.scores.filter(pl.col("value").is_not_null())
        .pivot(on="metric", index="query_id", values="value")
        .rename({metric: f"{i} {metric}" for metric in metrics}, strict=False)
        for i, run in enumerate(runs)
    ]
    joined = tables[0]
    for table in tables[1:]:
        joined = joined.join(table, on="query_id")
    common_metrics = [
        name for name in metrics if all(f"{i} {name}" in joined.columns for i in range(len(runs)))
    ]
    names = [f"{i} {metric}" for metric in common_metrics for i in range(len(runs))]
    matrix = joined.drop_nulls().sort("query_id").select(names).to_numpy().astype(np.float64)
    metric_signs = np.array([signs[metric] for metric in common_metrics])
    return common_metrics, matrix.reshape(
        len(matrix), len(common_metrics), len(runs)
    ) * metric_signs[:, None]


def _resample(values: Floats, seed: int) -> tuple[Floats, Floats]:
    """(B, M, P) signs of all pairs of systems, and (B, M, S) centred ranks, of resampled means."""
    from scipy.stats import rankdata

    n, metrics, systems = values.shape
    rng = np.random.default_rng(seed)
    flat_values, uniform_weights = values.reshape(n, -1), np.full(n, 1.0 / n)
    resample_counts = rng.multinomial(n, uniform_weights, size=DRAWS).astype(np.float64)
    means = np.round(
        (resample_counts @ flat_values / n).reshape(DRAWS, metrics, systems), 12
    )  # ties but for rounding
    first_systems, second_systems = np.triu_indices(systems, 1)
    ranks = rankdata(means, axis=2)
    return (
        np.sign(means[:, :, first_systems] - means[:, :, second_systems]),
        ranks - ranks.mean(axis=2, keepdims=True),
    )


def _cosine(first_vectors: Floats, second_vectors: Floats) -> Floats:
    """(B,) tau b of signs, and Pearson's r of centred ranks."""
    size = np.sqrt((first_vectors**2).sum(axis=1) * (second_vectors**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((first_vectors * second_vectors).sum(axis=1) / size, np.float64)
