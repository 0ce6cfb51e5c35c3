"""One measure of two arms, from their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiments.quantiles import QuantileEstimate, quantile
from rankgate.online.experiments.effect import Effect, Relative, always_valid, simple
from rankgate.online.experiments.means import compared, covariate_of, shape_of
from rankgate.online.experiments.moments import moments
from rankgate.online.experiments.resampling import bootstrapped

if TYPE_CHECKING:
    from rankgate.online.experiments.measure import Measure
    from rankgate.online.experiments.units import Units


@dataclass(frozen=True)
class Method:
    """How differences are computed.

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


def estimate(
    units: Units, measure: Measure, control: str, treatment: str, method: Method
) -> Effect:
    """Compare one measure of two arms.

    Args:
        units: with values of the measure.
        measure: what is compared.
        control: the name of an arm.
        treatment: that of the other one.
        method: how.
    """
    rows = _means(units.of(measure, method.cap))
    arms = [rows.filter(pl.col("variant") == name) for name in (control, treatment)]
    if method.resamples:
        found = bootstrapped(arms, measure, method.resamples, method.level, method.seed,
                             method.relative)  # fmt: skip
    elif measure.quantile is not None:
        own, other = (_quantile(each, measure.quantile) for each in arms)
        found = simple(
            own.value, other.value, (own.se, other.se), (own.clusters, other.clusters),
            method.level, "order-statistics", method.relative,
        )  # fmt: skip
    else:
        sums = (moments(arms[0]), moments(arms[1]))
        slope, center = covariate_of(moments(rows)) if "before" in rows.columns else (None, 0.0)
        found = compared(*sums, method.level, method.relative, slope=slope, center=center,
                         shape=shape_of(arms, sums, slope))  # fmt: skip
    if method.tuned_to is None or not np.isfinite(found.se):
        return found
    return always_valid(found, method.level, method.tuned_to)


def _means(rows: pl.DataFrame) -> pl.DataFrame:
    """The same without a denominator that is 1 for every unit of both arms: it is of a mean."""
    if "per" in rows.columns and (rows["per"] == 1).all() and "before_per" not in rows.columns:
        return rows.drop("per")
    return rows


def _quantile(rows: pl.DataFrame, share: float) -> QuantileEstimate:
    return quantile(
        rows["value"].to_numpy(), share, rows["unit"].rank("dense").to_numpy().astype(np.int64)
    )
