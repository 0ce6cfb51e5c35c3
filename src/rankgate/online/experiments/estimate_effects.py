"""Estimate one measure of two arms from their units.

Standard errors by the bootstrap come from resampled units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiment_arms import quantile
from rankgate.online.experiments.common_days import periods_of_days
from rankgate.online.experiments.effects import (
    Effect,
    Relative,
    always_valid_effect,
    compare_means,
    compute_moments,
    covariate_slope,
    effect_by_day,
    independent_effect,
    pooled_central_moments,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.online.experiments.units import Measure, Units


_MAX_WEIGHTS = 20_000_000  # weights in memory at one time


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
    of the unit. Percentiles of resamples are not used: with few values their intervals miss the
    truth more than twice as often as stated.

    Args:
        arms: the rows of the control and the treatment: ``unit``, ``value`` and, for ratios,
            ``per``; ``weight`` where arms are compared by day.
        measure: the measure to compare.
        resamples: the number of resamples.
        level: the confidence level of intervals.
        seed: the seed of the weights.
        relative: the method of the relative interval.
    """
    random = np.random.default_rng(seed)
    errors, values, counts = [], [], []
    for rows in arms:
        _, first_row, unit = np.unique(rows["unit"].to_numpy(), return_index=True, return_inverse=True)
        base = rows["weight"].to_numpy()[first_row] if "weight" in rows.columns else np.ones(len(first_row))
        counts.append(int(unit.max()) + 1 if len(unit) else 0)
        value = rows["value"].to_numpy()
        denominator = rows["per"].to_numpy() if "per" in rows.columns else np.ones(len(value))
        statistic = _Statistic(value, denominator, unit, measure.quantile)
        values.append(float(statistic(base[None])[0]) if counts[-1] else np.nan)
        errors.append(float(_draw_statistics(statistic, base, resamples, random).std(ddof=1)))
    control, treatment = errors
    return independent_effect(
        values[0], values[1], (control, treatment), (counts[0], counts[1]), level, "bootstrap", relative
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
                [np.bincount(unit_number, column, minlength=units) for column in (value, denominator)]
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
    statistic: _Statistic, base: Floats, resamples: int, random: np.random.Generator
) -> Floats:
    units = len(base)
    if not units:
        return np.full(resamples, np.nan)
    size = max(1, min(resamples, _MAX_WEIGHTS // units))
    parts = []
    for start in range(0, resamples, size):
        count = min(size, resamples - start)
        parts.append(statistic(random.poisson(1.0, (count, units)) * base))
    return np.concatenate(parts)


@dataclass(frozen=True)
class ComparisonMethod:
    """Settings for the computation of differences.

    Attributes:
        level: the confidence level of intervals.
        relative: the method of relative intervals.
        tuned_to: the number of units at which always-valid intervals are narrowest; None for
            intervals that hold at one look.
        cap: the quantile at which values of units are cut off; None for no cut.
        resamples: the number of resamples of units, for intervals by the bootstrap; 0 for none.
        seed: the seed of the resamples.
    """

    level: float = 0.95
    relative: Relative = "fieller"
    tuned_to: int | None = None
    cap: float | None = None
    resamples: int = 0
    seed: int = 0


def estimate_effect(
    units: Units, measure: Measure, control: str, treatment: str, method: ComparisonMethod
) -> Effect:
    """Compare one measure of two arms.

    Args:
        units: the units with values of the measure.
        measure: the measure to compare.
        control: the name of an arm.
        treatment: the values of the treatment.
        method: the method.
    """
    rows = _without_unit_denominator(units.unit_rows(measure, method.cap))
    if units.by_day:
        rows = _weighted_by_day(rows, control, treatment)
    arms = [rows.filter(pl.col("variant") == name) for name in (control, treatment)]
    resamples = method.resamples or (
        _RESAMPLES_BY_DAY if units.by_day and measure.quantile is not None else 0
    )
    if resamples:
        effect = bootstrap_effect(arms, measure, resamples, method.level, method.seed, method.relative)
    elif measure.quantile is not None:
        control_estimate, treatment_estimate = (
            quantile(
                arm["value"].to_numpy(),
                measure.quantile,
                arm["unit"].rank("dense").to_numpy().astype(np.int64),
            )
            for arm in arms
        )
        effect = independent_effect(
            control_estimate.value,
            treatment_estimate.value,
            (control_estimate.se, treatment_estimate.se),
            (control_estimate.clusters, treatment_estimate.clusters),
            method.level,
            "order-statistics",
            method.relative,
        )
    elif units.by_day:
        effect = effect_by_day(arms, method.level, method.relative)
    else:
        sums = (compute_moments(arms[0]), compute_moments(arms[1]))
        slope, center = covariate_slope(compute_moments(rows)) if "before" in rows.columns else (None, 0.0)
        effect = compare_means(
            *sums,
            method.level,
            method.relative,
            slope=slope,
            center=center,
            shape=pooled_central_moments(arms, sums, slope),
        )
    if method.tuned_to is None or not np.isfinite(effect.se):
        return effect
    return always_valid_effect(effect, method.level, method.tuned_to)


_RESAMPLES_BY_DAY = 1000  # of quantiles, which have no other error under weights


def _weighted_by_day(rows: pl.DataFrame, control: str, treatment: str) -> pl.DataFrame:
    """The rows of two arms with ``period`` and ``weight``, so that both arms have the same days.

    A unit's weight is the share of all units in its period, divided by that of its arm's units.
    """
    pair = rows.filter(pl.col("variant").is_in([control, treatment]), pl.col("first_day").is_not_null())
    units = pair.unique("unit", maintain_order=True)
    if units.is_empty():
        return pair.with_columns(period=pl.lit(0), weight=pl.lit(1.0))
    periods = periods_of_days(units["first_day"], (units["variant"] == treatment).to_numpy())
    weighted = units.select("unit", "variant", period=periods).with_columns(
        weight=pl.len().over("period")
        / pl.len().over("period", "variant")
        * pl.len().over("variant")
        / pl.len()
    )
    return pair.join(weighted.drop("variant"), "unit", maintain_order="left")


def _without_unit_denominator(rows: pl.DataFrame) -> pl.DataFrame:
    """Drop denominators that are 1 for every unit of both arms: the ratio is then a mean."""
    if "per" in rows.columns and (rows["per"] == 1).all() and "before_per" not in rows.columns:
        return rows.drop("per")
    return rows
