"""Means, ratios and proportions of two arms; tea-tasting does what it has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankgate.extras import require
from rankgate.online.experiments.effect import Effect, simple

if TYPE_CHECKING:
    from rankgate.online.experiments.moments import Moments

Relative = Literal["log", "delta"]
"""How the interval of a relative difference is made: on the logarithm of the ratio, as tea-tasting
does, or by the delta method, as GrowthBook does."""


def compared(
    control: Moments, treatment: Moments, level: float = 0.95, relative: Relative = "log"
) -> Effect:
    """Compare two arms: Welch's t, the delta method for ratios, CUPED with a covariate.

    Proportions of units have the pooled z-test and Wald's interval. Relative intervals are made by
    the delta method where a value is not above 0, as it then has no logarithm.

    Args:
        control: moments of the control.
        treatment: moments of the other arm.
        level: of intervals.
        relative: how the relative interval is made.

    Raises:
        MissingExtraError: tea-tasting is not installed.
    """
    if control.n < 2 or treatment.n < 2:
        return simple(control.ratio, treatment.ratio, (np.nan, np.nan),
                      (control.n, treatment.n), level, "t")  # fmt: skip
    try:
        found = _tested(control, treatment, level)
    except (OverflowError, ZeroDivisionError):  # of the logarithm of a ratio near 0
        return simple(control.ratio, treatment.ratio, (control.se, treatment.se),
                      (control.n, treatment.n), level, "normal")  # fmt: skip
    if relative == "delta" or not (found.control > 0 and found.treatment > 0):
        plain = simple(found.control, found.treatment, (control.se, treatment.se),
                       (control.n, treatment.n), level, found.method)  # fmt: skip
        scale = found.se / plain.se if plain.se else 1.0
        wide = (plain.relative_high - plain.relative) * scale * _t_over_z(found, level)
        found = replace(found, relative_low=found.relative - wide,
                        relative_high=found.relative + wide)  # fmt: skip
    if control.binary and treatment.binary and "before" not in control.mean:
        return _proportions(control, treatment, level, found)
    return found


def _t_over_z(found: Effect, level: float) -> float:
    """How much wider Student's interval is than the normal one."""
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    return (found.high - found.low) / (2 * z * found.se) if found.se > 0 else 1.0


def _tested(control: Moments, treatment: Moments, level: float) -> Effect:
    """Both arms by tea-tasting, from their aggregates."""
    require("experiments are computed by tea-tasting", "tea_tasting")
    from tea_tasting.aggr import Aggregates
    from tea_tasting.metrics import RatioOfMeans

    known = control.mean
    columns = ["value", *(name if name in known else None for name in ("per", "before"))]
    below = "before_per" if "before_per" in known else None

    def analysed(*, use_t: bool) -> Any:  # noqa: ANN401 - of tea-tasting
        metric = RatioOfMeans(*columns, below, confidence_level=level, use_t=use_t, equal_var=False)
        arms = (Aggregates(each.n, dict(each.mean), dict(each.var), dict(each.cross))
                for each in (control, treatment))  # fmt: skip
        with np.errstate(divide="ignore", invalid="ignore"):
            return metric.analyze_aggregates(*arms)

    welch, normal = analysed(use_t=True), analysed(use_t=False)
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    se = float(normal.effect_size_ci_upper - normal.effect_size_ci_lower) / (2 * z)
    explained = None
    method = "delta" if "per" in known else "t"
    if "before" in known:
        raw = float(np.hypot(control.se, treatment.se))
        explained, method = (1 - (se / raw) ** 2 if raw > 0 else 0.0), f"{method}, cuped"
    return Effect(
        float(welch.control), float(welch.treatment), float(welch.effect_size), se,
        float(welch.effect_size_ci_lower), float(welch.effect_size_ci_upper),
        float(welch.rel_effect_size), float(welch.rel_effect_size_ci_lower),
        float(welch.rel_effect_size_ci_upper), float(welch.pvalue), control.n + treatment.n,
        method, explained,
    )  # fmt: skip


def _proportions(control: Moments, treatment: Moments, level: float, found: Effect) -> Effect:
    """The pooled z-test, and the interval with the variances of both arms."""
    from scipy.special import ndtr, ndtri

    a, b, n, m = control.ratio, treatment.ratio, control.n, treatment.n
    pooled = (a * n + b * m) / (n + m)
    error = float(np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)))
    p = float(2 * ndtr(-abs(b - a) / error)) if error > 0 else 1.0
    se = float(np.sqrt(a * (1 - a) / n + b * (1 - b) / m))
    wide = float(ndtri((1 + level) / 2)) * se
    return replace(
        found, se=se, low=b - a - wide, high=b - a + wide, p_value=p, method="z",
    )  # fmt: skip
