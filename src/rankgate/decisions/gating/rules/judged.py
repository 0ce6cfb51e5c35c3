"""Rule: the share of judged documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import ROUNDING
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import needed_decimals

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the mean share of judged documents of both systems with the floor."""
    k = rule["k"] or evidence.comparison.depth
    tops = evidence.lists(rule.slice).filter(pl.col("rank") <= k)
    slice_label = f" for {rule.slice}" if rule.slice else ""
    judged_shares = {}
    for system in ("baseline", "candidate"):
        lists = tops.filter(pl.col("system") == system).group_by("query_id")
        mean = lists.agg(pl.col("grade").is_not_null().mean())["grade"].mean()
        judged_shares[system] = mean if isinstance(mean, float) else 0.0
    floor = rule["at_least"]
    below = [system for system, share in judged_shares.items() if share < floor - ROUNDING]
    share_texts = {
        name: f"{name} {share:.{needed_decimals(share, [floor], 3)}f}"
        for name, share in judged_shares.items()
    }
    low_texts = [share_texts[system] for system in below]
    unjudged = tops.filter(pl.col("system").is_in(below) & pl.col("grade").is_null())
    holes = unjudged.select("query_id", "doc_id").n_unique()
    if not low_texts:
        return Outcome(
            "pass",
            f"judged@{k}{slice_label} is at least {floor:g}: {', '.join(share_texts.values())}",
        )
    reason = (
        f"judged@{k}{slice_label} is below {floor:g}: {', '.join(low_texts)}; the metrics do not "
        "know what they miss"
    )
    subject = f"the {below[0]} shows" if len(below) == 1 else "they show"
    return Outcome("fail", reason, f"judge the {holes} unjudged documents that {subject}")


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
