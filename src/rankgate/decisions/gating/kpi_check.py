"""Compare a KPI of an experiment with a bound: above, below, or undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.online.experiments.units import measure_from_kpi

if TYPE_CHECKING:
    from rankgate.decisions.gating.kpi_evidence import KpiEvidence
    from rankgate.decisions.gating.rule import Rule, Status
    from rankgate.online.experiments.effects import Effect
    from rankgate.online.experiments.units import Measure


@dataclass(frozen=True)
class KpiCheck:
    """The comparison of a KPI with a bound, in the direction in which the KPI is better.

    Attributes:
        status: pass if the gain exceeds the bound, fail if it does not, else inconclusive.
        effect: the difference; its interval is two-sided at 1 − 2 alpha.
        low, high: the ends of the interval of the gain: relative, or in the KPI's unit.
        gain: the measured gain.
        mde: the smallest gain that one look at this number of units detects.
    """

    status: Status
    effect: Effect
    gain: float
    low: float
    high: float
    mde: float


def measure_of_rule(rule: Rule) -> Measure:
    """The KPI of a rule, with the direction that the rule states, if any."""
    measure = measure_from_kpi(rule["kpi"])
    return replace(measure, better=rule["better"]) if rule["better"] else measure


def check_kpi(evidence: KpiEvidence, measure: Measure, bound: float, *, relative: bool) -> KpiCheck:
    """Compare the gain of a KPI with a bound.

    Args:
        evidence: the experiment.
        measure: the KPI.
        bound: the gain that must be exceeded; a margin is a negative bound.
        relative: True for a gain that is a share of the control's value.
    """
    effect = evidence.effect(measure, evidence.alpha)
    tests = max(evidence.tests, 1)
    strict_effect = evidence.effect(measure, evidence.alpha / tests) if tests > 1 else effect
    gain, low, high = _gain(effect, measure, relative=relative)
    _, _, upper_bound = _gain(strict_effect, measure, relative=relative)
    status: Status = "inconclusive"
    if np.isfinite(low) and low > bound:
        status = "pass"
    elif np.isfinite(upper_bound) and upper_bound < bound:
        status = "fail"
    mde = effect.mde(2 * evidence.alpha, evidence.power)
    scale = abs(effect.control) if relative else 1.0
    return KpiCheck(status, effect, gain, low, high, mde / scale if scale else np.nan)


def _gain(effect: Effect, measure: Measure, *, relative: bool) -> tuple[float, float, float]:
    values = (
        (effect.relative, effect.relative_low, effect.relative_high)
        if relative
        else (effect.delta, effect.low, effect.high)
    )
    if measure.better == "down":
        return -values[0], -values[2], -values[1]
    return values
