"""Rule: the latency of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import ROUNDING
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import needed_decimals

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_LATENCY_ADVICE = (
    "say latency_ms in RUN.meta.jsonl next to the run, or in a column of a CSV or Parquet run"
)


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare a quantile with a ceiling in milliseconds, and with the baseline's."""
    rows = {row["system"]: row for row in evidence.counted(rule.slice).latency.to_dicts()}
    slice_label = f" for {rule.slice}" if rule.slice else ""
    name, ceiling, ratio = rule["quantile"], rule["max_ms"], rule["max_ratio"]
    if "candidate" not in rows:
        return Outcome(
            "inconclusive", f"the candidate's run says no latencies{slice_label}", _LATENCY_ADVICE
        )
    candidate_ms = rows["candidate"][name]
    bounds = [ceiling] * (ceiling is not None)
    reason, exceeded = (
        f"{name}{slice_label} is {candidate_ms:.{needed_decimals(candidate_ms, bounds, 1)}f} ms",
        [],
    )
    if ceiling is not None and candidate_ms > ceiling + ROUNDING:
        exceeded.append(f"at most {ceiling:g} ms are allowed")
    if ratio is not None:
        if "baseline" not in rows:
            return Outcome(
                "inconclusive", f"the baseline says no latencies{slice_label}", _LATENCY_ADVICE
            )
        baseline_ms = rows["baseline"][name]
        reason += f", the baseline's {baseline_ms:.1f} ms"
        if candidate_ms > ratio * baseline_ms + ROUNDING:
            exceeded.append(f"at most {ratio:g} times the baseline's is allowed")
    if exceeded:
        return Outcome(
            "fail",
            f"{reason}; {' and '.join(exceeded)}",
            "find what made it slower",
            n=rows["candidate"]["n"],
        )
    return Outcome("pass", reason, n=rows["candidate"]["n"])


KIND = RuleKind(
    "latency",
    (
        Parameter(
            "quantile",
            "text",
            "p50, p90, p95 or p99",
            "p95",
            choices=("p50", "p90", "p95", "p99"),
        ),
        Parameter("max_ms", "number", "the largest quantile in milliseconds", range=Range(0.0)),
        Parameter(
            "max_ratio", "number", "the largest quantile over the baseline's", range=Range(0.0)
        ),
    ),
    decide,
    title="queries do not take too long; needs runs with latencies",
    sliced=True,
    any_of=("max_ms", "max_ratio"),
    needs=frozenset({"queries"}),
)
