"""``order``: for one query a document stands above another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Finding, Kind, Parameter
from rankgate.gate.rules.ranked import ranks

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Compare the two ranks; a document beyond the depth stands below those within."""
    query, above, below = (rule.settings[name] for name in ("query", "above", "below"))
    found = ranks(evidence, query)
    if isinstance(found, Finding):
        return found
    first, second = found.get(above), found.get(below)
    depth = evidence.comparison.depth
    if first is None and second is None:
        words = f"For query {query} neither {above} nor {below} is within rank {depth}."
        return Finding("inconclusive", words, "Look deeper: raise the policy's depth.", n=1)
    good = first is not None and (second is None or first < second)
    named = [f"{doc} is {f'at rank {rank}' if rank else f'not within rank {depth}'}"
             for doc, rank in ((above, first), (below, second))]  # fmt: skip
    words = f"For query {query} {' and '.join(named)}; {above} must stand above {below}."
    return Finding("pass" if good else "fail", words, n=1)


KIND = Kind(
    "order",
    "For one query a document stands above another.",
    (
        Parameter("query", "string", "The query's id.", required=True),
        Parameter("above", "string", "The document that must stand higher.", required=True),
        Parameter("below", "string", "The document that must stand lower.", required=True),
    ),
    decide,
)
