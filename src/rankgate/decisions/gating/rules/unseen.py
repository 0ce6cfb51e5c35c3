"""Rule: the share of changed queries that the metrics notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import limit_percent, percent

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries whose lists changed while no metric moved with a ceiling."""
    result = evidence.comparison
    lists = evidence.lists(rule.slice)
    changed = set(
        lists.filter(pl.col("moved").is_null() | (pl.col("moved") != 0))["query_id"].to_list()
    )
    moved_queries = set(result.queries.filter(pl.col("delta") != 0)["query_id"].to_list())
    unseen = sorted(changed - moved_queries)
    if not changed:
        return Outcome("pass", f"no list changed in its first {result.depth} documents")
    share, ceiling = len(unseen) / len(changed), rule["at_most"]
    reason = f"{len(changed)} lists changed in their first {result.depth} documents; "
    if not unseen:
        return Outcome("pass", f"{reason}for each of them a metric moved", n=len(changed))
    reason += (
        f"no metric of this gate moved for {len(unseen)} of them ({percent(share, ceiling)}), at "
        f"most {limit_percent(ceiling)} may be so"
    )
    if share <= ceiling:
        return Outcome("pass", reason, n=len(changed))
    return Outcome(
        "inconclusive",
        reason,
        "add a metric that sees them (rankgate blindspots)",
        n=len(changed),
        queries=tuple(unseen),
    )


KIND = RuleKind(
    "unseen",
    (
        Parameter(
            "at_most",
            "number",
            "the share of changed lists that no metric sees",
            0.5,
            range=Range(0.0, 1.0),
        ),
    ),
    decide,
    title="the metrics see most of what changed",
    sliced=True,
)
