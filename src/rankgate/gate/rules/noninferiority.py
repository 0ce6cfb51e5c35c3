"""``noninferiority``: the candidate is not worse than the baseline by the margin or more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.gate.bounds import against, too_few
from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule

_SHOWN = 12


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Pass if the lower bound of the difference lies above −margin; fail if the upper is below."""
    metric = rule.settings["metric"]
    given = rule.settings["margin"]
    margin = given * evidence.mean(metric) if rule.settings["relative"] else given
    noise = evidence.noise.get(metric)
    delta = evidence.column(rule, "delta")
    if noise is not None and margin <= noise:
        return Finding(
            "inconclusive",
            f"The margin {margin:.4f} is not above the noise floor {noise:.4f}: two runs of the "
            "same system lay as far apart.",
            f"Set the margin above {noise:.4f}, or make the engine steadier.",
            n=len(delta),
            margin=margin,
        )
    if margin <= 0:
        words = f"The baseline's {metric} is 0, and a margin relative to it is none."
        return Finding("inconclusive", words, "Give an absolute margin.", n=len(delta))
    if len(delta) and not delta.any() and not too_few(delta, rule):
        return unmoved(evidence, metric, delta, margin)
    found = against(rule, evidence, delta, -margin, margin, f"{metric} moved by")
    return holes(found, evidence, metric, -margin) if rule.slice is None else found


def unmoved(
    evidence: Evidence, metric: str, delta: np.ndarray[tuple[int], np.dtype[np.float64]],
    margin: float,
) -> Finding:  # fmt: skip
    """No query moved: nothing changed, or the metric does not see what did."""
    n, depth = len(delta), evidence.comparison.depth
    if evidence.changed():
        return Finding(
            "inconclusive",
            f"{metric} moved in none of {n} queries although lists differ: it may be blind to "
            "the change.",
            "Choose a metric that sees it (rankgate blindspots).",
            n=n, delta=0.0, margin=margin,
        )  # fmt: skip
    words = f"No list differs within rank {depth}, so {metric} is the same in all {n} queries."
    return Finding("pass", words, n=n, delta=0.0, low=0.0, high=0.0, margin=margin, mde=0.0)


def holes(found: Finding, evidence: Evidence, metric: str, bound: float) -> Finding:
    """The same finding, unless documents without a judgment could turn it."""
    hole = evidence.holes.get(metric)
    if hole is None or found.status == "inconclusive":
        return found
    if hole.flip is not None:
        turns = hole.flip > evidence.flip
        how = f"judging them turns it with probability {hole.flip:.2f}"
    else:
        turns = hole.low <= bound if found.status == "pass" else hole.high >= bound
        how = f"they could bring the mean difference to {hole.low:+.4f} or {hole.high:+.4f}"
    if not turns:
        return found
    named = ", ".join(f"{query} {doc}" for query, doc in hole.judge[:_SHOWN])
    count = min(len(hole.judge), _SHOWN)
    step = f"Judge these {count} documents: {named}." if count else "Judge the holes."
    reason = f"{found.reason} Documents without a judgment could turn this: {how}."
    return replace(found, status="inconclusive", reason=reason, next=step)


KIND = Kind(
    "noninferiority",
    "The candidate's mean is not below the baseline's by the margin or more.",
    (
        Parameter("metric", "string", "One of the policy's metrics.", required=True),
        Parameter("margin", "number", "The loss that does not matter.", required=True, above=0),
        Parameter("relative", "boolean", "The margin is a share of the baseline's mean.",
                  default=False),
    ),
    decide,
)  # fmt: skip
