"""A mean difference compared with a bound: above, below, or undecided."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, cast

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.whole import Drawn
from rankgate.decisions.gating.intervals import LEAST, at_look, ends, flat, statuses, too_few
from rankgate.decisions.gating.needed_queries import more_queries
from rankgate.measurement.stats.bounded import unseen_share
from rankgate.measurement.stats.interval import (
    student_quantile,
)
from rankgate.measurement.stats.planning.power import detectable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Terms
    from rankgate.decisions.gating.rule import Status

    Floats = NDArray[np.float64]
    Range = tuple[float, float]


@dataclass(frozen=True)
class Unseen:
    """What a sample that passed cannot exclude.

    Attributes:
        share: the largest share of all queries of which the sample shows none with a chance of
            alpha.
        value: the mean of such queries at which the mean of all would be at the bound.
        by_weight: True if it is the share of the weight of all queries.
    """

    share: float
    value: float
    by_weight: bool = False


@dataclass(frozen=True)
class BoundCheck:
    """A sample compared with a bound.

    Attributes:
        status: pass if the interval of its mean lies above the bound, fail if below.
        n, mean, low, high: the sample; low is the bound that a pass needs, at one-sided level
            1 − alpha, high the one that a fail needs, at 1 − alpha / tests.
        mde: the smallest true difference that so many queries show, one-sided.
        more: queries that would settle it if the mean stays, None where none would.
        why: why nothing can be inferred at all; empty where it can.
        code: of the reason, where weights are one.
        unseen: what a pass by normal theory cannot exclude; None where it can.
    """

    status: Status
    n: int
    mean: float | None
    low: float | None
    high: float | None
    mde: float | None
    more: int | None
    why: str = ""
    unseen: Unseen | None = None
    code: str = ""

    def shifted(self, by: float) -> BoundCheck:
        """The same of values that are larger by so much."""
        mean, low, high = (None if x is None else x + by for x in (self.mean, self.low, self.high))
        unseen = self.unseen and replace(self.unseen, value=self.unseen.value + by)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)

    @property
    def turned(self) -> BoundCheck:
        """The same of the negative values."""
        mean, low, high = (None if x is None else -x for x in (self.mean, self.high, self.low))
        unseen = self.unseen and replace(self.unseen, value=-self.unseen.value)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)


def check_bound(
    values: Floats | Drawn, bound: float, terms: Terms, limits: Range | None = None
) -> BoundCheck:
    """Compare the mean of a sample, or a number about all lists together, with a bound.

    A false pass has at most the chance alpha, as every rule that blocks must pass
    (intersection-union: Berger 1982). A false fail of any of the rules has at most alpha in all,
    as each takes its share (Bonferroni). Both as far as the interval covers: ``guaranteed`` always
    does, the others where n is large for the skew of the values.

    Args:
        values: of each query.
        bound: that the mean is compared with.
        terms: how rules infer.
        limits: the range that each possible value lies in; None where it has none.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if isinstance(values, Drawn):
        return _drawn(values, bound, terms)
    if terms.sizes is not None and len(values) == len(terms.sizes):
        return _of_clusters(values, bound, terms, limits)
    n = len(values)
    code, why = _too_little(n, terms)
    if why:
        mean = float(values.mean()) if n else None
        return BoundCheck("inconclusive", n, mean, None, None, None, None, why, code=code)
    table = values[:, None]
    mean = float(values.mean())
    low, high = (float(end[0]) for end in ends(table, terms, limits))
    sd = 0.0 if flat(table)[0] else float(values.std(ddof=1))
    if not np.isfinite([low, high]).all():
        why = (
            f"all {n} values are equal: there is no spread to make an interval of"
            if np.isnan(low)
            else f"{n} queries are too few to decide anything at this look"
        )
        return BoundCheck("inconclusive", n, mean, None, None, None, None, why)
    status = str(statuses(table, np.array([bound]), terms, limits)[0])
    more = more_queries(values, bound, terms, limits)
    result = BoundCheck(
        cast("Status", status),
        round(n * terms.per_value),
        mean,
        low,
        high,
        _detectable(sd, n, terms, mean - low),
        more and ceil(more * terms.per_value),
    )
    if too_few(table, terms)[0]:
        why = f"{n} queries with skewed differences decide nothing: intervals cover too rarely"
        return replace(result, why=why)
    return replace(result, unseen=_unseen(result, bound, terms, limits))


def _too_little(n: int, terms: Terms) -> tuple[str, str]:
    """The code and the reason why nothing can be inferred; empty where something can."""
    if n < terms.least:
        some = "1 query has" if n == 1 else f"{n} queries have"
        return "", f"{some} a value on both sides; fewer than {terms.least} decide nothing"
    return terms.undecided or ("", "")


def _of_clusters(means: Floats, bound: float, terms: Terms, limits: Range | None) -> BoundCheck:
    """Guaranteed bounds from means of clusters of unequal sizes m.

    The mean over queries is above a bound b where E[m(ȳ − b)] > 0, and so where the mean of
    b + m(ȳ − b)/max(m) is, which lies within the range of the values.
    """
    assert terms.sizes is not None
    inside = within_range(means, terms.sizes, bound)
    result = check_bound(inside, bound, replace(terms, sizes=None), limits)
    scale = float(terms.sizes.mean() / terms.sizes.max())
    mean, low, high = (
        None if end is None else bound + (end - bound) / scale
        for end in (result.mean, result.low, result.high)
    )
    return replace(result, mean=mean, low=low, high=high)


def within_range(means: Floats, sizes: Floats, bound: float) -> Floats:
    """(C, …) b + m(ȳ − b)/max(m), of (C, …) means of clusters and their (C,) sizes m."""
    share = (sizes / sizes.max()).reshape(-1, *(1,) * (means.ndim - 1))
    return np.asarray(bound + share * (means - bound), np.float64)


def _unseen(result: BoundCheck, bound: float, terms: Terms, limits: Range | None) -> Unseen | None:
    """The rule of three for a pass; None where even the lowest value would not turn it."""
    if result.status != "pass" or terms.interval == "guaranteed" or result.mean is None:
        return None
    share = unseen_share(result.n, terms.alpha) if terms.unseen is None else terms.unseen
    value = (bound - (1 - share) * result.mean) / share
    if limits is not None and value <= limits[0]:
        return None
    return Unseen(share, value, by_weight=terms.unseen is not None)


def _drawn(result: Drawn, bound: float, terms: Terms) -> BoundCheck:
    """The same for a number about all lists together."""
    n, error = result.users, result.redrawn.error
    if n < LEAST or np.isnan(error) or np.isnan(result.value):
        few = f"{n} users have lists; fewer than {LEAST} decide nothing"
        why = few if n < LEAST else "some of the users alone give no number"
        mean = None if np.isnan(result.value) else result.value
        return BoundCheck("inconclusive", n, mean, None, None, None, None, why)
    low = _outer(result, terms.alpha, terms)[0]
    high = _outer(result, terms.alpha / terms.tests, terms)[1]
    if not np.isfinite([low, high]).all():
        why = f"{n} users are too few to decide anything at this look"
        return BoundCheck("inconclusive", n, result.value, None, None, None, None, why)
    alpha = at_look(n, terms.alpha, terms)
    mde = float(detectable(error * n**0.5, n, alpha, terms.power, sides=1))
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return BoundCheck(status, n, result.value, low, high, mde, None)


def _outer(result: Drawn, alpha: float, terms: Terms) -> tuple[float, float]:
    """One-sided bounds, the outer ones of the bootstrap's and of Student's with its error."""
    alpha = at_look(result.users, alpha, terms)
    if not alpha:
        return -np.inf, np.inf
    reach = student_quantile(result.users - 1, 1 - alpha) * result.redrawn.error
    low, high = result.redrawn.ends(result.value, 1 - 2 * alpha)
    return min(low, result.value - reach), max(high, result.value + reach)


def _detectable(sd: float, n: int, terms: Terms, below: float) -> float:
    """The smallest true difference that these queries show with the power asked for.

    Args:
        sd: of the values.
        n: queries.
        terms: how rules infer.
        below: how far the guaranteed bound lies below the mean.
    """
    if terms.interval == "guaranteed" or not sd:
        return float(below + student_quantile(n - 1, terms.power) * sd / n**0.5)
    alpha = at_look(n, terms.alpha, terms)
    return float(detectable(sd, n, alpha, terms.power, sides=1)) if alpha else float(np.inf)
