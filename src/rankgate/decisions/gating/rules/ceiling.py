"""A ceiling above the candidate's value: a floor of a metric that is better when lower."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter
from rankgate.decisions.gating.rule import RuleKind
from rankgate.decisions.gating.rules import floor

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence, HypotheticalValues
    from rankgate.decisions.gating.rule import Outcome, Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Decide by the interval of the candidate's value, or by the value alone."""
    return floor.decide(_as_floor(rule), evidence)


def _statuses(rule: Rule, evidence: Evidence, values: HypotheticalValues) -> NDArray[np.str_]:
    assert floor.KIND.statuses is not None
    return floor.KIND.statuses(_as_floor(rule), evidence, values)


def _as_floor(rule: Rule) -> Rule:
    """The same rule as a floor with ``at_most``."""
    return replace(rule, kind=floor.KIND.name, values={**rule.values, "at_least": None})


KIND = RuleKind(
    "ceiling",
    (
        Parameter("metric", "text", "the metric, such as Gini@10", required=True),
        Parameter("at_most", "number", "the ceiling", required=True),
        *(parameter for parameter in floor.KIND.takes if parameter.name == "by"),
    ),
    decide,
    title="the candidate's value is at most a given number",
    statistical=True,
    sliced=True,
    needs=frozenset({"group_sums"}),
    bounds=("at_most",),
    statuses=_statuses,
)
