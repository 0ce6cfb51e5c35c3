"""Enough of what is shown has been judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import REQUIRED, Kind, Outcome, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the mean share of judged documents of both systems with the floor."""
    k = rule["k"] or evidence.comparison.depth
    tops = evidence.comparison.lists.filter(pl.col("rank") <= k)
    shares = {}
    for system in ("baseline", "candidate"):
        own = tops.filter(pl.col("system") == system).group_by("query_id")
        mean = own.agg(pl.col("grade").is_not_null().mean())["grade"].mean()
        shares[system] = mean if isinstance(mean, float) else 0.0
    least = rule["at_least"]
    low = [f"{system} {share:.3f}" for system, share in shares.items() if share < least]
    told = ", ".join(f"{system} {share:.3f}" for system, share in shares.items())
    holes = tops.filter((pl.col("system") == "candidate") & pl.col("grade").is_null()).height
    if not low:
        return Outcome("pass", f"judged@{k}: {told}; at least {least:g} is asked for")
    reason = (
        f"judged@{k} is below {least:g}: {', '.join(low)}; the metrics do not know what they miss"
    )
    return Outcome("fail", reason, f"judge the {holes} unjudged documents that the candidate shows")


KIND = Kind(
    "judged",
    "both systems show mostly judged documents",
    (
        Parameter("at_least", "number", "the mean share of judged documents", REQUIRED, 0.0, 1.0),
        Parameter("k", "whole", "among how many first documents; the policy's depth if not said",
                  None, 1),
    ),
    decide,
)  # fmt: skip
