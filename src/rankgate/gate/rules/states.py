"""How many queries return nothing, or fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import Kind, Outcome, Parameter

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule

_WORDS = {"zero": "return nothing", "failed": "fail", "not_run": "were not run"}


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries in a state with a ceiling, and with the baseline's share."""
    states = evidence.counted(rule.slice).states
    where = f" for {rule.slice}" if rule.slice else ""
    share, counted, n = {}, {}, 0
    for system in ("baseline", "candidate"):
        own = states.filter(pl.col("system") == system)
        some = int(own.filter(pl.col("state") == rule["state"])["queries"].sum())
        total = int(own["queries"].sum())
        if not total:
            return Outcome("inconclusive", f"the {system} was asked no query{where}",
                           "see whether the tags are right" if where else "ask some queries",
                           n=0)  # fmt: skip
        share[system], n = some / total, total
        counted[system] = f"{some} of {total} ({share[system]:.1%})"
    told = f"{counted['candidate']} of the candidate's queries {_WORDS[rule['state']]}"
    told += f", {counted['baseline']} of the baseline's{where}"
    most, more = rule["at_most"], rule["more"]
    over = []
    if most is not None and share["candidate"] > most:
        over.append(f"at most {most:.1%} may")
    if more is not None and share["candidate"] - share["baseline"] > more:
        over.append(f"at most {more:.1%} more than of the baseline may")
    if over:
        reason = f"{told}; {' and '.join(over)}"
        return Outcome("fail", reason, "see why these queries changed", n=n)
    return Outcome("pass", told, n=n)


KIND = Kind(
    "states",
    "few queries return nothing or fail",
    (
        Parameter("state", "text", "zero (nothing returned), failed or not_run", "zero",
                  choices=("zero", "failed", "not_run")),
        Parameter("at_most", "number", "the largest share of queries", None, 0.0, 1.0),
        Parameter("more", "number", "the largest rise of the share over the baseline's", None, 0.0,
                  1.0),
    ),
    decide,
    sliced=True,
)  # fmt: skip
