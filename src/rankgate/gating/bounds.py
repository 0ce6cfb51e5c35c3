"""A mean difference compared with a bound: above, below, or undecided."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from rankgate.errors import UsageError
from rankgate.gating.whole import Drawn
from rankgate.stats.bootstrap import bootstrap_interval
from rankgate.stats.bounded import betting_exceeds, betting_low, unseen_share
from rankgate.stats.interval import (
    FEW,
    SKEWED,
    guarded_ends,
    guarded_interval,
    skewness,
    student_quantile,
)
from rankgate.stats.power import detectable, needed
from rankgate.stats.sample_size import queries_for
from rankgate.stats.sequential import needed_at_any_look, one_look_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.gating.evidence import Terms
    from rankgate.gating.rule import Status
    from rankgate.stats.sample_size import Samples

    Floats = NDArray[np.float64]
    Range = tuple[float, float]

SLACK = 1e-9
"""What a sum of floats may be off: a share that is at its bound is not beyond it."""

LEAST = 10
"""Fewer queries than this decide nothing."""

_CELLS, _MOST = 200_000, 100_000  # numbers of a simulation; queries that are worth advising
_SAMPLES = 500  # of each size: the standard error of a share of 80 % is then 1.8 %


@dataclass(frozen=True)
class Unseen:
    """What a sample that passed cannot exclude.

    Attributes:
        share: the largest share of all queries of which the sample shows none with a chance of
            alpha.
        value: the mean of such queries at which the mean of all would be at the bound.
    """

    share: float
    value: float


@dataclass(frozen=True)
class Held:
    """A sample compared with a bound.

    Attributes:
        status: pass if the interval of its mean lies above the bound, fail if below.
        n, mean, low, high: the sample; low is the bound that a pass needs, at one-sided level
            1 − alpha, high the one that a fail needs, at 1 − alpha / tests.
        mde: the smallest true difference that so many queries show, one-sided.
        more: queries that would settle it if the mean stays, None where none would.
        why: why nothing can be inferred at all; empty where it can.
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

    def shifted(self, by: float) -> Held:
        """The same of values that are larger by so much."""
        mean, low, high = (None if x is None else x + by for x in (self.mean, self.low, self.high))
        unseen = self.unseen and replace(self.unseen, value=self.unseen.value + by)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)

    @property
    def turned(self) -> Held:
        """The same of the negative values."""
        mean, low, high = (None if x is None else -x for x in (self.mean, self.high, self.low))
        unseen = self.unseen and replace(self.unseen, value=-self.unseen.value)
        return replace(self, mean=mean, low=low, high=high, unseen=unseen)


def held(values: Floats | Drawn, bound: float, terms: Terms, limits: Range | None = None) -> Held:
    """Compare the mean of a sample, or a number about all lists together, with a bound.

    A false pass has at most the chance alpha, as every rule that blocks must pass
    (intersection-union: Berger 1982). A false fail of any of the rules has at most alpha in all,
    as each takes its share (Bonferroni). Both as far as the interval covers: ``guaranteed`` always
    does, the others where n is large for the skew of the values.

    Args:
        values: of each query.
        bound: that the mean is compared with.
        terms: how rules infer.
        limits: the range that each value lies in, whatever was seen; None where it has none.

    Raises:
        UsageError: a guaranteed interval of values without a range, or outside of it.
    """
    if isinstance(values, Drawn):
        return _drawn(values, bound, terms)
    n = len(values)
    if n < LEAST:
        some = "1 query has" if n == 1 else f"{n} queries have"
        why = f"{some} a value on both sides; fewer than {LEAST} decide nothing"
        mean = float(values.mean()) if n else None
        return Held("inconclusive", n, mean, None, None, None, None, why)
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
        return Held("inconclusive", n, mean, None, None, None, None, why)
    status = str(statuses(table, np.array([bound]), terms, limits)[0])
    told = Held(
        cast("Status", status), n, mean, low, high, _detectable(sd, n, terms, mean - low),
        _more(values, bound, terms, limits),
    )  # fmt: skip
    if _too_few(table, terms)[0]:
        why = f"{n} queries with skewed differences decide nothing: intervals cover too rarely"
        return replace(told, why=why)
    return replace(told, unseen=_unseen(told, bound, terms, limits))


def statuses(
    table: Floats, bound: Floats, terms: Terms, limits: Range | None = None
) -> NDArray[np.str_]:
    """(S,) pass, fail or inconclusive of each column of (n, S) values, compared with (S,) bounds.

    Raises:
        UsageError: as `held`.
    """
    if len(table) < LEAST:
        return np.full(table.shape[1], "inconclusive")
    if terms.interval == "guaranteed":
        low, high = _ranged(table, limits)
        above = betting_exceeds(np.clip(table, low, high), bound, low, high, terms.alpha)
        share = terms.alpha / terms.tests
        below = betting_exceeds(-np.clip(table, low, high), -bound, -high, -low, share)
    else:
        passing, failing = ends(table, terms, limits)
        above, below = passing > bound, failing < bound
    told = np.where(above, "pass", np.where(below, "fail", "inconclusive"))
    return np.where(_too_few(table, terms), "inconclusive", told)


def ends(table: Floats, terms: Terms, limits: Range | None = None) -> tuple[Floats, Floats]:
    """(S,) each: the bounds that a pass and a fail need, of each column of (n, S) values.

    A column without spread has the guaranteed bounds, NaN where its values have no range.
    """
    if terms.interval == "guaranteed":
        return _guaranteed(table, terms, _ranged(table, limits))
    passing = _interval(table, terms.alpha, terms)[0]
    failing = _interval(table, terms.alpha / terms.tests, terms)[1]
    if (still := flat(table)).any():
        some = table[:, still]
        nothing = np.full(some.shape[1], np.nan)
        safe = _guaranteed(some, terms, limits) if limits else (nothing, nothing)
        passing, failing = passing.copy(), failing.copy()
        passing[still], failing[still] = safe
    return passing, failing


def flat(table: Floats) -> NDArray[np.bool_]:
    """(S,) whether all values of a column are equal, but for rounding."""
    return np.asarray(np.ptp(table, axis=0) <= SLACK, np.bool_)


def _too_few(table: Floats, terms: Terms) -> NDArray[np.bool_]:
    """(S,) whether a column is too short for its skew."""
    if terms.interval == "guaranteed" or len(table) >= FEW:
        return np.zeros(table.shape[1], np.bool_)
    return np.asarray(np.abs(skewness(table)) > SKEWED, np.bool_)


def _ranged(table: Floats, limits: Range | None) -> Range:
    if limits is None:
        raise UsageError(
            'interval = "guaranteed" needs a metric with a lowest and a highest value; say '
            'interval = "t", or take another metric.',
            code="unbounded-metric",
        )
    low, high = limits
    if table.min() < low - SLACK or table.max() > high + SLACK:
        raise UsageError(
            f"a value lies outside of the range from {low:g} to {high:g} that its metric declares, "
            'so that interval = "guaranteed" would guarantee nothing; mend the metric.',
            code="out-of-range",
        )
    return limits


def _guaranteed(table: Floats, terms: Terms, limits: Range) -> tuple[Floats, Floats]:
    low, high = limits
    inside = np.clip(table, low, high)
    return (
        betting_low(inside, low, high, terms.alpha),
        -betting_low(-inside, -high, -low, terms.alpha / terms.tests),
    )


def _interval(table: Floats, alpha: float, terms: Terms) -> tuple[Floats, Floats]:
    """(S,) each: lower and upper bounds at one-sided level 1 − alpha."""
    alpha = _at_look(len(table), alpha, terms)
    if not alpha:
        nowhere = np.full(table.shape[1], np.inf)
        return -nowhere, nowhere
    if terms.interval == "t":
        told = guarded_interval(table, 1 - 2 * alpha)
    else:
        method: Literal["bca", "percentile"] = "bca" if terms.interval == "bca" else "percentile"
        told = bootstrap_interval(table, 1 - 2 * alpha, method, seed=terms.seed)
    return told.low, told.high


def _at_look(n: int, alpha: float, terms: Terms) -> float:
    """The level of this look; alpha where there is only one."""
    return one_look_level(n, alpha) if terms.anytime else alpha


def _unseen(told: Held, bound: float, terms: Terms, limits: Range | None) -> Unseen | None:
    """The rule of three for a pass; None where even the lowest value would not turn it."""
    if told.status != "pass" or terms.interval == "guaranteed" or told.mean is None:
        return None
    share = unseen_share(told.n, terms.alpha)
    value = (bound - (1 - share) * told.mean) / share
    return Unseen(share, value) if limits is None or value > limits[0] else None


def _drawn(told: Drawn, bound: float, terms: Terms) -> Held:
    """The same for a number about all lists together."""
    n, error = told.users, told.redrawn.error
    if n < LEAST or np.isnan(error) or np.isnan(told.value):
        few = f"{n} users have lists; fewer than {LEAST} decide nothing"
        why = few if n < LEAST else "some of the users alone give no number"
        mean = None if np.isnan(told.value) else told.value
        return Held("inconclusive", n, mean, None, None, None, None, why)
    low = _outer(told, terms.alpha, terms)[0]
    high = _outer(told, terms.alpha / terms.tests, terms)[1]
    if not np.isfinite([low, high]).all():
        why = f"{n} users are too few to decide anything at this look"
        return Held("inconclusive", n, told.value, None, None, None, None, why)
    alpha = _at_look(n, terms.alpha, terms)
    mde = float(detectable(error * n**0.5, n, alpha, terms.power, sides=1))
    status: Status = "pass" if low > bound else "fail" if high < bound else "inconclusive"
    return Held(status, n, told.value, low, high, mde, None)


def _outer(told: Drawn, alpha: float, terms: Terms) -> tuple[float, float]:
    """One-sided bounds, the outer ones of the bootstrap's and of Student's with its error."""
    alpha = _at_look(told.users, alpha, terms)
    if not alpha:
        return -np.inf, np.inf
    reach = student_quantile(told.users - 1, 1 - alpha) * told.redrawn.error
    low, high = told.redrawn.ends(told.value, 1 - 2 * alpha)
    return min(low, told.value - reach), max(high, told.value + reach)


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
    alpha = _at_look(n, terms.alpha, terms)
    return float(detectable(sd, n, alpha, terms.power, sides=1)) if alpha else float(np.inf)


def _more(values: Floats, bound: float, terms: Terms, limits: Range | None) -> int | None:
    """Queries in addition to those at hand that settle this rule, if the mean stays as it is."""
    distance, n = float(values.mean()) - bound, len(values)
    if not distance or flat(values[:, None])[0]:
        return None
    if terms.interval == "guaranteed":
        whole = _guaranteed_size(values, bound, terms, _ranged(values, limits))
    else:
        whole = _simulated_size(values, bound, terms)
    return max(1, int(np.ceil(whole)) - n) if np.isfinite(whole) else None


def _simulated_size(values: Floats, bound: float, terms: Terms) -> float:
    """The same by samples of the measured values that are put through the rule's own interval."""
    distance, sd = float(values.mean()) - bound, float(values.std(ddof=1))
    alpha = terms.alpha if distance > 0 else terms.alpha / terms.tests
    if terms.anytime:
        guess = needed_at_any_look(distance, sd, alpha, terms.power)
    else:
        guess = needed(distance, sd, alpha, terms.power, sides=1)
    if not guess < _MOST:
        return guess

    def decided(drawn: Samples) -> NDArray[np.bool_]:
        size = int(drawn.n.max())
        level = _at_look(size, alpha, terms)
        if size < LEAST or not level:
            return np.zeros((len(drawn.n), 1), np.bool_)
        low, high = guarded_ends(drawn.mean, drawn.error, drawn.skewness, size, 1 - 2 * level)
        return np.asarray(low > bound if distance > 0 else high < bound, np.bool_)

    start = max(guess, LEAST)
    told = queries_for(values, decided, terms.power, start=start, draws=_SAMPLES, seed=terms.seed)
    return float(told[0])


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
