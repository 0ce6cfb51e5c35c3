"""A mean against a margin: above it, below it, or not to be told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rankgate.gate.declare import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.gate.declare import Evidence, Rule, Status

    Floats = NDArray[np.float64]

FEW, FEW_SKEWED, SKEWED = 10, 15, 1.0
"""Fewer pairs decide nothing; skewed ones need more (intervals cover too rarely)."""


@dataclass(frozen=True)
class Bounds:
    """A mean with its two one-sided bounds, each wrong with probability alpha.

    Attributes:
        n: values.
        mean, low, high: NaN where there are too few.
        sd: standard deviation.
        mde: the smallest true distance from a bound that n values show with the power asked for.
    """

    n: int
    mean: float
    low: float
    high: float
    sd: float
    mde: float


def bounds(values: Floats, alpha: float, power: float, method: str = "t", seed: int = 0) -> Bounds:
    """Mean and interval of level 1 − 2·alpha; ``low`` and ``high`` each err with alpha."""
    n = len(values)
    if n < 2:  # noqa: PLR2004 - one value has no spread
        nan = math.nan
        return Bounds(n, float(values.mean()) if n else nan, nan, nan, nan, nan)
    level = 1 - 2 * alpha
    flat = np.ptp(values) == 0
    if method == "t" or flat:
        from rankgate.stats.interval import t_interval  # noqa: PLC0415 - scipy where needed

        told = t_interval(values, level)
    else:
        from rankgate.stats.bootstrap import bootstrap_interval  # noqa: PLC0415 - as above

        told = bootstrap_interval(values, level, method, seed=seed)  # type: ignore[arg-type]
    sd = 0.0 if flat else float(values.std(ddof=1))
    mde = sd * _unit(n, alpha, power)
    return Bounds(n, float(values.mean()), float(told.low[0]), float(told.high[0]), sd, mde)


@lru_cache(maxsize=256)
def _unit(n: int, alpha: float, power: float) -> float:
    from rankgate.stats.power import detectable  # noqa: PLC0415 - as above

    return float(detectable(1.0, n, alpha, power, sides=1))


def against(
    rule: Rule, evidence: Evidence, values: Floats, bound: float, margin: float, noun: str
) -> Finding:
    """Pass if the mean surely lies above ``bound``, fail if surely below; else inconclusive.

    Args:
        rule: whose reason is written.
        evidence: alpha, power, method.
        values: one per query.
        bound: what the mean is held against.
        margin: as the user gave it.
        noun: of the values, such as "nDCG@10 of the candidate".
    """
    told = bounds(values, evidence.alpha, evidence.power, evidence.interval, evidence.seed)
    figures = {
        "n": told.n, "delta": _known(told.mean), "low": _known(told.low),
        "high": _known(told.high), "margin": margin, "mde": _known(told.mde),
    }  # fmt: skip
    if few := too_few(values, rule):
        return Finding("inconclusive", few, "Add queries that both systems ran.", **figures)  # type: ignore[arg-type]
    if not np.isfinite(values).all():
        return Finding("inconclusive", f"{noun} has values that are not numbers.", **figures)  # type: ignore[arg-type]
    status: Status = "pass" if told.low > bound else "fail" if told.high < bound else "inconclusive"
    words = {
        "pass": f"surely above {bound:z.4f}",
        "fail": f"surely below {bound:z.4f}",
        "inconclusive": f"which may lie on either side of {bound:z.4f}",
    }[status]
    reason = (
        f"{noun} {told.mean:+z.4f} [{told.low:+z.4f}, {told.high:+z.4f}] over {told.n} queries, "
        f"{words}."
    )
    step = more(told, bound, evidence) if status == "inconclusive" else None
    return Finding(status, reason, step, **figures)  # type: ignore[arg-type]


def too_few(values: Floats, rule: Rule) -> str | None:
    """Why these are too few to decide anything, if they are."""
    n = len(values)
    where = f" where {rule.slice}" if rule.slice else ""
    if n < FEW:
        return f"{n} {'query' if n == 1 else 'queries'}{where} on both sides; {FEW} is the least."
    if n < FEW_SKEWED:
        from rankgate.stats.interval import skewness  # noqa: PLC0415 - as above

        if abs(float(skewness(values)[0])) > SKEWED:
            return (
                f"{n} queries{where} with skewed values: an interval of so few is not to be "
                f"trusted; {FEW_SKEWED} is the least."
            )
    return None


def more(told: Bounds, bound: float, evidence: Evidence) -> str:
    """How many queries would settle it, if the true mean is near what was seen."""
    from rankgate.stats.power import needed  # noqa: PLC0415 - as above

    distance = abs(told.mean - bound)
    small = f"The set detects {told.mde:.4f} at power {evidence.power:g}. " if told.mde > 0 else ""
    if not told.sd or not distance:
        return f"{small}The mean lies on the bound; more queries would hardly tell."
    count = needed(distance, told.sd, evidence.alpha, evidence.power, sides=1)
    if not math.isfinite(count) or count > 100 * told.n:
        return f"{small}The mean lies so near the bound that no set of a usual size would tell."
    add = max(1, math.ceil(count) - told.n)
    rounded = math.ceil(add / 10) * 10 if add > 20 else add  # noqa: PLR2004 - "about 140"
    return f"{small}Add about {rounded} queries, if the mean stays where it is."


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
