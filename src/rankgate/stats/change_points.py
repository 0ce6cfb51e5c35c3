"""Change-points of a series of evaluations of the same queries, with a stated rate of false alarms.

Shapes: T evaluations, n queries; a series without values per query has T means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WINDOWS = (1, 2, 4, 8, 16)
"""How many evaluations after a change are looked at; the smallest finds large changes at once, the
largest finds small ones in a noisy series."""

BEFORE = 2
"""Evaluations that there must be before a change, with values per query."""

BEFORE_MEANS = 6
"""The same without values per query, where the spread over time is all that is known."""


_FEW, _MOST = 8, 0.9  # evaluations for a correlation, and the largest one
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
        p_value: of the test that found it, times the number of windows.
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


def change_points(
    values: Floats, *, rate: float = 0.001, most_before: int = 30
) -> tuple[Change, ...]:
    """Changes of the mean in the order of time.

    At each evaluation the last w of a stretch are compared with those before them, for each w of
    `WINDOWS`. A query's difference is the mean of its values after less that before; the mean of
    the differences has the variance

        s²/n + τ² (f(w)/w + f(b)/b),   f(m) = 1 + 2 Σ (1 − k/m) ρᵏ,

    s² that of the differences over the n queries, τ² that of the means of evaluations over time,
    around the mean of their side, and as large as half the mean square of successive differences
    where that is more, and ρ the correlation of an evaluation with the next one. So a change must
    be larger than what other queries, and what other days, would show. The quantile is Student's
    with the degrees of freedom of Welch and Satterthwaite, at the level rate over the number of
    windows: by Bonferroni an evaluation of a series without changes gives a false alarm with a
    chance of at most ``rate``. When a change is found, the stretch before it ends and the next
    begins.

    Args:
        values: (T, n) a row for each evaluation; NaN where a query has no value. Or (T,) means.
        rate: false alarms for each evaluation, two-sided.
        most_before: evaluations before a change that are looked at.

    Source: moving sums as Eichinger and Kirch, Bernoulli 24 (2018); the variance of both facets as
    of a two-way layout; Welch, Biometrika 34 (1947).
    """
    table = np.asarray(values, dtype=np.float64)
    per_query = table.ndim == 2
    rows = table if per_query else table[:, None]
    found: list[Change] = []
    begin = 0
    for now in range(len(rows)):
        best = _look(rows[begin : now + 1], rate, most_before, per_query=per_query)
        if best is not None:
            window, change = best
            place = now - window + 1
            found.append(Change(place, now, *change))
            begin = place
    return tuple(found)


def continued(
    values: Floats, known: Sequence[Change], looked: int, *, rate: float = 0.001,
    most_before: int = 30,
) -> tuple[Change, ...]:  # fmt: skip
    """The changes of a series that became longer, without looking at its old part again.

    Args:
        values: as of `change_points`, the old part and the new one.
        known: what `change_points` found in the old part.
        looked: evaluations of the old part.
        rate: as of `change_points`.
        most_before: as of `change_points`.
    """
    table = np.asarray(values, dtype=np.float64)
    per_query = table.ndim == 2
    rows = table if per_query else table[:, None]
    found = list(known)
    for now in range(looked, len(rows)):
        begin = found[-1].place if found else 0
        best = _look(rows[begin : now + 1], rate, most_before, per_query=per_query)
        if best is not None:
            window, change = best
            found.append(Change(now - window + 1, now, *change))
    return tuple(found)


def _look(
    stretch: Floats, rate: float, most_before: int, *, per_query: bool
) -> tuple[int, tuple[float, float, float, float, float, float, int]] | None:
    """The window with the strongest change at the end of a stretch; None without any."""
    least = BEFORE if per_query else BEFORE_MEANS
    windows = [each for each in WINDOWS if len(stretch) - each >= least]
    best = None
    for window in windows:
        tested = _test(stretch, window, most_before, per_query=per_query)
        if tested is None:
            continue
        p = tested[-2] * len(windows)
        if p <= rate and (best is None or p < best[1][-2]):
            best = window, (*tested[:-2], min(p, 1.0), tested[-1])
    return best


def _test(
    stretch: Floats, window: int, most_before: int, *, per_query: bool
) -> tuple[float, float, float, float, float, float, int] | None:
    """Before, after, delta, low, high, p and the number of queries; None without any spread."""
    from scipy.special import stdtr, stdtrit

    after, before = stretch[-window:], stretch[:-window][-most_before:]
    known = ~(np.isnan(after).any(axis=0) | np.isnan(before).any(axis=0))
    after, before = after[:, known], before[:, known]
    count = after.shape[1]
    if count < (2 if per_query else 1):
        return None
    means = before.mean(), after.mean()
    delta = float(means[1] - means[0])
    tiny = _TINY * float(np.abs(stretch[-1][known]).max() + np.abs(before).max())
    if abs(delta) <= tiny:  # sums of the same values in another order
        return None
    parts = []
    if per_query:
        differences = after.mean(axis=0) - before.mean(axis=0)
        parts.append((float(differences.var(ddof=1)) / count, count - 1))
    freedom = len(before) + len(after) - 2
    if freedom:
        sides = before.mean(axis=1), after.mean(axis=1)
        spread, again = _over_time(*sides, freedom), _correlation(sides[0])
        parts.append((spread * sum(_share(len(side), again) for side in sides), freedom))
    variance = sum(each for each, _ in parts)
    if variance <= tiny**2:  # equal for every query and at every time, but for the change itself
        return None
    degrees = variance**2 / sum(each**2 / df for each, df in parts)
    error = float(np.sqrt(variance))
    p = 2 * float(stdtr(degrees, -abs(delta) / error))
    reach = float(stdtrit(degrees, 0.975)) * error
    return (float(means[0]), float(means[1]), delta, delta - reach, delta + reach, p,
            count if per_query else 0)  # fmt: skip


def _correlation(means: Floats) -> float:
    """The correlation of evaluations with the next one, from 0 to 0.9; 0 where they are few."""
    if len(means) < _FEW:
        return 0.0
    around = means - means.mean()
    total = float((around**2).sum())
    return min(max(0.0, float((around[1:] * around[:-1]).sum()) / total), _MOST) if total else 0.0


def _share(count: int, again: float) -> float:
    """The variance of the mean of values that follow each other (AR(1)), over that of one."""
    if not again:
        return 1 / count
    steps = np.arange(1, count)
    return float(1 + 2 * ((1 - steps / count) * again**steps).sum()) / count


def _over_time(before: Floats, after: Floats, freedom: int) -> float:
    """The variance of means of evaluations around their side's mean."""
    around = sum(float(((side - side.mean()) ** 2).sum()) for side in (before, after)) / freedom
    steps = np.concatenate([np.diff(before), np.diff(after)])
    return max(around, float((steps**2).mean()) / 2)
