"""Inputs of rules on KPIs: the units of an experiment, and the allowed error rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.online.experiments.estimate_effects import ComparisonMethod, estimate_effect

if TYPE_CHECKING:
    from rankgate.online.experiments.effects import Effect
    from rankgate.online.experiments.units import Measure, Units


@dataclass(frozen=True)
class KpiEvidence:
    """Units of an experiment.

    Attributes:
        units: the assigned units with their arms and events.
        control: the arm of the baseline.
        treatment: the arm of the candidate.
        alpha: the allowed probability of a false pass of a rule.
        tests: the number of rules that share alpha for a false fail.
        power: the power of detectable differences.
        tuned_to: the units at which intervals are narrowest; they hold at every look.
        why: by KPI, the reason why the KPI cannot be used.
        invalid: the reason why no KPI can be used; empty if KPIs can be used.
    """

    units: Units
    control: str
    treatment: str
    alpha: float
    tests: int
    power: float = 0.8
    tuned_to: int = 10_000
    why: Mapping[str, str] = field(default_factory=dict)
    invalid: str = ""

    def effect(self, measure: Measure, alpha: float) -> Effect:
        """The difference with an interval; each end holds at every look with 1 − alpha."""
        method = ComparisonMethod(1 - 2 * alpha, "fieller", self.tuned_to)
        return estimate_effect(self.units, measure, self.control, self.treatment, method)

    def problem(self, measure: Measure) -> str:
        """The reason why a KPI cannot be used; empty if it can be used."""
        if self.invalid:
            return f"the experiment is not valid: {self.invalid}"
        return self.why.get(measure.name, "")
