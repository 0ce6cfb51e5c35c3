"""``judged``: enough of what both systems show first has been judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import Finding, Kind, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Hold the share of judged documents of each system against ``at_least``."""
    cut, least = rule.settings["k"], rule.settings["at_least"]
    systems = ("baseline", "candidate") if rule.settings["both"] else ("candidate",)
    top = evidence.comparison.lists.filter(
        pl.col("rank") <= cut, pl.col("system").is_in(list(systems))
    )
    shares = dict(top.group_by("system").agg(pl.col("grade").is_not_null().mean()).iter_rows())
    if any(shares.get(name) is None for name in systems):
        return Finding("inconclusive", "No list is known of a system.", "Score it anew.")
    told = " and ".join(f"{shares[name]:.1%} of the {name}'s" for name in systems)
    words = f"{told} first {cut} documents are judged; {least:.0%} must be."
    lowest = min(shares[name] for name in systems)
    holes = top.filter(pl.col("grade").is_null()).select("query_id", "doc_id").unique().height
    n = top["query_id"].n_unique()
    if lowest >= least:
        return Finding("pass", words, n=n, delta=lowest, margin=least)
    step = (
        f"Judge more of the {holes} documents without a judgment (rankgate compare --judge-next)."
    )
    return Finding("fail", words, step, n=n, delta=lowest, margin=least)


KIND = Kind(
    "judged",
    "Enough of the first documents has been judged.",
    (
        Parameter("k", "integer", "The last rank that counts.", default=10, low=1),
        Parameter("at_least", "number", "The share, 0 to 1.", required=True, low=0, high=1),
        Parameter("both", "boolean", "Of the baseline too.", default=True),
    ),
    decide,
)
