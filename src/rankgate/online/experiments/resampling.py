"""Resample units: standard errors by the bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.experiments.effect import Effect, Relative, independent_effect

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.online.experiments.measure import Measure

    Floats = NDArray[np.float64]

_MAX_WEIGHTS = 20_000_000  # weights at one time


def bootstrap_effect(
    arms: Sequence[pl.DataFrame],
    measure: Measure,
    resamples: int,
    level: float,
    seed: int,
    relative: Relative = "fieller",
) -> Effect:
    """Compare two arms by normal theory, with standard errors by the bootstrap over units.

    Each unit's weight in a resample is drawn from Poisson(1); all values of a unit have the weight
    of the unit. Percentiles of resamples are not taken: of few values they leave out the truth more
    than twice as often as they say.

    Args:
        arms: of the control and the treatment ``unit``, ``value`` and, of ratios, ``per``.
        measure: what is compared.
        resamples: how many.
        level: of intervals.
        seed: of the weights.
        relative: how the relative interval is made.
    """
    random = np.random.default_rng(seed)
    errors, values, counts = [], [], []
    for rows in arms:
        _, unit = np.unique(rows["unit"].to_numpy(), return_inverse=True)
        counts.append(int(unit.max()) + 1 if len(unit) else 0)
        value = rows["value"].to_numpy()
        denominator = rows["per"].to_numpy() if "per" in rows.columns else np.ones(len(value))
        statistic = _Statistic(value, denominator, unit, measure.quantile)
        values.append(float(statistic(np.ones((1, counts[-1])))[0]) if counts[-1] else np.nan)
        errors.append(float(_draw_statistics(statistic, counts[-1], resamples, random).std(ddof=1)))
    control, treatment = errors
    return independent_effect(
        values[0],
        values[1],
        (control, treatment),
        (counts[0], counts[1]),
        level,
        "bootstrap",
        relative,
    )


class _Statistic:
    """A mean, ratio or quantile of rows under weights of their units."""

    def __init__(
        self, value: Floats, denominator: Floats, unit_number: NDArray[np.intp], share: float | None
    ) -> None:
        self.share, self.place = share, unit_number
        if share is None:
            units = int(unit_number.max()) + 1 if len(unit_number) else 0
            self.sums = np.stack(
                [
                    np.bincount(unit_number, column, minlength=units)
                    for column in (value, denominator)
                ]
            )
        else:
            self.order = np.argsort(value, kind="stable")
            self.sorted = value[self.order]

    def __call__(self, weights: Floats) -> Floats:
        """(S,) the statistic under (S, units) weights."""
        if self.share is None:
            numerator, denominator = weights @ self.sums[0], weights @ self.sums[1]
            return np.asarray(numerator / denominator)
        quantiles = []
        for resample in weights:
            running = np.cumsum(resample[self.place][self.order])
            position = np.searchsorted(running, self.share * running[-1])
            quantiles.append(self.sorted[min(position, len(self.sorted) - 1)])
        return np.asarray(quantiles)


def _draw_statistics(
    statistic: _Statistic, units: int, resamples: int, random: np.random.Generator
) -> Floats:
    if not units:
        return np.full(resamples, np.nan)
    size = max(1, min(resamples, _MAX_WEIGHTS // units))
    parts = []
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        parts.append(statistic(random.poisson(1.0, (count, units)).astype(float)))
    return np.concatenate(parts)
