"""The number of queries that a rule needs, by resampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.intervals import LEAST, at_look, flat, ranged
from rankgate.measurement.stats.bounded import betting_exceeds
from rankgate.measurement.stats.interval import guarded_ends
from rankgate.measurement.stats.planning.power import needed
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


def more_queries(values: Floats, bound: float, terms: Terms, limits: Range | None) -> int | None:
    """Queries in addition to those available that settle this rule, if the mean stays as it is."""
    distance, n = float(values.mean()) - bound, len(values)
    if not distance or flat(values[:, None])[0]:
        return None
    if terms.interval == "guaranteed":
        whole = _guaranteed_size(values, bound, terms, ranged(values, limits))
    else:
        whole = _simulated_size(values, bound, terms)
    return max(1, int(np.ceil(whole)) - n) if np.isfinite(whole) else None


def _simulated_size(values: Floats, bound: float, terms: Terms) -> float:
    """The same by samples of the measured values that are put through the rule's own interval."""
    distance, sd = float(values.mean()) - bound, float(values.std(ddof=1))
    alpha = terms.alpha if distance > 0 else terms.alpha / terms.tests
    share = 1.0 if terms.degrees is None else (terms.degrees + 1) / len(values)
    if terms.anytime:
        guess = needed_at_any_look(distance, sd, alpha, terms.power)
    else:
        guess = needed(distance, sd, alpha, terms.power, sides=1)
    if not guess < _MOST:
        return guess

    def decided(drawn: Samples) -> NDArray[np.bool_]:
        size = int(drawn.n.max())
        level = at_look(size, alpha, terms)
        if size < LEAST or not level:
            return np.zeros((len(drawn.n), 1), np.bool_)
        independent = size if share == 1 else max(share * size, 3.0)
        low, high = guarded_ends(
            drawn.mean, drawn.error, drawn.skewness, independent, 1 - 2 * level
        )
        return np.asarray(low > bound if distance > 0 else high < bound, np.bool_)

    start = max(guess, LEAST)
    result = queries_for(values, decided, terms.power, start=start, draws=_SAMPLES, seed=terms.seed)
    return float(result[0])


def _guaranteed_size(values: Floats, bound: float, terms: Terms, limits: Range) -> float:
    """Queries at which samples of these values pass or fail with the power asked for."""
    low, high = limits
    if values.mean() < bound:
        values, bound, low, high = -values, -bound, -high, -low
    rng = np.random.default_rng(terms.seed)

    def enough(n: int) -> bool:
        drawn = rng.choice(np.clip(values, low, high), (n, max(20, min(200, _CELLS // n))))
        share = betting_exceeds(drawn, bound, low, high, terms.alpha).mean()
        return bool(share >= terms.power)

    under, over = len(values) // 2, len(values)
    while not enough(over):
        under, over = over, 2 * over
        if over > _MOST:
            return np.inf
    while over - under > max(1, over // 32):
        middle = (under + over) // 2
        under, over = (under, middle) if enough(middle) else (middle, over)
    return over
