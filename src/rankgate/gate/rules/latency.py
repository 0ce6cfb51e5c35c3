"""``latency``: the candidate is fast enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Hold a quantile against a number of milliseconds, a multiple of the baseline's, or both."""
    name = rule.settings["quantile"]
    limit, ratio = rule.settings["max_ms"], rule.settings["max_ratio"]
    table = {row["system"]: row for row in evidence.comparison.latency.to_dicts()}
    own, base = (table.get(system, {}).get(name) for system in ("candidate", "baseline"))
    if own is None or (ratio is not None and not base):
        lacking = "candidate" if own is None else "baseline"
        return Finding("inconclusive", f"The latency of the {lacking} is not known.",
                       "Write latency_ms for each query of the run.")  # fmt: skip
    if limit is None and ratio is None:
        return Finding("inconclusive", "Neither max_ms nor max_ratio is given.",
                       "Give one of them.")  # fmt: skip
    told, good = [], True
    if limit is not None:
        told.append(f"{limit:g} ms may")
        good = own <= limit
    if ratio is not None and base:
        told.append(f"{ratio:g} times the baseline's {base:.1f} ms may")
        good = good and own <= ratio * base
    words = f"{name} of the candidate is {own:.1f} ms; {' and '.join(told)}."
    n = table["candidate"].get("n")
    return Finding("pass" if good else "fail", words, n=n, delta=own - base if base else None)


KIND = Kind(
    "latency",
    "A quantile of the candidate's latency, where runs carry it.",
    (
        Parameter("quantile", "string", "Which.", default="p95",
                  choices=("p50", "p90", "p95", "p99")),
        Parameter("max_ms", "number", "Milliseconds.", above=0),
        Parameter("max_ratio", "number", "A multiple of the baseline's.", above=0),
    ),
    decide,
)  # fmt: skip
