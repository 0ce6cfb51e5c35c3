"""Change-points in a series of evaluations of the same queries, with a stated false alarm rate.

Shapes: T evaluations, n queries; a series without values per query has T means.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.core.arrays import Floats


WINDOWS = (1, 2, 4, 8, 16)
"""Numbers of evaluations after a change that are tested; the smallest finds large changes at once,
the largest finds small ones in a noisy series. One is enough only where nothing moved before."""

MAX_SPAN = 46
"""Evaluations that a look goes back, those after the change included."""

MIN_BEFORE = 2
"""The smallest number of evaluations before a change, where values were the same each time."""

MIN_BEFORE_MOVING = 6
"""The same where means move from one evaluation to the next, or where only means are known."""

_PAIR = 2  # windows of this size use the largest earlier deviation; longer ones use ranks
_TAIL = 2.0  # index of the heaviest tail that is allowed: finite variance
_CAUTION = 0.5  # standard errors added to the estimated correlation
_MOST = 0.97  # the largest correlation that is assumed
_WINDOWS = 2.0  # number of independent windows with the same effect
_TINY = 1e-12  # share of a value: a rounding error


@dataclass(frozen=True)
class Change:
    """A change of the mean.

    Attributes:
        place: the index of the first evaluation after it, from 0.
        found: the index of the evaluation at which it was detected; ``found - place`` is the delay.
        before, after: the means before and after the change, at the time of detection.
        delta: after − before.
        low, high: its 95 % interval.
        p_value: the p-value of the test that detected it; by queries, times the number of windows.
        queries: the number of queries; 0 if only means are known.
    """

    place: int
    found: int
    before: float
    after: float
    delta: float
    low: float
    high: float
    p_value: float
    queries: int


def change_points(values: Floats, *, rate: float = 0.001) -> tuple[Change, ...]:
    """Detect changes of the mean, in the order of time.

    At each evaluation the last w of a segment are compared with those before them, back to
    `MAX_SPAN`, for each w of `WINDOWS`. A change must be larger than what other queries, and
    larger than what other days, would show; the larger p-value of the two tests counts.

    Queries: the mean of the differences of the n queries, after less before, over s/√n; Student's
    t with n − 1, times the number of windows. It is alone where all means before were equal: an
    engine that does not change.

    Days, w of 4 and more: the means m of the evaluations are replaced by normal scores of their
    ranks, Φ⁻¹(rank / (N + 1)), so that neither outliers nor heavy tails count for more. The
    difference of mean scores has the variance

        v (f(w)/w + f(b)/b),   f(m) = 1 + 2 Σ (1 − k/m) ρᵏ,

    v that of all N scores, b = N − w, and ρ the correlation of neighbouring scores around the mean
    of their side plus (1 + 3ρ)/N, its bias, and half its standard error. The squared difference
    over this variance, over N − 1, is a squared correlation r² of scores and sides, and the p-value
    that of Student's t = r √((N − 2) / (1 − r²)), times 2 for the windows, and not less than
    2 / C(N, w), the exact one of the most extreme ranks. A straight line must not fit the scores
    better than the step: a drift is not a change at one moment.

    Days, w of 2: both must be on one side of the median m₀ of those before, and c > 1 times as far
    from it as the farthest of those. Independent values with a tail of index α do that with a
    chance of at most w! b! / (b + w)! · c^(−αw); α is 2, and b and w are divided by f(b) and f(w).

    The evaluation has a change if the smallest p-value over the windows is at most ``rate``.
    The factor of 2 and the half standard error are from simulation: false alarms stay below the
    rate on independent days, whatever their distribution, and below twice the rate where days
    resemble the day before (AR(1) up to 0.9). A season larger than the noise gives more false
    alarms. The same holds for a slow drift under further noise, because its correlation is
    underestimated. When a change is found, the segment before it ends and the next begins.

    Args:
        values: (T, n) a row for each evaluation, NaN if a query has no value; or (T,) means.
        rate: the false alarm rate of each evaluation, two-sided.

    Source: normal scores as van der Waerden, Indagationes Mathematicae 14 (1952); moving sums as
    Eichinger and Kirch, Bernoulli 24 (2018); the bias of a correlation as Marriott and Pope,
    Biometrika 41 (1954); two tests together as Berger, Technometrics 24 (1982). The rate is
    measured in docs/validity.md.
    """
    return extend_change_points(values, (), 0, rate=rate)


def extend_change_points(
    values: Floats, earlier_changes: Sequence[Change], looked_count: int, *, rate: float = 0.001
) -> tuple[Change, ...]:
    """The changes in a series that became longer, without testing its old part again.

    Args:
        values: as in `change_points`, the old part and the new part.
        earlier_changes: the changes that `change_points` found in the old part.
        looked_count: the number of evaluations in the old part.
        rate: as in `change_points`.
    """
    table = np.asarray(values, dtype=np.float64)
    per_query = table.ndim == 2
    rows = table if per_query else table[:, None]
    changes = list(earlier_changes)
    for position in range(looked_count, len(rows)):
        begin = changes[-1].place if changes else 0
        strongest = _strongest_window(
            rows[max(begin, position + 1 - MAX_SPAN) : position + 1], rate, per_query=per_query
        )
        if strongest is not None:
            window, change = strongest
            changes.append(Change(position - window + 1, position, *change))
    return tuple(changes)


def correlation_in_time(means: Floats, places: Sequence[int] = ()) -> float:
    """The correlation of evaluations with the next one, around the mean of their segment.

    It uses normal scores of the residuals. It is 0 for fewer than `MAX_SPAN` evaluations, or if all
    equal the mean of their segment.

    Args:
        means: (T,) the means of the evaluations.
        places: the indexes of the first evaluation of each later segment.
    """
    if len(means) < MAX_SPAN:
        return 0.0
    residuals = np.concatenate([side - side.mean() for side in np.split(means, places)])
    if np.abs(residuals).max() <= _TINY * np.abs(means).max():
        return 0.0
    scores = _normal_scores(residuals)
    square = float(scores @ scores)
    return float(scores[1:] @ scores[:-1]) / square if square else 0.0


def _strongest_window(
    segment: Floats, rate: float, *, per_query: bool
) -> tuple[int, tuple[float, float, float, float, float, float, int]] | None:
    """The window with the strongest change at the end of a segment; None if there is no change."""
    rows = segment[:, ~np.isnan(segment).any(axis=0)]
    if rows.shape[1] < (2 if per_query else 1):
        return None
    means = rows.mean(axis=1)
    tiny = _TINY * float(np.abs(rows).max())
    windows = [window for window in WINDOWS if len(rows) - window >= MIN_BEFORE]
    days = _DayTests(means, tiny)
    strongest, smallest = 0, rate
    for window in windows:
        means_before, means_after = means[:-window], means[-window:]
        if abs(means_after.mean() - means_before.mean()) <= tiny:  # sums of the same values in another order
            continue
        p = 0.0
        if not (per_query and np.ptp(means_before) <= tiny):
            p = days.p_value(window)
        if p <= rate and per_query:
            p = max(p, _queries_p_value(rows, window, tiny) * len(windows))
        if p <= rate and (not strongest or p < smallest * (1 - 1e-6)):
            strongest, smallest = window, p
    if not strongest:
        return None
    return strongest, _change_figures(rows, strongest, smallest, days, per_query=per_query)


class _DayTests:
    """Tests of the means of a segment over time; scores are computed at first use."""

    def __init__(self, means: Floats, tiny: float) -> None:
        self.means, self.tiny = means, tiny
        self.scores: Floats | None = None

    def p_value(self, window: int) -> float:
        """The p-value of a change before the last evaluations; 1 if there are too few before it."""
        count_before = len(self.means) - window
        if window < _PAIR or count_before < MIN_BEFORE_MOVING:
            return 1.0
        if window == _PAIR:
            return self._of_pair()
        from rankgate.measurement.stats.special_functions import stdtr

        step, line = self._explained(window)
        if step <= line:
            return 1.0
        scores, variance_factors = self._scores(), self.shares(window)
        delta = scores[-window:].mean() - scores[:-window].mean()
        variance = float(scores @ scores) * (
            variance_factors[0] / window + variance_factors[1] / count_before
        )
        correlation = min(float(delta**2) / variance, 1 - 1e-9)  # its square, with the step
        freedom = len(scores) - 2
        p = 2 * float(stdtr(freedom, -math.sqrt(correlation * freedom / (1 - correlation))))
        return max(_WINDOWS * p, 2 / math.comb(len(scores), window))

    def shares(self, window: int) -> tuple[float, float]:
        """The factors f after and before, by the correlation around the means of both sides."""
        scores = self._scores()
        centred = np.concatenate([side - side.mean() for side in (scores[:-window], scores[-window:])])
        square = float(centred @ centred)
        products = centred[1:] * centred[:-1]
        total = float(products.sum() - products[-window])
        correlation = total / square if square > 0 else 0.0
        error = math.sqrt(max(1 - correlation**2, 0.05) / len(scores))
        assumed_correlation = correlation + (1 + 3 * max(correlation, 0.0)) / len(scores) + _CAUTION * error
        assumed_correlation = min(max(assumed_correlation, 0.0), _MOST)
        return _variance_factor(window, assumed_correlation), _variance_factor(
            len(scores) - window, assumed_correlation
        )

    def _scores(self) -> Floats:
        if self.scores is None:
            self.scores = _normal_scores(self.means)
        return self.scores

    def _of_pair(self) -> float:
        means_before, means_after = self.means[:-_PAIR], self.means[-_PAIR:]
        median = float(np.median(means_before))
        farthest = float(np.abs(means_before - median).max())
        nearest = float(np.abs(means_after - median).min())
        same_side = (means_after[0] > median) == (means_after[1] > median)
        if farthest <= self.tiny or nearest <= farthest or not same_side:
            return 1.0
        factor_after, factor_before = self.shares(_PAIR)
        before_size, after_size = len(means_before) / factor_before, _PAIR / factor_after
        chance = (
            math.lgamma(after_size + 1)
            + math.lgamma(before_size + 1)
            - math.lgamma(before_size + after_size + 1)
        )
        return math.exp(chance - _TAIL * after_size * math.log(nearest / farthest))

    def _explained(self, window: int) -> tuple[float, float]:
        """Sums of squares of the scores that the step and a straight line explain."""
        scores = self._scores()
        count = len(scores)
        delta = scores[-window:].mean() - scores[:-window].mean()
        moments = np.arange(count) - (count - 1) / 2
        line = float(moments @ scores) ** 2 / float(moments @ moments)
        return float(delta**2) / (1 / window + 1 / (count - window)), line


def _normal_scores(values: Floats) -> Floats:
    """Normal scores of the ranks, centred; equal values have the score of their mean rank."""
    from rankgate.measurement.stats.special_functions import ndtri

    sorted_values = np.sort(values)
    ranks = sorted_values.searchsorted(values, "left") + sorted_values.searchsorted(values, "right") + 1
    scores = ndtri(ranks / (2 * (len(values) + 1)))
    return np.asarray(scores - scores.mean(), np.float64)


def _queries_p_value(rows: Floats, window: int, tiny: float) -> float:
    """The two-sided p-value of the mean difference over queries; 0 if all are equal."""
    from rankgate.measurement.stats.special_functions import stdtr

    differences = rows[-window:].mean(axis=0) - rows[:-window].mean(axis=0)
    count = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    if error <= tiny:
        return 0.0 if len(rows) - window >= MIN_BEFORE_MOVING else 1.0
    return 2 * float(stdtr(count - 1, -abs(float(differences.mean())) / error))


def _change_figures(
    rows: Floats, window: int, p: float, days: _DayTests, *, per_query: bool
) -> tuple[float, float, float, float, float, float, int]:
    """Compute before, after, delta, its 95 % interval, p and the number of queries.

    The variance of delta is that over queries plus that over time; the quantile is Student's with
    the degrees of freedom of Welch and Satterthwaite (Welch, Biometrika 34, 1947).
    """
    from rankgate.measurement.stats.special_functions import stdtrit

    means_before, means_after = days.means[:-window], days.means[-window:]
    low_side, high_side = float(means_before.mean()), float(means_after.mean())
    count, terms = rows.shape[1], []
    if per_query:
        differences = rows[-window:].mean(axis=0) - rows[:-window].mean(axis=0)
        terms.append((float(differences.var(ddof=1)) / count, count - 1))
    freedom = len(rows) - 2
    sum_of_squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (means_before, means_after))
    if freedom and sum_of_squares > days.tiny**2:
        variance_factors = days.shares(window)
        over_time = (
            sum_of_squares
            / freedom
            * (variance_factors[0] / window + variance_factors[1] / len(means_before))
        )
        terms.append((over_time, freedom))
    variance = sum(term for term, _ in terms)
    half_width = 0.0
    if variance > 0:
        degrees = variance**2 / sum(term**2 / free for term, free in terms)
        half_width = float(stdtrit(degrees, 0.975)) * math.sqrt(variance)
    delta = high_side - low_side
    return (
        low_side,
        high_side,
        delta,
        delta - half_width,
        delta + half_width,
        min(p, 1.0),
        count if per_query else 0,
    )


def _variance_factor(count: int, correlation: float) -> float:
    """The variance of the sum of AR(1) values over that of as many independent ones."""
    if not correlation or count == 1:
        return 1.0
    complement = 1 - correlation
    return 1 + 2 * (
        correlation / complement - correlation * (1 - correlation**count) / (count * complement**2)
    )
