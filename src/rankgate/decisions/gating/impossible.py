"""Detect rules that every value, or no value, can meet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from rankgate.decisions.gating.rule import Rule
    from rankgate.measurement.metrics.declare import Metric


def refuse_impossible(rules: Iterable[Rule], metrics: Iterable[tuple[str, Metric]]) -> None:
    """Stop where a rule could only end one way, regardless of the systems.

    Raises:
        UsageError: a margin as wide as the metric's range, a floor outside of it.
    """
    bounds = {label: (metric.low, metric.high) for label, metric in metrics}
    for rule in rules:
        low, high = bounds.get(rule.get("metric") or "", (0.0, None))
        if high is None:
            continue
        range_message = f"{rule['metric']} lies between {low:g} and {high:g}"
        kind = RULES[rule.kind]
        name = kind.difference
        if name and (rule.get(name) or 0.0) >= high - low:
            raise UsageError(
                f"rule {rule.id}: {name} = {rule[name]:g} is impossible; {range_message}, and no "
                "difference is larger.",
                code="impossible-bound",
            )
        for name in kind.bounds:
            if (bound := rule.get(name)) is not None and not low <= bound <= high:
                raise UsageError(
                    f"rule {rule.id}: {name} = {bound:g} is impossible; {range_message}.",
                    code="impossible-bound",
                )
