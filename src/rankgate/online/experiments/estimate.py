"""One measure of two arms, from their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiments.quantiles import QuantileEstimate, quantile
from rankgate.online.experiments.effect import (
    Effect,
    Relative,
    always_valid_effect,
    independent_effect,
)
from rankgate.online.experiments.means import compare_means, covariate_slope, pooled_central_moments
from rankgate.online.experiments.moments import compute_moments
from rankgate.online.experiments.resampling import bootstrap_effect

if TYPE_CHECKING:
    from rankgate.online.experiments.measure import Measure
    from rankgate.online.experiments.units import Units


@dataclass(frozen=True)
class ComparisonMethod:
    """Settings for the computation of differences.

    Attributes:
        level: of intervals.
        relative: how relative intervals are made.
        tuned_to: the units at which always-valid intervals are narrowest; None for intervals that
            hold at one look.
        cap: the quantile at which values of units are cut off; None for none.
        resamples: of units, for intervals by the bootstrap; 0 for none.
        seed: of these.
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
        units: with values of the measure.
        measure: what is compared.
        control: the name of an arm.
        treatment: that of the other one.
        method: how.
    """
    rows = _without_unit_denominator(units.of(measure, method.cap))
    arms = [rows.filter(pl.col("variant") == name) for name in (control, treatment)]
    if method.resamples:
        effect = bootstrap_effect(
            arms, measure, method.resamples, method.level, method.seed, method.relative
        )
    elif measure.quantile is not None:
        control_estimate, treatment_estimate = (
            _estimate_quantile(arm, measure.quantile) for arm in arms
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
    else:
        sums = (compute_moments(arms[0]), compute_moments(arms[1]))
        slope, center = (
            covariate_slope(compute_moments(rows)) if "before" in rows.columns else (None, 0.0)
        )
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


def _without_unit_denominator(rows: pl.DataFrame) -> pl.DataFrame:
    """The same without a denominator that is 1 for every unit of both arms: it is of a mean."""
    if "per" in rows.columns and (rows["per"] == 1).all() and "before_per" not in rows.columns:
        return rows.drop("per")
    return rows


def _estimate_quantile(rows: pl.DataFrame, share: float) -> QuantileEstimate:
    return quantile(
        rows["value"].to_numpy(), share, rows["unit"].rank("dense").to_numpy().astype(np.int64)
    )
