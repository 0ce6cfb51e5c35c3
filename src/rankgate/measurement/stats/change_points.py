"""Change-points of a series of evaluations of the same queries, with a stated rate of false alarms.

Shapes: T evaluations, n queries; a series without values per query has T means.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WINDOWS = (1, 2, 4, 8, 16)
"""How many evaluations after a change are looked at; the smallest finds large changes at once, the
largest finds small ones in a noisy series. One is enough only where nothing moved before."""

SPAN = 46
"""Evaluations that a look goes back, those after the change included."""

BEFORE = 2
"""Evaluations that there must be before a change, where the same values came back each time."""

BEFORE_MOVING = 6
"""The same where the means move from one evaluation to the next, or are all that is available."""

_PAIR = 2  # evaluations that are compared with the largest deviation before them; more have ranks
_TAIL = 2.0  # index of the heaviest tail that is allowed for: with a finite variance
_CAUTION = 0.5  # standard errors that are added to the estimated correlation
_MOST = 0.97  # the largest correlation that is assumed
_WINDOWS = 2.0  # independent ones to which the windows amount
_TINY = 1e-12  # of a value: an error of rounding


@dataclass(frozen=True)
class Change:
    """A change of the mean.

    Attributes:
        place: of the first evaluation after it, from 0.
        found: of the evaluation at which it was found; ``found - place`` is the delay.
        before, after: means of the two sides, at the time of finding it.
        delta: after − before.
        low, high: its 95 % interval.
        p_value: of the test that found it; that over queries times the number of windows.
        queries: how many it is over; 0 where only means are known.
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
    """Changes of the mean in the order of time.

    At each evaluation the last w of a stretch are compared with those before them, back to `SPAN`,
    for each w of `WINDOWS`. A change must be larger than what other queries, and larger than what
    other days, would show; the larger p-value of the two tests counts.

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
    better than the step: a drift is no change at one moment.

    Days, w of 2: both must be on one side of the median m₀ of those before, and c > 1 times as far
    from it as the farthest of those. Independent values with a tail of index α do that with a
    chance of at most w! b! / (b + w)! · c^(−αw); α is 2, and b and w are divided by f(b) and f(w).

    The evaluation has a change where the smallest p-value over the windows is at most ``rate``.
    The factor of 2 and the half standard error are from simulation: false alarms stay below the
    rate on independent days, whatever their distribution, and below twice the rate where days
    resemble the day before (AR(1) up to 0.9). A season that is larger than the noise gives more,
    and so does a slow wandering under further noise, whose correlation is estimated too low.
    When a change is found, the stretch before it ends and the next begins.

    Args:
        values: (T, n) a row for each evaluation; NaN where a query has no value. Or (T,) means.
        rate: false alarms for each evaluation, two-sided.

    Source: normal scores as van der Waerden, Indagationes Mathematicae 14 (1952); moving sums as
    Eichinger and Kirch, Bernoulli 24 (2018); the bias of a correlation as Marriott and Pope,
    Biometrika 41 (1954); two tests together as Berger, Technometrics 24 (1982). The rate is
    measured in docs/validity.md.
    """
    return continued(values, (), 0, rate=rate)


def continued(
    values: Floats, known: Sequence[Change], looked: int, *, rate: float = 0.001
) -> tuple[Change, ...]:
    """The changes of a series that became longer, without looking at its old part again.

    Args:
        values: as of `change_points`, the old part and the new one.
        known: what `change_points` found in the old part.
        looked: evaluations of the old part.
        rate: as of `change_points`.
    """
    table = np.asarray(values, dtype=np.float64)
    per_query = table.ndim == 2
    rows = table if per_query else table[:, None]
    found = list(known)
    for now in range(looked, len(rows)):
        begin = found[-1].place if found else 0
        strongest = _look(rows[max(begin, now + 1 - SPAN) : now + 1], rate, per_query=per_query)
        if strongest is not None:
            window, change = strongest
            found.append(Change(now - window + 1, now, *change))
    return tuple(found)


def correlation_in_time(means: Floats, places: Sequence[int] = ()) -> float:
    """Correlation of evaluations with the next one, around the mean of their stretch.

    By the normal scores of the residuals; 0 where fewer than `SPAN` evaluations are there, or where
    none differs from the mean of its stretch.

    Args:
        means: (T,) of the evaluations.
        places: of the first evaluation of further stretches.
    """
    if len(means) < SPAN:
        return 0.0
    residuals = np.concatenate([side - side.mean() for side in np.split(means, places)])
    if np.abs(residuals).max() <= _TINY * np.abs(means).max():
        return 0.0
    scores = _normal_scores(residuals)
    square = float(scores @ scores)
    return float(scores[1:] @ scores[:-1]) / square if square else 0.0


def _look(
    stretch: Floats, rate: float, *, per_query: bool
) -> tuple[int, tuple[float, float, float, float, float, float, int]] | None:
    """The window with the strongest change at the end of a stretch; None without any."""
    rows = stretch[:, ~np.isnan(stretch).any(axis=0)]
    if rows.shape[1] < (2 if per_query else 1):
        return None
    means = rows.mean(axis=1)
    tiny = _TINY * float(np.abs(rows).max())
    windows = [window for window in WINDOWS if len(rows) - window >= BEFORE]
    days = _Days(means, tiny)
    strongest, smallest = 0, rate
    for window in windows:
        before, after = means[:-window], means[-window:]
        if abs(after.mean() - before.mean()) <= tiny:  # sums of the same values in another order
            continue
        p = 0.0
        if not (per_query and np.ptp(before) <= tiny):
            p = days.p_value(window)
        if p <= rate and per_query:
            p = max(p, _over_queries(rows, window, tiny) * len(windows))
        if p <= rate and (not strongest or p < smallest * (1 - 1e-6)):
            strongest, smallest = window, p
    if not strongest:
        return None
    return strongest, _described(rows, strongest, smallest, days, per_query=per_query)


class _Days:
    """Tests of the means of a stretch over time; the scores are made when they are first needed."""

    def __init__(self, means: Floats, tiny: float) -> None:
        self.means, self.tiny = means, tiny
        self.scores: Floats | None = None

    def p_value(self, window: int) -> float:
        """Of a change before the last evaluations; 1 where there are too few before it."""
        before = len(self.means) - window
        if window < _PAIR or before < BEFORE_MOVING:
            return 1.0
        if window == _PAIR:
            return self._of_pair()
        from scipy.special import stdtr

        step, line = self._explained(window)
        if step <= line:
            return 1.0
        scores, shares = self._scores(), self.shares(window)
        delta = scores[-window:].mean() - scores[:-window].mean()
        variance = float(scores @ scores) * (shares[0] / window + shares[1] / before)
        correlation = min(float(delta**2) / variance, 1 - 1e-9)  # its square, with the step
        freedom = len(scores) - 2
        p = 2 * float(stdtr(freedom, -math.sqrt(correlation * freedom / (1 - correlation))))
        return max(_WINDOWS * p, 2 / math.comb(len(scores), window))

    def shares(self, window: int) -> tuple[float, float]:
        """What f is after and before, by the correlation around the means of both sides."""
        scores = self._scores()
        around = np.concatenate(
            [side - side.mean() for side in (scores[:-window], scores[-window:])]
        )
        square = float(around @ around)
        products = around[1:] * around[:-1]
        total = float(products.sum() - products[-window])
        found = total / square if square > 0 else 0.0
        error = math.sqrt(max(1 - found**2, 0.05) / len(scores))
        assumed = found + (1 + 3 * max(found, 0.0)) / len(scores) + _CAUTION * error
        assumed = min(max(assumed, 0.0), _MOST)
        return _share(window, assumed), _share(len(scores) - window, assumed)

    def _scores(self) -> Floats:
        if self.scores is None:
            self.scores = _normal_scores(self.means)
        return self.scores

    def _of_pair(self) -> float:
        before, after = self.means[:-_PAIR], self.means[-_PAIR:]
        middle = float(np.median(before))
        farthest = float(np.abs(before - middle).max())
        nearest = float(np.abs(after - middle).min())
        same_side = (after[0] > middle) == (after[1] > middle)
        if farthest <= self.tiny or nearest <= farthest or not same_side:
            return 1.0
        share_after, share_before = self.shares(_PAIR)
        many, few = len(before) / share_before, _PAIR / share_after
        chance = math.lgamma(few + 1) + math.lgamma(many + 1) - math.lgamma(many + few + 1)
        return math.exp(chance - _TAIL * few * math.log(nearest / farthest))

    def _explained(self, window: int) -> tuple[float, float]:
        """Sums of squares of the scores that the step and a straight line explain."""
        scores = self._scores()
        count = len(scores)
        delta = scores[-window:].mean() - scores[:-window].mean()
        moments = np.arange(count) - (count - 1) / 2
        line = float(moments @ scores) ** 2 / float(moments @ moments)
        return float(delta**2) / (1 / window + 1 / (count - window)), line


def _normal_scores(values: Floats) -> Floats:
    """Normal scores of the ranks, centred; of equal values the one of their mean rank."""
    from scipy.special import ndtri

    ordered = np.sort(values)
    ranks = ordered.searchsorted(values, "left") + ordered.searchsorted(values, "right") + 1
    scores = ndtri(ranks / (2 * (len(values) + 1)))
    return np.asarray(scores - scores.mean(), np.float64)


def _over_queries(rows: Floats, window: int, tiny: float) -> float:
    """Two-sided p-value of the mean difference over queries; 0 where it is the same for all."""
    from scipy.special import stdtr

    differences = rows[-window:].mean(axis=0) - rows[:-window].mean(axis=0)
    count = len(differences)
    error = float(differences.std(ddof=1)) / math.sqrt(count)
    if error <= tiny:
        return 0.0 if len(rows) - window >= BEFORE_MOVING else 1.0
    return 2 * float(stdtr(count - 1, -abs(float(differences.mean())) / error))


def _described(
    rows: Floats, window: int, p: float, days: _Days, *, per_query: bool
) -> tuple[float, float, float, float, float, float, int]:
    """Before, after, delta, its 95 % interval, p and the number of queries.

    The variance of delta is that over queries plus that over time; the quantile is Student's with
    the degrees of freedom of Welch and Satterthwaite (Welch, Biometrika 34, 1947).
    """
    from scipy.special import stdtrit

    before, after = days.means[:-window], days.means[-window:]
    low_side, high_side = float(before.mean()), float(after.mean())
    count, parts = rows.shape[1], []
    if per_query:
        differences = rows[-window:].mean(axis=0) - rows[:-window].mean(axis=0)
        parts.append((float(differences.var(ddof=1)) / count, count - 1))
    freedom = len(rows) - 2
    spread = sum(float(((side - side.mean()) ** 2).sum()) for side in (before, after))
    if freedom and spread > days.tiny**2:
        shares = days.shares(window)
        over_time = spread / freedom * (shares[0] / window + shares[1] / len(before))
        parts.append((over_time, freedom))
    variance = sum(part for part, _ in parts)
    reach = 0.0
    if variance > 0:
        degrees = variance**2 / sum(part**2 / free for part, free in parts)
        reach = float(stdtrit(degrees, 0.975)) * math.sqrt(variance)
    delta = high_side - low_side
    return (low_side, high_side, delta, delta - reach, delta + reach, min(p, 1.0),
            count if per_query else 0)  # fmt: skip


def _share(count: int, correlation: float) -> float:
    """The variance of the sum of AR(1) values over that of as many independent ones."""
    if not correlation or count == 1:
        return 1.0
    left = 1 - correlation
    return 1 + 2 * (correlation / left - correlation * (1 - correlation**count) / (count * left**2))
