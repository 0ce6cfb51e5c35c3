"""A mean difference held against a bound: above, below, or not to be told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.gating.whole import Drawn
from rankgate.stats.bootstrap import bootstrap_interval
from rankgate.stats.interval import FEW, SKEWED, guarded_interval, skewness, student_quantile
from rankgate.stats.power import detectable, needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.gating.evidence import Terms
    from rankgate.gating.rule import Status
    from rankgate.stats.interval import Intervals

SLACK = 1e-9
"""What a sum of floats may be off: a share that is at its bound is not beyond it."""

LEAST = 10
"""Fewer queries than this decide nothing."""


@dataclass(frozen=True)
class Held:
    """A sample held against a bound.

    Attributes:
        status: pass if its mean lies above the bound for sure, fail if below for sure.
        n, mean, low, high: the sample; low is the end that a pass needs, at one-sided level
            1 − alpha, high the end that a fail needs, at 1 − alpha / tests.
        mde: the smallest true difference that so many queries show, one-sided.
        more: queries that would settle it if the mean stays, None where none would.
        why: why nothing can be inferred at all; empty where it can.
    """

    status: Status
    n: int
    mean: float | None
    low: float | None
    high: float | None
    mde: float | None
    more: int | None
    why: str = ""

    @property
    def turned(self) -> Held:
        """The same of the negative values."""
        mean, low, high = (None if x is None else -x for x in (self.mean, self.high, self.low))
        return replace(self, mean=mean, low=low, high=high)


def held(values: NDArray[np.float64] | Drawn, bound: float, terms: Terms) -> Held:
    """Hold the mean of a sample, or a number about all lists together, against a bound.

    A pass falsely said has at most the chance alpha, as every rule that blocks must pass
    (intersection-union: Berger 1982). A fail falsely said by any of the rules has at most alpha
    in all, as each takes its share (Bonferroni).
    """
    if isinstance(values, Drawn):
        return _drawn(values, bound, terms)
    n = len(values)
    if n < LEAST:
        some = "1 query has" if n == 1 else f"{n} queries have"
        why = f"{some} a value on both sides; fewer than {LEAST} decide nothing"
        mean = float(values.mean()) if n else None
        return Held("inconclusive", n, mean, None, None, None, None, why)
    mean, spread = float(values.mean()), float(np.ptp(values))
    low = float(_interval(values, 1 - 2 * terms.alpha, terms).low[0])
    high = float(_interval(values, 1 - 2 * terms.alpha / terms.tests, terms).high[0])
    sd = float(values.std(ddof=1)) if spread else 0.0
    mde = float(detectable(sd, n, terms.alpha, terms.power, sides=1))
    more = _more(mean - bound, sd, n, terms)
    if n < FEW and abs(skewness(values)[0]) > SKEWED:
        why = f"{n} queries with skewed differences decide nothing: intervals cover too rarely"
        return Held("inconclusive", n, mean, low, high, mde, more, why)
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return Held(status, n, mean, low, high, mde, more)


def _drawn(told: Drawn, bound: float, terms: Terms) -> Held:
    """The same for a number about all lists together."""
    n, error = told.users, told.redrawn.error
    if n < LEAST or np.isnan(error) or np.isnan(told.value):
        few = f"{n} users have lists; fewer than {LEAST} decide nothing"
        why = few if n < LEAST else "some of the users alone give no number"
        mean = None if np.isnan(told.value) else told.value
        return Held("inconclusive", n, mean, None, None, None, None, why)
    low, high = _outer(told, terms.alpha)[0], _outer(told, terms.alpha / terms.tests)[1]
    mde = float(detectable(error * n**0.5, n, terms.alpha, terms.power, sides=1))
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return Held(status, n, told.value, low, high, mde, None)


def _outer(told: Drawn, alpha: float) -> tuple[float, float]:
    """One-sided ends, the outer ones of the bootstrap's and of Student's with its error."""
    reach = student_quantile(told.users - 1, 1 - alpha) * told.redrawn.error
    low, high = told.redrawn.ends(told.value, 1 - 2 * alpha)
    return min(low, told.value - reach), max(high, told.value + reach)


def _interval(values: NDArray[np.float64], level: float, terms: Terms) -> Intervals:
    if terms.interval == "t":
        return guarded_interval(values, level)
    method: Literal["bca", "percentile"] = "bca" if terms.interval == "bca" else "percentile"
    return bootstrap_interval(values, level, method, seed=terms.seed)


def _more(distance: float, sd: float, n: int, terms: Terms) -> int | None:
    """Queries beside those at hand, if the mean stays where it is."""
    if not distance or not sd:
        return None
    whole = needed(distance, sd, terms.alpha, terms.power, sides=1)
    return max(1, int(np.ceil(whole)) - n) if np.isfinite(whole) else None
