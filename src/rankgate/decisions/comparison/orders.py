"""How much the agreement of two metrics on the order of systems depends on the queries."""

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
_ENDS = ("tau_low", "tau_high", "spearman_low", "spearman_high")


def redrawn_orders(
    runs: Sequence[ScoredRun], signs: Mapping[str, float], test: Test
) -> dict[tuple[str, str], dict[str, float]]:
    """Intervals of Kendall's tau b and Spearman's rho between the orders by two metrics.

    Percentiles over resampled queries, the same ones for all metrics, of those on which every
    system has a value of every metric. They say how sure the agreement is for other queries, not
    for other systems; NaN with fewer than two such queries, or where a resample ties all systems.
    """
    metrics, values = _common(runs, signs)
    pairs = list(combinations(metrics, 2))
    if len(values) < 2 or not pairs:
        return {pair: dict.fromkeys(_ENDS, float("nan")) for pair in pairs}
    parts = _drawn(values, test.seed)
    return {
        (one, two): _ends(parts, metrics.index(one), metrics.index(two), test.level)
        for one, two in pairs
    }


def redrawn_pair(one: Floats, two: Floats, level: float, seed: int) -> dict[str, float]:
    """The same intervals for the orders that two tables of values give the same systems.

    Args:
        one: (n, S) values, larger is better; queries with a NaN in either table are left out.
        two: (n, S) values of the same queries.
        level: of the intervals.
        seed: of the resampling.
    """
    whole = ~(np.isnan(one) | np.isnan(two)).any(axis=1)
    if whole.sum() < 2:
        return dict.fromkeys(_ENDS, float("nan"))
    parts = _drawn(np.stack([one[whole], two[whole]], axis=1), seed)
    return _ends(parts, 0, 1, level)


def _ends(parts: tuple[Floats, Floats], i: int, j: int, level: float) -> dict[str, float]:
    tails = [(1 - level) / 2, (1 + level) / 2]
    ends = [np.quantile(_cosine(each[:, i], each[:, j]), tails) for each in parts]
    return dict(zip(_ENDS, map(float, np.concatenate(ends)), strict=True))


def _common(runs: Sequence[ScoredRun], signs: Mapping[str, float]) -> tuple[list[str], Floats]:
    """The metrics, and (n, M, S) values of the queries on which nothing is missing."""
    metrics = list(runs[0].metrics)
    tables = [
        run.scores.filter(pl.col("value").is_not_null())
        .pivot(on="metric", index="query_id", values="value")
        .rename({metric: f"{i} {metric}" for metric in metrics}, strict=False)
        for i, run in enumerate(runs)
    ]
    both = tables[0]
    for table in tables[1:]:
        both = both.join(table, on="query_id")
    known = [
        name for name in metrics if all(f"{i} {name}" in both.columns for i in range(len(runs)))
    ]
    names = [f"{i} {metric}" for metric in known for i in range(len(runs))]
    matrix = both.drop_nulls().sort("query_id").select(names).to_numpy().astype(np.float64)
    turned = np.array([signs[metric] for metric in known])
    return known, matrix.reshape(len(matrix), len(known), len(runs)) * turned[:, None]


def _drawn(values: Floats, seed: int) -> tuple[Floats, Floats]:
    """(B, M, P) signs of all pairs of systems, and (B, M, S) centred ranks, of resampled means."""
    from scipy.stats import rankdata

    n, metrics, systems = values.shape
    rng = np.random.default_rng(seed)
    flat, even = values.reshape(n, -1), np.full(n, 1.0 / n)
    times = rng.multinomial(n, even, size=DRAWS).astype(np.float64)
    means = np.round(
        (times @ flat / n).reshape(DRAWS, metrics, systems), 12
    )  # ties but for rounding
    first, second = np.triu_indices(systems, 1)
    ranks = rankdata(means, axis=2)
    return (
        np.sign(means[:, :, first] - means[:, :, second]),
        ranks - ranks.mean(axis=2, keepdims=True),
    )


def _cosine(one: Floats, two: Floats) -> Floats:
    """(B,) tau b of signs, and Pearson's r of centred ranks."""
    size = np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((one * two).sum(axis=1) / size, np.float64)
