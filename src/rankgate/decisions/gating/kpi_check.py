"""A KPI of an experiment compared with a bound: above, below, or undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.experiments.measure import of_kpi

if TYPE_CHECKING:
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.online.experiments.effect import Effect
    from rankgate.online.experiments.measure import Measure


@dataclass(frozen=True)
class KpiCheck:
    """A KPI compared with a bound, in the direction in which it is better.

    Attributes:
        status: pass if the bound is exceeded, fail if it is not, else inconclusive.
        effect: the difference; its interval is two-sided at 1 − 2 alpha.
        low, high: of the gain: relative, or in the KPI's unit.
        gain: what was measured.
        mde: the smallest gain that one look at so many units shows.
    """

    status: Status
    effect: Effect
    gain: float
    low: float
    high: float
    mde: float


def measure_of(rule: Rule) -> Measure:
    """The KPI of a rule, better in the direction that the rule says, if it says one."""
    found = of_kpi(rule["kpi"])
    return replace(found, better=rule["better"]) if rule["better"] else found


def check(evidence: KpiEvidence, measure: Measure, bound: float, *, relative: bool) -> KpiCheck:
    """Compare the gain of a KPI with a bound.

    Args:
        evidence: the experiment.
        measure: the KPI.
        bound: the gain that must be exceeded; a margin is a negative one.
        relative: whether it is a share of the control's value.
    """
    wide = evidence.effect(measure, evidence.alpha)
    tests = max(evidence.tests, 1)
    strict = evidence.effect(measure, evidence.alpha / tests) if tests > 1 else wide
    gain, low, high = _gain(wide, measure, relative=relative)
    _, _, most = _gain(strict, measure, relative=relative)
    status: Status = "inconclusive"
    if np.isfinite(low) and low > bound:
        status = "pass"
    elif np.isfinite(most) and most < bound:
        status = "fail"
    mde = wide.mde(2 * evidence.alpha, evidence.power)
    scale = abs(wide.control) if relative else 1.0
    return KpiCheck(status, wide, gain, low, high, mde / scale if scale else np.nan)


def _gain(found: Effect, measure: Measure, *, relative: bool) -> tuple[float, float, float]:
    values = (
        (found.relative, found.relative_low, found.relative_high)
        if relative
        else (found.delta, found.low, found.high)
    )
    if measure.better == "down":
        return -values[0], -values[2], -values[1]
    return values
