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

    from rankgate.core.arrays import Floats, Ints


WINDOWS = (1, 3, 5, 8, 12, 16)
"""Numbers of evaluations after a change that are tested; the smallest finds large changes at once,
the largest finds small ones in a noisy series. One is enough only where nothing moved before."""

SPAN = 91
"""Evaluations before a change that it is compared with: a quarter of daily ones."""

MEMORY = 365
"""Evaluations before a change whose largest innovation is remembered."""

MIN_BEFORE = 2
"""The smallest number of evaluations before a change, where values were the same each time."""

MIN_BEFORE_MOVING = 6
"""The same where means move from one evaluation to the next, or where only means are known."""

ENOUGH_BEFORE = 12
"""Evaluations before a change from which the size of the difference counts; with fewer, all of five or
more after it must be `_FAR_OUT` times as far out as any before."""

MIN_CORRELATED = 30
"""Evaluations from which the correlation with the one before is estimated without an earlier segment."""

_MIN_LEVEL = 20  # innovations before a change of the level, where levels wander
_SHORT = 40  # evaluations below which the correlation is estimated with twice the caution
_CLEAR = 1.5  # standard errors of independent values from which so few are taken to be correlated
_CLIP = 2.5  # robust standard deviations: one outlier counts for no more
_FAR = 5.0  # robust standard deviations: the farthest that an innovation counts in the place of a step
_CAUTION = 0.5  # standard errors added to the estimated correlation; twice as many in a short segment
_MOST = 0.98  # the largest correlation that is assumed
_INDEPENDENT = 0.15  # up to this correlation, the longest windows show a step and not a wandering level
_LONGEST_CORRELATED = 12  # the longest window above it
_RESEMBLES = 0.3  # above this correlation, a step of the level is one large innovation
_WANDERS = 0.6  # above this correlation, levels wander far by themselves
_LEVEL_WINDOWS = 3.0  # number of independent windows with the same effect
_CORRELATED_WINDOWS = 30.0  # the same where levels wander
_ENOUGH_SPREAD = 5  # evaluations after a change from which their own spread counts
_FAR_OUT = 3.0
_LONG = 12  # evaluations after a change in which a season moves far
_JUMP_WINDOWS = 0.35
_LONGEST_JUMP = 5
_LASTING = 0.6  # share of a jump that the step of all innovations after it has at least
_FARTHER = 1.3  # a jump is at least so many times as large as the largest innovation before it
_HEAVY = 1.25  # ratio of the two standard deviations from which tails count as heavy
_WEEKDAY_RATIO = 5.0  # mean squares between and within weekdays, from which there is a weekly season
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


def change_points(
    values: Floats, *, rate: float = 0.001, weekdays: Sequence[int] | None = None
) -> tuple[Change, ...]:
    """Detect changes of the mean, in the order of time.

    At each evaluation the last w of a segment are compared with up to `SPAN` before them, for each
    w of `WINDOWS`. A change must be larger than what other queries, and larger than what other
    days, would show; the larger p-value of the two tests counts, and both must agree in direction.

    Queries: the mean of the differences of the n queries, after less before, over s/√n; Student's
    t with n − 1, times the number of windows. It is alone where all means before were equal: an
    engine that does not change.

    Days: the means before are described by a model, level + weekday + AR(1). A weekly season is
    the median of each weekday around a moving mean of seven, used where it explains at least
    `_WEEKDAY_RATIO` times its share of the variance. ρ is the correlation of neighbours, of values
    clipped at four robust standard deviations, plus its bias (1 + 3ρ)/N and half its standard
    error. Innovations are eₜ = mₜ − ρ mₜ₋₁, less their median. Two tests, of which the smaller
    p-value counts:

    1. *Level*: e over its robust standard deviation (MAD), clipped at ±2.5 so that neither
       outliers nor heavy tails count for more; the mean of the last w less that of the b before,
       over √(v/w + v (1 + g)/b), v the larger variance of both, g that of the mean of w values of
       AR(1) (ρ is estimated); Student's t with b − 2. Five and more must differ as much from the 2w
       just before them, so that a drift or a season is not a step. Not less than 2 / C(b + w, w), the
       exact p-value of the most extreme ranks.
    2. *Jump*, for ρ > .3 and w of 3 and 5: where days resemble the day before, a step of the level
       shows in its first innovation alone. It must be extreme by Student's t, farther than any
       innovation before, the more so the heavier their tails are, and a step (1, 1 − ρ, 1 − ρ, …)
       must fit better than one outlying value (1, −ρ, 0, …).

    The evaluation has a change if the smallest p-value over the windows is at most ``rate``. When a
    change is found, the segment before it ends and the next begins; a segment shorter than
    `MIN_CORRELATED` uses the weekdays, ρ and spread of the last one that is longer. The numbers of
    windows and the limits are from simulation: see docs/validity.md for false alarms and power.

    Args:
        values: (T, n) a row for each evaluation, NaN if a query has no value; or (T,) means.
        rate: the false alarm rate of each evaluation, two-sided.
        weekdays: (T,) the weekday of each evaluation, 0 to 6; no weekly season without them.

    Source: innovations and level shifts as Tsay, Journal of Forecasting 7 (1988),
    doi:10.1002/for.3980070102; moving sums as Eichinger and Kirch, Bernoulli 24 (2018); the bias of a
    correlation as Marriott and Pope, Biometrika 41 (1954); two tests together as Berger,
    Technometrics 24 (1982).
    """
    return extend_change_points(values, (), 0, rate=rate, weekdays=weekdays)


def extend_change_points(
    values: Floats,
    earlier_changes: Sequence[Change],
    looked_count: int,
    *,
    rate: float = 0.001,
    weekdays: Sequence[int] | None = None,
) -> tuple[Change, ...]:
    """The changes in a series that became longer, without testing its old part again.

    Args:
        values: as in `change_points`, the old part and the new part.
        earlier_changes: the changes that `change_points` found in the old part.
        looked_count: the number of evaluations in the old part.
        rate: as in `change_points`.
        weekdays: as in `change_points`.
    """
    table = np.asarray(values, dtype=np.float64)
    per_query = table.ndim == 2
    rows = table if per_query else table[:, None]
    days = None if weekdays is None else np.asarray(weekdays, dtype=np.int64)
    all_means = rows.mean(axis=1) if rows.shape[1] else rows.sum(axis=1)
    is_complete = not np.isnan(all_means).any()
    changes = list(earlier_changes)
    places = [0, *(change.place for change in changes)]
    earlier = _earlier_model(rows, days, places)
    models: dict[int, _DayModel] = {}
    for position in range(looked_count, len(rows)):
        evaluations = slice(max(places[-1], position + 1 - MEMORY - WINDOWS[-1]), position + 1)
        segment_rows, means = rows[evaluations], all_means[evaluations]
        if not is_complete:
            segment_rows, models = _complete_columns(segment_rows), {}
            means = segment_rows.mean(axis=1) if segment_rows.shape[1] else means
        if segment_rows.shape[1] < (2 if per_query else 1):
            continue
        segment_days = None if days is None else days[evaluations]
        segment = _Segment(segment_rows, means, segment_days, earlier, models, position, per_query=per_query)
        strongest = segment.strongest_window(rate)
        if strongest is not None:
            window = segment.begin_of_step(strongest[0])
            changes.append(Change(position - window + 1, position, *segment.figures(window, strongest[1])))
            places.append(position - window + 1)
            earlier, models = _earlier_model(rows, days, places), {}
    return tuple(changes)


MIN_EVALUATIONS = 46
"""Evaluations from which `correlation_in_time` is estimated."""


def correlation_in_time(means: Floats, places: Sequence[int] = ()) -> float:
    """The correlation of evaluations with the next one, around the mean of their segment.

    It uses residuals clipped at four robust standard deviations. It is 0 for fewer than
    `MIN_EVALUATIONS`, or if all equal the mean of their segment.

    Args:
        means: (T,) the means of the evaluations.
        places: the indexes of the first evaluation of each later segment.
    """
    if len(means) < MIN_EVALUATIONS:
        return 0.0
    residuals = np.concatenate([side - side.mean() for side in np.split(means, places)])
    if np.abs(residuals).max() <= _TINY * np.abs(means).max():
        return 0.0
    return _neighbour_correlation(residuals)


@dataclass(frozen=True)
class _DayModel:
    """Means before a change: weekdays, correlation and innovations.

    Attributes:
        weekday_effects: (7,) the addition of each weekday; None without a weekly season.
        correlation: ρ, with its bias and caution.
        centre: the median innovation.
        innovations: (b,) less the centre.
        scale: their robust standard deviation.
        deviation: their standard deviation.
        farthest: the largest of them, with either sign.
        count: the innovations that scale, deviation and correlation are from.
    """

    weekday_effects: Floats | None
    correlation: float
    centre: float
    innovations: Floats
    scale: float
    deviation: float
    farthest: float
    count: int

    def clipped(self, innovations: Floats) -> Floats:
        """Innovations over the robust standard deviation, within ±`_CLIP`."""
        return np.clip(innovations / self.scale, -_CLIP, _CLIP)


class _Segment:
    """The evaluations that a look goes back; the last one is looked at."""

    def __init__(
        self,
        rows: Floats,
        means: Floats,
        weekdays: Ints | None,
        earlier: _DayModel | None,
        models: dict[int, _DayModel],
        position: int,
        *,
        per_query: bool,
    ) -> None:
        self.rows, self.means, self.weekdays, self.earlier = rows, means, weekdays, earlier
        self.models, self.position, self.per_query = models, position, per_query
        self.tiny = _TINY * float(np.abs(means).max())

    def reference(self, window: int) -> slice:
        """The evaluations that the last ones are compared with."""
        end = len(self.rows) - window
        return slice(max(0, end - SPAN), end)

    def strongest_window(self, rate: float) -> tuple[int, float] | None:
        """The window with the smallest p-value, and that; None if it is above the rate."""
        windows = [window for window in WINDOWS if len(self.rows) - window >= MIN_BEFORE]
        strongest, smallest = 0, rate
        for window in windows:
            means_before = self.means[self.reference(window)]
            if abs(self.means[-window:].mean() - means_before.mean()) <= self.tiny:
                continue  # sums of the same values in another order
            p = 0.0
            if not (self.per_query and np.ptp(means_before) <= self.tiny):
                p = self._days_p_value(window)
            if p <= rate and self.per_query:
                p = max(p, self._queries_p_value(window) * len(windows))
            if p <= rate and (not strongest or p < smallest * (1 - 1e-6)):
                strongest, smallest = window, p
        return (strongest, smallest) if strongest else None

    def _queries_p_value(self, window: int) -> float:
        """The two-sided p-value of the mean difference over queries; 0 if all are equal."""
        from rankgate.measurement.stats.special_functions import stdtr

        differences = self._differences(window)
        count = len(differences)
        error = float(differences.std(ddof=1)) / math.sqrt(count)
        if error <= self.tiny:
            return 0.0 if len(self.rows) - window >= MIN_BEFORE_MOVING else 1.0
        return 2 * float(stdtr(count - 1, -abs(float(differences.mean())) / error))

    def _differences(self, window: int) -> Floats:
        return self.rows[-window:].mean(axis=0) - self.rows[self.reference(window)].mean(axis=0)

    def _days_p_value(self, window: int) -> float:
        """The p-value of a change before the last evaluations; 1 if there are too few before it."""
        if window == 1 or len(self.rows) - window < MIN_BEFORE_MOVING:
            return 1.0
        model = self.model(window)
        innovations = self._innovations_after(window, model)
        level_p, direction = _level_p_value(model, innovations)
        jump_p = _jump_p_value(model, innovations)
        if jump_p < level_p:
            level_p, direction = jump_p, float(innovations[0])
        delta = self.means[-window:].mean() - self.means[self.reference(window)].mean()
        return level_p if delta * direction > 0 else 1.0

    def model(self, window: int) -> _DayModel:
        """The model of the evaluations before the last ones."""
        end = self.position - window
        if end not in self.models:
            weekdays = None if self.weekdays is None else self.weekdays[:-window]
            self.models[end] = _day_model(self.means[:-window], weekdays, self.earlier)
        return self.models[end]

    def begin_of_step(self, window: int) -> int:
        """The number of last evaluations after the step that fits the innovations best."""
        if window == 1 or len(self.rows) - window < MIN_BEFORE_MOVING:
            return window
        model = self.model(window)
        innovations = np.append(model.innovations, self._innovations_after(window, model))
        longest = max(1, min(WINDOWS[-1], len(innovations) - MIN_BEFORE_MOVING + 1))
        limit = _FAR * model.scale
        fits = []
        for length in range(1, longest + 1):
            step = _step(length, model.correlation)
            fits.append(float(step @ np.clip(innovations[-length:], -limit, limit)) ** 2 / float(step @ step))
        return int(np.argmax(fits)) + 1

    def _innovations_after(self, window: int, model: _DayModel) -> Floats:
        means = self.means[-window - 1 :]
        if model.weekday_effects is not None and self.weekdays is not None:
            means = means - model.weekday_effects[self.weekdays[-window - 1 :]]
        return np.asarray(means[1:] - model.correlation * means[:-1] - model.centre, np.float64)

    def figures(self, window: int, p: float) -> tuple[float, float, float, float, float, float, int]:
        """Compute before, after, delta, its 95 % interval, p and the number of queries.

        The variance of delta is that over queries plus that over time; the quantile is Student's
        with the degrees of freedom of Welch and Satterthwaite (Welch, Biometrika 34, 1947).
        """
        from rankgate.measurement.stats.special_functions import stdtrit

        means_before, means_after = self.means[self.reference(window)], self.means[-window:]
        count, terms = self.rows.shape[1], []
        if self.per_query:
            terms.append((float(self._differences(window).var(ddof=1)) / count, count - 1))
        freedom = len(means_before) + window - 2
        sum_of_squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (means_before, means_after))
        if freedom and sum_of_squares > self.tiny**2:
            correlation = 0.0
            if len(means_before) >= MIN_BEFORE_MOVING:
                correlation = self.model(window).correlation
            shares = [_mean_variance(len(side), correlation) for side in (means_before, means_after)]
            terms.append((sum_of_squares / freedom * sum(shares), freedom))
        variance = sum(term for term, _ in terms)
        half_width = 0.0
        if variance > 0:
            degrees = variance**2 / sum(term**2 / free for term, free in terms)
            half_width = float(stdtrit(degrees, 0.975)) * math.sqrt(variance)
        low_side, high_side = float(means_before.mean()), float(means_after.mean())
        delta = high_side - low_side
        interval = (delta - half_width, delta + half_width)
        return low_side, high_side, delta, *interval, min(p, 1.0), count if self.per_query else 0


def _complete_columns(rows: Floats) -> Floats:
    return rows[:, ~np.isnan(rows).any(axis=0)]


def _earlier_model(rows: Floats, weekdays: Ints | None, places: Sequence[int]) -> _DayModel | None:
    """The model of the last segment that has enough evaluations and has ended; None without one."""
    for begin, end in zip(places[-2::-1], places[:0:-1], strict=False):
        if end - begin >= MIN_CORRELATED:
            remembered = slice(max(begin, end - MEMORY), end)
            means = _complete_columns(rows[remembered])
            if means.shape[1]:
                return _day_model(
                    means.mean(axis=1), None if weekdays is None else weekdays[remembered], None
                )
    return None


def _day_model(all_means: Floats, all_weekdays: Ints | None, earlier: _DayModel | None) -> _DayModel:
    """Estimate the model of the last means; few of them take the figures of an earlier segment."""
    means, weekdays = all_means[-SPAN:], None if all_weekdays is None else all_weekdays[-SPAN:]
    if len(means) >= MIN_CORRELATED:
        earlier = None
    effects = _weekday_effects(means, weekdays) if earlier is None else earlier.weekday_effects
    if effects is not None and all_weekdays is not None:
        all_means = all_means - effects[all_weekdays]
    correlation = _cautious_correlation(all_means[-SPAN:]) if earlier is None else earlier.correlation
    all_innovations = all_means[1:] - correlation * all_means[:-1]
    centre = float(np.median(all_innovations[1 - SPAN :]))
    all_innovations = all_innovations - centre
    innovations = all_innovations[1 - SPAN :]
    deviation = float(innovations.std(ddof=1))
    scale = _robust_deviation(innovations) or deviation or _TINY  # most or all days may have been the same
    farthest, count = float(np.abs(all_innovations).max()), len(innovations)
    if earlier is not None:
        scale, deviation = max(scale, earlier.scale), max(deviation, earlier.deviation)
        farthest, count = max(farthest, earlier.farthest), earlier.count
    return _DayModel(effects, correlation, centre, innovations, scale, deviation, farthest, count)


def _robust_deviation(values: Floats) -> float:
    """The median distance from the median, as a standard deviation of normal values."""
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))


def _weekday_effects(means: Floats, weekdays: Ints | None) -> Floats | None:
    """The addition of each weekday, around 0; None where weekdays explain little."""
    if weekdays is None or len(means) < 4 * 7:
        return None
    local = np.convolve(means, np.full(7, 1 / 7), "valid")  # each week, whatever day it begins with
    residuals, days = means[3:-3] - local, weekdays[3:-3]
    by_weekday = [residuals[days == day] for day in range(7)]
    if min(map(len, by_weekday)) < 3:
        return None
    residual_square = sum(float(((side - side.mean()) ** 2).sum()) for side in by_weekday) / (
        len(residuals) - 7
    )
    weekday_square = sum(len(side) * float(side.mean() - residuals.mean()) ** 2 for side in by_weekday) / 6
    if weekday_square < _WEEKDAY_RATIO * residual_square:
        return None
    effects = np.array([np.median(side) for side in by_weekday])
    return np.asarray(effects - effects.mean(), np.float64)


def _neighbour_correlation(values: Floats) -> float:
    """The correlation of neighbours, of values clipped at four robust standard deviations."""
    limit = 4 * (_robust_deviation(values) or float(values.std()))
    centre = float(np.median(values))
    clipped = np.clip(values, centre - limit, centre + limit)
    clipped -= clipped.mean()
    square = float(clipped @ clipped)
    return float(clipped[1:] @ clipped[:-1]) / square if square else 0.0


def _cautious_correlation(means: Floats) -> float:
    """The correlation of neighbours, not below 0, with its bias and half its standard error.

    A correlation that independent values may well have is left as it is.
    """
    count, correlation = len(means), _neighbour_correlation(means)
    if correlation < (_CLEAR if count < _SHORT else 1) / math.sqrt(count):
        return max(correlation, 0.0)
    error = math.sqrt(max(1 - correlation**2, 0.05) / count)
    caution = _CAUTION * error * (2 if count < _SHORT else 1)
    return min(correlation + (1 + 3 * correlation) / count + caution, _MOST)


def _level_p_value(model: _DayModel, innovations: Floats) -> tuple[float, float]:
    """The p-value of another level of the last innovations, and the difference."""
    from rankgate.measurement.stats.special_functions import stdtr

    window, earlier, latest = len(innovations), model.clipped(model.innovations), model.clipped(innovations)
    count, delta = len(earlier), float(latest.mean() - earlier.mean())
    is_wandering = model.correlation > _WANDERS
    is_too_long = window > _LONGEST_CORRELATED and model.correlation > _INDEPENDENT
    if delta == 0 or is_too_long or (is_wandering and count < _MIN_LEVEL):
        return 1.0, delta
    variance = variance_after = float(earlier.var(ddof=1))
    if window >= _ENOUGH_SPREAD:
        variance_after = max(variance, float(latest.var(ddof=1)))
    windows = _CORRELATED_WINDOWS if is_wandering else _LEVEL_WINDOWS
    extreme = 2 / math.comb(count + window, window)
    p = 1.0
    if count >= ENOUGH_BEFORE - 1:
        level = variance / count * (1 + _mean_variance(window, model.correlation))
        statistic = delta / math.sqrt(variance_after / window + level or _TINY)
        p = max(windows * 2 * float(stdtr(count - 2, -abs(statistic))), extreme)
    if window < _ENOUGH_SPREAD:
        return p, delta
    nearby = earlier[-2 * window :]
    local = float(latest.mean() - nearby.mean())
    if local * delta <= 0:
        return 1.0, delta
    error = math.sqrt(variance_after / window + variance / len(nearby)) or _TINY
    local_windows = 1 if window < _LONG else _LEVEL_WINDOWS
    p = max(p, local_windows * 2 * float(stdtr(count - 2, -abs(local) / error)))
    nearest = float((innovations * np.sign(delta)).min())
    if nearest > (1 if count >= ENOUGH_BEFORE - 1 else _FAR_OUT) * np.abs(model.innovations).max():
        p = min(p, max(windows * extreme, 2 / math.comb(len(nearby) + window, window)))
    return p, delta


def _jump_p_value(model: _DayModel, innovations: Floats) -> float:
    """The p-value of a step in the first innovation; 1 where an outlying value fits as well."""
    from rankgate.measurement.stats.special_functions import stdtr

    window, correlation, jump = len(innovations), model.correlation, float(innovations[0])
    heaviness = max(1.0, model.deviation / model.scale / _HEAVY) ** 3
    if (
        correlation <= _RESEMBLES
        or window > _LONGEST_JUMP
        or model.count < MIN_CORRELATED - 1
        or abs(jump) <= _FARTHER * heaviness * model.farthest
    ):
        return 1.0
    step = _step(window, correlation)
    outlier = np.zeros(window)
    outlier[:2] = 1, -correlation
    fits = [float(shape @ innovations) ** 2 / float(shape @ shape) for shape in (step, outlier)]
    size = float(step @ innovations) / float(step @ step)
    if fits[0] <= fits[1] or size * jump <= 0 or abs(size) < _LASTING * abs(jump):
        return 1.0
    return _JUMP_WINDOWS * 2 * float(stdtr(model.count - 2, -abs(jump) / model.deviation))


def _step(count: int, correlation: float) -> Floats:
    """The innovations of a step of the level by 1."""
    step = np.full(count, 1 - correlation)
    step[0] = 1
    return step


def _mean_variance(count: int, correlation: float) -> float:
    """The variance of the mean of AR(1) values over that of one of them."""
    complement = 1 - correlation
    pairs = correlation / complement - correlation * (1 - correlation**count) / (count * complement**2)
    return (1 + 2 * pairs) / count
