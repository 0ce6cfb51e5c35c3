"""``drift``: both systems answered the same queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """The share of queries that were left out; other judgments never get as far as a rule."""
    comparison, most = evidence.comparison, float(rule.settings["at_most"])
    out = comparison.excluded["query_id"].n_unique()
    kept = comparison.queries["query_id"].n_unique()
    total = max(1, len({*comparison.excluded["query_id"], *comparison.queries["query_id"]}))
    words = (
        f"{out} of {total} queries are left out or lack a value in some metric; {most:.0%} may. "
        f"Judgments are the same ({comparison.qrels_sha256[:12]})."
    )
    good = out / total <= most
    step = None if good else "Run both systems on the same queries."
    return Finding("pass" if good else "fail", words, step, n=kept, delta=out / total, margin=most)


KIND = Kind(
    "drift",
    "Both systems answered the same queries by the same judgments.",
    (Parameter("at_most", "number", "The share left out, 0 to 1.", default=0.0, low=0, high=1),),
    decide,
)
