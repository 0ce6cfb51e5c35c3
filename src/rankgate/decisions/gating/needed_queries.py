"""The number of queries that a rule needs, by resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.intervals import (
    MIN_QUERIES,
    alpha_at_look,
    is_column_flat,
    require_range,
)
from rankgate.measurement.stats.bounded import betting_exceeds
from rankgate.measurement.stats.interval import guarded_ends
from rankgate.measurement.stats.planning.power import queries_for_power
from rankgate.measurement.stats.planning.sample_size import queries_for
from rankgate.measurement.stats.sequential import needed_at_any_look

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Terms
    from rankgate.measurement.stats.planning.sample_size import Samples

    Floats = NDArray[np.float64]
    Range = tuple[float, float]

_CELLS, _MOST = 200_000, 100_000  # numbers of a simulation; queries that are worth advising
_SAMPLES = 500  # of each size: the standard error of a share of 80 % is then 1.8 %


def count_more_queries(
    values: Floats, bound: float, terms: Terms, limits: Range | None
) -> int | None:
    """Queries in addition to those available that settle this rule, if the mean stays as it is."""
    distance, n = float(values.mean()) - bound, len(values)
    if not distance or is_column_flat(values[:, None])[0]:
        return None
    if terms.interval == "guaranteed":
        query_count = _guaranteed_size(values, bound, terms, require_range(values, limits))
    else:
        query_count = _simulated_size(values, bound, terms)
    return max(1, int(np.ceil(query_count)) - n) if np.isfinite(query_count) else None


def _simulated_size(values: Floats, bound: float, terms: Terms) -> float:
    """The same by samples of the measured values that are put through the rule's own interval."""
    distance, sd = float(values.mean()) - bound, float(values.std(ddof=1))
    alpha = terms.alpha if distance > 0 else terms.alpha / terms.tests
    share = 1.0 if terms.degrees is None else (terms.degrees + 1) / len(values)
    if terms.anytime:
        first_estimate = needed_at_any_look(distance, sd, alpha, terms.power)
    else:
        first_estimate = queries_for_power(distance, sd, alpha, terms.power, sides=1)
    if not first_estimate < _MOST:
        return first_estimate

    def decided(samples: Samples) -> NDArray[np.bool_]:
        size = int(samples.n.max())
        level = alpha_at_look(size, alpha, terms)
        if size < MIN_QUERIES or not level:
            return np.zeros((len(samples.n), 1), np.bool_)
        independent = size if share == 1 else max(share * size, 3.0)
        low, high = guarded_ends(
            samples.mean, samples.error, samples.skewness, independent, 1 - 2 * level
        )
        return np.asarray(low > bound if distance > 0 else high < bound, np.bool_)

    start = max(first_estimate, MIN_QUERIES)
    result = queries_for(values, decided, terms.power, start=start, draws=_SAMPLES, seed=terms.seed)
    return float(result[0])


def _guaranteed_size(values: Floats, bound: float, terms: Terms, limits: Range) -> float:
    """Queries at which samples of these values pass or fail with the required power."""
    low, high = limits
    if values.mean() < bound:
        values, bound, low, high = -values, -bound, -high, -low
    rng = np.random.default_rng(terms.seed)

    def enough(n: int) -> bool:
        samples = rng.choice(np.clip(values, low, high), (n, max(20, min(200, _CELLS // n))))
        share = betting_exceeds(samples, bound, low, high, terms.alpha).mean()
        return bool(share >= terms.power)

    too_small, large_enough = len(values) // 2, len(values)
    while not enough(large_enough):
        too_small, large_enough = large_enough, 2 * large_enough
        if large_enough > _MOST:
            return np.inf
    while large_enough - too_small > max(1, large_enough // 32):
        middle = (too_small + large_enough) // 2
        too_small, large_enough = (too_small, middle) if enough(middle) else (middle, large_enough)
    return large_enough
