"""A mean difference compared with a bound: above, below, or undecided."""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, cast

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.whole import ResampledValue
from rankgate.decisions.gating.intervals import (
    MIN_QUERIES,
    alpha_at_look,
    bound_ends,
    decide_statuses,
    is_column_flat,
    is_too_short,
)
from rankgate.decisions.gating.needed_queries import count_more_queries
from rankgate.measurement.stats.bounded import unseen_share
from rankgate.measurement.stats.interval import (
    student_quantile,
)
from rankgate.measurement.stats.planning.power import detectable_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Terms
    from rankgate.decisions.gating.rule import Status

    Floats = NDArray[np.float64]
    Range = tuple[float, float]


@dataclass(frozen=True)
class UnseenLoss:
    """The largest loss that a sample that passed cannot exclude.

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
        unseen: the loss that a pass by normal theory cannot exclude; None if there is none.
    """

    status: Status
    n: int
    mean: float | None
    low: float | None
    high: float | None
    mde: float | None
    more: int | None
    why: str = ""
    unseen: UnseenLoss | None = None
    code: str = ""

    def shifted(self, offset: float) -> BoundCheck:
        """The same check for values that are larger by an offset."""
        mean, low, high = (
            None if figure is None else figure + offset
            for figure in (self.mean, self.low, self.high)
        )
        unseen = self.unseen and replace(self.unseen, value=self.unseen.value + offset)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)

    @property
    def turned(self) -> BoundCheck:
        """The same check for the negative values."""
        mean, low, high = (
            None if figure is None else -figure for figure in (self.mean, self.high, self.low)
        )
        unseen = self.unseen and replace(self.unseen, value=-self.unseen.value)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)


def check_bound(
    values: Floats | ResampledValue, bound: float, terms: Terms, limits: Range | None = None
) -> BoundCheck:
    """Compare the mean of a sample, or a number about all lists together, with a bound.

    A false pass has at most the chance alpha, as every rule that blocks must pass
    (intersection-union: Berger 1982). A false fail of any of the rules has at most alpha in all,
    as each takes its share (Bonferroni). Both as far as the interval covers: ``guaranteed`` always
    does, the others where n is large for the skew of the values.

    Args:
        values: of each query.
        bound: that the mean is compared with.
        terms: the options of inference.
        limits: the range that each possible value lies in; None where it has none.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if isinstance(values, ResampledValue):
        return _check_list_number(values, bound, terms)
    if terms.sizes is not None and len(values) == len(terms.sizes):
        return _check_clusters(values, bound, terms, limits)
    n = len(values)
    code, reason = _undecided_reason(n, terms)
    if reason:
        mean = float(values.mean()) if n else None
        return BoundCheck("inconclusive", n, mean, None, None, None, None, reason, code=code)
    table = values[:, None]
    mean = float(values.mean())
    low, high = (float(end[0]) for end in bound_ends(table, terms, limits))
    sd = 0.0 if is_column_flat(table)[0] else float(values.std(ddof=1))
    if not np.isfinite([low, high]).all():
        reason = (
            f"all {n} values are equal: there is no spread to make an interval of"
            if np.isnan(low)
            else f"{n} queries are too few to decide anything at this look"
        )
        return BoundCheck("inconclusive", n, mean, None, None, None, None, reason)
    status = str(decide_statuses(table, np.array([bound]), terms, limits)[0])
    more = count_more_queries(values, bound, terms, limits)
    result = BoundCheck(
        cast("Status", status),
        round(n * terms.per_value),
        mean,
        low,
        high,
        _detectable_difference(sd, n, terms, mean - low),
        more and ceil(more * terms.per_value),
    )
    if is_too_short(table, terms)[0]:
        reason = f"{n} queries with skewed differences decide nothing: intervals cover too rarely"
        return replace(result, why=reason)
    return replace(result, unseen=_unseen_loss(result, bound, terms, limits))


def _undecided_reason(n: int, terms: Terms) -> tuple[str, str]:
    """The code and the reason why a sample decides nothing; empty where it can decide."""
    if n < terms.least:
        queries_with_values = "1 query has" if n == 1 else f"{n} queries have"
        return (
            "",
            f"{queries_with_values} a value on both sides; fewer than {terms.least} decide nothing",
        )
    return terms.undecided or ("", "")


def _check_clusters(means: Floats, bound: float, terms: Terms, limits: Range | None) -> BoundCheck:
    """Guaranteed bounds from means of clusters of unequal sizes m.

    The mean over queries is above a bound b where E[m(ȳ − b)] > 0, and so where the mean of
    b + m(ȳ − b)/max(m) is, which lies within the range of the values.
    """
    assert terms.sizes is not None
    scaled_means = scale_into_range(means, terms.sizes, bound)
    result = check_bound(scaled_means, bound, replace(terms, sizes=None), limits)
    scale = float(terms.sizes.mean() / terms.sizes.max())
    mean, low, high = (
        None if end is None else bound + (end - bound) / scale
        for end in (result.mean, result.low, result.high)
    )
    return replace(result, mean=mean, low=low, high=high)


def scale_into_range(means: Floats, sizes: Floats, bound: float) -> Floats:
    """(C, …) b + m(ȳ − b)/max(m), of (C, …) means of clusters and their (C,) sizes m."""
    share = (sizes / sizes.max()).reshape(-1, *(1,) * (means.ndim - 1))
    return np.asarray(bound + share * (means - bound), np.float64)


def _unseen_loss(
    result: BoundCheck, bound: float, terms: Terms, limits: Range | None
) -> UnseenLoss | None:
    """The rule of three for a pass; None where even the lowest value would not turn it."""
    if result.status != "pass" or terms.interval == "guaranteed" or result.mean is None:
        return None
    share = unseen_share(result.n, terms.alpha) if terms.unseen is None else terms.unseen
    value = (bound - (1 - share) * result.mean) / share
    if limits is not None and value <= limits[0]:
        return None
    return UnseenLoss(share, value, by_weight=terms.unseen is not None)


def _check_list_number(result: ResampledValue, bound: float, terms: Terms) -> BoundCheck:
    """The same for a number about all lists together."""
    n, error = result.users, result.redrawn.error
    if n < MIN_QUERIES or np.isnan(error) or np.isnan(result.value):
        few = f"{n} users have lists; fewer than {MIN_QUERIES} decide nothing"
        reason = few if n < MIN_QUERIES else "some of the users alone give no number"
        mean = None if np.isnan(result.value) else result.value
        return BoundCheck("inconclusive", n, mean, None, None, None, None, reason)
    low = _outer_bounds(result, terms.alpha, terms)[0]
    high = _outer_bounds(result, terms.alpha / terms.tests, terms)[1]
    if not np.isfinite([low, high]).all():
        reason = f"{n} users are too few to decide anything at this look"
        return BoundCheck("inconclusive", n, result.value, None, None, None, None, reason)
    alpha = alpha_at_look(n, terms.alpha, terms)
    mde = float(detectable_difference(error * n**0.5, n, alpha, terms.power, sides=1))
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return BoundCheck(status, n, result.value, low, high, mde, None)


def _outer_bounds(result: ResampledValue, alpha: float, terms: Terms) -> tuple[float, float]:
    """One-sided bounds, the outer ones of the bootstrap's and of Student's with its error."""
    alpha = alpha_at_look(result.users, alpha, terms)
    if not alpha:
        return -np.inf, np.inf
    half_width = student_quantile(result.users - 1, 1 - alpha) * result.redrawn.error
    low, high = result.redrawn.ends(result.value, 1 - 2 * alpha)
    return min(low, result.value - half_width), max(high, result.value + half_width)


def _detectable_difference(sd: float, n: int, terms: Terms, below: float) -> float:
    """The smallest true difference that these queries show with the required power.

    Args:
        sd: of the values.
        n: queries.
        terms: the options of inference.
        below: the distance of the guaranteed bound below the mean.
    """
    if terms.interval == "guaranteed" or not sd:
        return float(below + student_quantile(n - 1, terms.power) * sd / n**0.5)
    alpha = alpha_at_look(n, terms.alpha, terms)
    return (
        float(detectable_difference(sd, n, alpha, terms.power, sides=1)) if alpha else float(np.inf)
    )
