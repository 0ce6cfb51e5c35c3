"""Compare mean differences with bounds: confidence bounds, relative margins, needed queries.

The module computes confidence bounds of many samples at once, margins that are a share of the
baseline's mean, and by resampling the number of queries that a rule needs. `check_bound` compares a
mean difference with a bound: above, below, or undecided.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.comparison.list_metrics import ResampledValue
from rankgate.measurement.stats.mean_intervals import (
    FEW,
    SKEWED,
    betting_exceeds,
    betting_low,
    guarded_ends,
    guarded_interval,
    skewness,
    student_quantile,
    unseen_share,
)
from rankgate.measurement.stats.query_power import (
    detectable_difference,
    needed_at_any_look,
    one_look_level,
    queries_for,
    queries_for_power,
)
from rankgate.measurement.stats.rare_changes import has_rare_changes, rare_change_ends
from rankgate.measurement.stats.resampling_tests import bootstrap_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.design import Contrast
    from rankgate.decisions.gating.rule import Evidence, Rule, Status, Terms
    from rankgate.measurement.stats.query_power import Samples

    Range = tuple[float, float]


ROUNDING = 1e-9
"""The rounding error of a sum of floats: a share that is at its bound is not beyond it."""

MIN_QUERIES = 10
"""Fewer queries than this decide nothing."""


def decide_statuses(
    table: Floats, bound: Floats, terms: Terms, limits: Range | None = None
) -> NDArray[np.str_]:
    """(S,) pass, fail or inconclusive of each column of (n, S) values, compared with (S,) bounds.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if len(table) < terms.least or terms.undecided is not None:
        return np.full(table.shape[1], "inconclusive")
    if terms.interval == "guaranteed":
        low, high = require_range(table, limits)
        is_above = betting_exceeds(np.clip(table, low, high), bound, low, high, terms.alpha)
        share = terms.alpha / terms.tests
        is_below = betting_exceeds(-np.clip(table, low, high), -bound, -high, -low, share)
    else:
        pass_bound, fail_bound = bound_ends(table, terms, limits)
        is_above, is_below = pass_bound > bound, fail_bound < bound
    result = np.where(is_above, "pass", np.where(is_below, "fail", "inconclusive"))
    return np.where(is_too_short(table, terms), "inconclusive", result)


def bound_ends(table: Floats, terms: Terms, limits: Range | None = None) -> tuple[Floats, Floats]:
    """The bounds for a pass and for a fail, (S,) each, of the columns of (n, S) values.

    Where few values differ from the others, the bounds are at least as wide as those of
    `rare_change_ends`; without a range, of the values that occur. NaN without a range and spread.
    """
    if terms.interval == "guaranteed":
        return _guaranteed(table, terms, require_range(table, limits))
    pass_bound = _interval(table, terms.alpha, terms)[0]
    fail_bound = _interval(table, terms.alpha / terms.tests, terms)[1]
    reach = float(np.abs(table).max(initial=0.0))
    size = None if terms.degrees is None else int(terms.degrees + 1)
    n = len(table) if size is None else size
    alphas = (alpha_at_look(n, alpha, terms) for alpha in (terms.alpha, terms.alpha / terms.tests))
    (low, _), (_, high) = (
        rare_change_ends(table, alpha, limits or (-reach, reach), size) for alpha in alphas
    )
    pass_bound, fail_bound = np.minimum(pass_bound, low), np.maximum(fail_bound, high)
    is_unknown = is_column_flat(table) & (limits is None)
    return np.where(is_unknown, np.nan, pass_bound), np.where(is_unknown, np.nan, fail_bound)


def is_column_flat(table: Floats) -> NDArray[np.bool_]:
    """(S,) True if all values of a column are equal, except for rounding."""
    return np.asarray(np.ptp(table, axis=0) <= ROUNDING, np.bool_)


def is_too_short(table: Floats, terms: Terms) -> NDArray[np.bool_]:
    """(S,) True if a column has too few values for its skew."""
    if terms.interval == "guaranteed" or len(table) >= FEW:
        return np.zeros(table.shape[1], np.bool_)
    return np.asarray(np.abs(skewness(table)) > SKEWED, np.bool_)


def require_range(table: Floats, limits: Range | None) -> Range:
    """The range of the values, which guaranteed bounds need.

    Raises:
        UsageError: no range, or a value lies outside of it.
    """
    if limits is None:
        raise UsageError(
            'interval = "guaranteed" needs a metric with a lowest and a highest value; use interval = "t", '
            "or take another metric.",
            code="unbounded-metric",
        )
    low, high = limits
    if table.min() < low - ROUNDING or table.max() > high + ROUNDING:
        raise UsageError(
            f"a value is outside the range from {low:g} to {high:g} that its metric declares, so interval = "
            '"guaranteed" gives no guarantee; fix the metric.',
            code="out-of-range",
        )
    return limits


def _guaranteed(table: Floats, terms: Terms, limits: Range) -> tuple[Floats, Floats]:
    low, high = limits
    clipped = np.clip(table, low, high)
    return (
        betting_low(clipped, low, high, terms.alpha),
        -betting_low(-clipped, -high, -low, terms.alpha / terms.tests),
    )


def _interval(table: Floats, alpha: float, terms: Terms) -> tuple[Floats, Floats]:
    """The lower and upper bounds, (S,) each, at one-sided level 1 − alpha."""
    size = len(table) if terms.degrees is None else int(terms.degrees + 1)
    alpha = alpha_at_look(size, alpha, terms)
    if not alpha:
        nowhere = np.full(table.shape[1], np.inf)
        return -nowhere, nowhere
    if terms.interval == "t":
        result = guarded_interval(table, 1 - 2 * alpha, terms.degrees)
    else:
        method: Literal["bca", "percentile"] = "bca" if terms.interval == "bca" else "percentile"
        result = bootstrap_interval(table, 1 - 2 * alpha, method, seed=terms.seed)
    return result.low, result.high


def alpha_at_look(n: int, alpha: float, terms: Terms) -> float:
    """The level of this look; alpha if there is only one look."""
    return one_look_level(n, alpha) if terms.anytime else alpha


def gain_beyond_share(gain: Floats, baseline: Floats, share: float) -> Floats:
    """The gain of each query beyond the loss that a share of its baseline allows.

    The mean of these gains is above 0 if the mean loss is below the share of the baseline's mean;
    so the interval includes the error of the margin, which is also an estimate.
    """
    sign = np.where(baseline.mean(axis=0) < 0, -1.0, 1.0)
    return np.asarray(gain + share * sign * baseline, np.float64)


def relative_contrast(gained: Contrast, share: float, *, turned: bool = False) -> Contrast:
    """`gain_beyond_share` of both systems' values; with ``turned`` of the baseline's gains."""
    sign = -1.0 if turned else 1.0

    def contrast(baseline: Floats, candidate: Floats) -> Floats:
        return gain_beyond_share(sign * gained(baseline, candidate), baseline, share)

    return contrast


def shifted_range(rule: Rule, evidence: Evidence) -> tuple[float, float] | None:
    """The range of these gains; None if the metric has no range."""
    value_range = evidence.inputs.ranges.get(rule["metric"])
    if value_range is None:
        return None
    largest_allowance = rule["relative"] * max(map(abs, value_range))
    width = value_range[1] - value_range[0]
    return (
        (-width - largest_allowance, width + largest_allowance)
        if value_range[0] < 0
        else (-width, width + largest_allowance)
    )


_CELLS, _MOST = 200_000, 100_000  # simulated numbers of queries; the largest number that is advised
_SAMPLES = 500  # samples of each size: the standard error of a share of 80 % is then 1.8 %


def count_more_queries(values: Floats, bound: float, terms: Terms, limits: Range | None) -> int | None:
    """The number of additional queries that settle this rule if the mean does not change."""
    distance, n = float(values.mean()) - bound, len(values)
    if not distance or (terms.interval != "guaranteed" and has_rare_changes(values)[0]):
        return None
    if terms.interval == "guaranteed":
        query_count = _guaranteed_size(values, bound, terms, require_range(values, limits))
    else:
        query_count = _simulated_size(values, bound, terms)
    return max(1, int(np.ceil(query_count)) - n) if np.isfinite(query_count) else None


def _simulated_size(values: Floats, bound: float, terms: Terms) -> float:
    """The number of queries by simulation: samples of the values get the rule's interval."""
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
        low, high = guarded_ends(samples.mean, samples.error, samples.skewness, independent, 1 - 2 * level)
        return np.asarray(low > bound if distance > 0 else high < bound, np.bool_)

    start = max(first_estimate, MIN_QUERIES)
    result = queries_for(values, decided, terms.power, start=start, draws=_SAMPLES, seed=terms.seed)
    return float(result[0])


def _guaranteed_size(values: Floats, bound: float, terms: Terms, limits: Range) -> float:
    """The number of queries at which samples of the values pass or fail with the wanted power."""
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


@dataclass(frozen=True)
class UnseenLoss:
    """The largest loss that a sample that passed cannot exclude.

    Attributes:
        share: the largest share of all queries that the sample misses completely with a chance
            of alpha.
        value: the mean of these missed queries at which the mean of all queries would be at the
            bound.
        by_weight: True if the share is a share of the weight of all queries.
    """

    share: float
    value: float
    by_weight: bool = False


@dataclass(frozen=True)
class BoundCheck:
    """The comparison of a sample with a bound.

    Attributes:
        status: pass if the interval of its mean lies above the bound, fail if below.
        n, mean, low, high: the sample; low is the bound that a pass needs, at one-sided level
            1 − alpha, high the one that a fail needs, at 1 − alpha / tests.
        mde: the smallest true difference that n queries detect, one-sided.
        more: the number of further queries that would settle the rule if the mean does not change;
            None if no number would.
        why: the reason why nothing can be inferred; empty if inference is possible.
        code: the code of the reason, if weights prevent an inference.
        unseen: the loss that a pass by normal theory cannot exclude, or None.
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
        """The check for values that are larger by an offset."""
        mean, low, high = (
            None if figure is None else figure + offset for figure in (self.mean, self.low, self.high)
        )
        unseen = self.unseen and replace(self.unseen, value=self.unseen.value + offset)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)

    @property
    def turned(self) -> BoundCheck:
        """The check for the negated values."""
        mean, low, high = (None if figure is None else -figure for figure in (self.mean, self.high, self.low))
        unseen = self.unseen and replace(self.unseen, value=-self.unseen.value)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)


def check_bound(
    values: Floats | ResampledValue, bound: float, terms: Terms, limits: Range | None = None
) -> BoundCheck:
    """Compare the mean of a sample, or a number about all lists together, with a bound.

    A false pass has at most the probability alpha, as every rule that blocks must pass
    (intersection-union: Berger 1982). A false fail of any rule has at most the probability alpha in
    total, as each rule takes its share (Bonferroni). Both hold if the interval has its coverage:
    ``guaranteed`` always has, other intervals if n is large for the skew of the values.

    Args:
        values: the values of each query.
        bound: the bound that the mean is compared with.
        terms: the options of inference.
        limits: the range of possible values, or None.

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
        query_count = count_more_queries(values, bound, terms, limits) if n > 1 else None
        query_count = max(query_count or 0, terms.least - n)
        return BoundCheck("inconclusive", n, mean, None, None, None, query_count, reason, code=code)
    table = values[:, None]
    mean = float(values.mean())
    low, high = (float(end[0]) for end in bound_ends(table, terms, limits))
    is_rare = bool(has_rare_changes(table)[0])
    sd = 0.0 if is_rare and terms.interval != "guaranteed" else float(values.std(ddof=1))
    if not np.isfinite([low, high]).all():
        reason = (
            f"all {n} values are equal: without variance there is no interval"
            if np.isnan(low)
            else f"{count_noun(n, 'query is', 'queries are')} too few to decide anything at this look"
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
        reason = (
            f"{count_noun(n, 'query')} with skewed differences "
            f"{'decides' if n == 1 else 'decide'} nothing: intervals cover too rarely"
        )
        return replace(result, why=reason)
    return replace(result, unseen=_unseen_loss(result, bound, terms, limits))


def _undecided_reason(n: int, terms: Terms) -> tuple[str, str]:
    """The code and the reason why a sample allows no decision; empty if it allows one."""
    if n < terms.least:
        queries_text = count_noun(n, "query has", "queries have")
        return "", f"{queries_text} a value on both sides; fewer than {terms.least} decide nothing"
    return terms.undecided or ("", "")


def _check_clusters(means: Floats, bound: float, terms: Terms, limits: Range | None) -> BoundCheck:
    """Guaranteed bounds from means of clusters of unequal sizes m.

    The mean over queries is above a bound b if E[m(ȳ − b)] > 0, and so if the mean of b + m(ȳ −
    b)/max(m) is above b; these terms are within the range of the values.
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


def _unseen_loss(result: BoundCheck, bound: float, terms: Terms, limits: Range | None) -> UnseenLoss | None:
    """The rule of three for a pass; None if even the lowest value would not change the pass."""
    if result.status != "pass" or terms.interval == "guaranteed" or result.mean is None:
        return None
    share = unseen_share(result.n, terms.alpha) if terms.unseen is None else terms.unseen
    value = (bound - (1 - share) * result.mean) / share
    if limits is not None and value <= limits[0]:
        return None
    return UnseenLoss(share, value, by_weight=terms.unseen is not None)


def _check_list_number(result: ResampledValue, bound: float, terms: Terms) -> BoundCheck:
    """Compare a number about all lists together with a bound."""
    n, error = result.users, result.redrawn.error
    if n < MIN_QUERIES or np.isnan(error) or np.isnan(result.value):
        few = f"{count_noun(n, 'user has', 'users have')} lists; fewer than {MIN_QUERIES} decide nothing"
        reason = few if n < MIN_QUERIES else "some of the users alone give no number"
        mean = None if np.isnan(result.value) else result.value
        return BoundCheck("inconclusive", n, mean, None, None, None, None, reason)
    low = _outer_bounds(result, terms.alpha, terms)[0]
    high = _outer_bounds(result, terms.alpha / terms.tests, terms)[1]
    if not np.isfinite([low, high]).all():
        reason = f"{count_noun(n, 'user is', 'users are')} too few to decide anything at this look"
        return BoundCheck("inconclusive", n, result.value, None, None, None, None, reason)
    alpha = alpha_at_look(n, terms.alpha, terms)
    mde = float(detectable_difference(error * n**0.5, n, alpha, terms.power, sides=1))
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return BoundCheck(status, n, result.value, low, high, mde, None)


def _outer_bounds(result: ResampledValue, alpha: float, terms: Terms) -> tuple[float, float]:
    """One-sided bounds: the outer ones of the bootstrap's and of Student's with its error."""
    alpha = alpha_at_look(result.users, alpha, terms)
    if not alpha:
        return -np.inf, np.inf
    half_width = student_quantile(result.users - 1, 1 - alpha) * result.redrawn.error
    low, high = result.redrawn.ends(result.value, 1 - 2 * alpha)
    return min(low, result.value - half_width), max(high, result.value + half_width)


def _detectable_difference(sd: float, n: int, terms: Terms, below: float) -> float:
    """The smallest true difference that these queries detect with the required power.

    Args:
        sd: the standard deviation of the values.
        n: the number of queries.
        terms: the options of inference.
        below: the distance of the guaranteed bound below the mean.
    """
    if terms.interval == "guaranteed" or not sd:
        return float(below + student_quantile(n - 1, terms.power) * sd / n**0.5)
    alpha = alpha_at_look(n, terms.alpha, terms)
    return float(detectable_difference(sd, n, alpha, terms.power, sides=1)) if alpha else float(np.inf)
