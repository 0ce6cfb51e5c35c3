"""How many queries of each system ended in a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import Finding

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def share(rule: Rule, evidence: Evidence, states: tuple[str, ...], noun: str) -> Finding:
    """Hold the candidate's share of queries in these states against ``at_most``."""
    most = float(rule.settings["at_most"])
    own = evidence.comparison.states.filter(pl.col("system") == "candidate")
    total = int(own["queries"].sum())
    if not total:
        return Finding("inconclusive", "The state of the candidate's queries is not known.", n=0)
    count = int(own.filter(pl.col("state").is_in(list(states)))["queries"].sum())
    words = f"{count} of {total} queries {noun} ({count / total:.1%}); {most:.1%} may."
    good = count / total <= most
    return Finding(
        "pass" if good else "fail", words, None if good else "Look at these queries.", total,
        count / total, margin=most,
    )  # fmt: skip
