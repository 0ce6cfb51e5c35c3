"""Rule: the share of judged documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import SLACK
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import decimals

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the mean share of judged documents of both systems with the floor."""
    k = rule["k"] or evidence.comparison.depth
    tops = evidence.lists(rule.slice).filter(pl.col("rank") <= k)
    where = f" for {rule.slice}" if rule.slice else ""
    shares = {}
    for system in ("baseline", "candidate"):
        own = tops.filter(pl.col("system") == system).group_by("query_id")
        mean = own.agg(pl.col("grade").is_not_null().mean())["grade"].mean()
        shares[system] = mean if isinstance(mean, float) else 0.0
    least = rule["at_least"]
    below = [system for system, share in shares.items() if share < least - SLACK]
    said = {
        name: f"{name} {share:.{decimals(share, [least], 3)}f}" for name, share in shares.items()
    }
    low = [said[system] for system in below]
    unjudged = tops.filter(pl.col("system").is_in(below) & pl.col("grade").is_null())
    holes = unjudged.select("query_id", "doc_id").n_unique()
    if not low:
        return Outcome(
            "pass", f"judged@{k}{where} is at least {least:g}: {', '.join(said.values())}"
        )
    reason = (
        f"judged@{k}{where} is below {least:g}: {', '.join(low)}; the metrics do not know what "
        "they miss"
    )
    shown = f"the {below[0]} shows" if len(below) == 1 else "they show"
    return Outcome("fail", reason, f"judge the {holes} unjudged documents that {shown}")


KIND = RuleKind(
    "judged",
    (
        Parameter(
            "at_least",
            "number",
            "the mean share of judged documents",
            required=True,
            range=Range(0.0, 1.0),
        ),
        Parameter(
            "k",
            "int",
            "among how many first documents; the policy's depth if not said",
            range=Range(1),
        ),
    ),
    decide,
    title="both systems show mostly judged documents",
    sliced=True,
    depth=("k",),
)
