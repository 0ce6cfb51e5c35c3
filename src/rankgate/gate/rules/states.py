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
    states = evidence.comparison.states
    share, counted = {}, {}
    for system in ("baseline", "candidate"):
        own = states.filter(pl.col("system") == system)
        some = int(own.filter(pl.col("state") == rule["state"])["queries"].sum())
        total = int(own["queries"].sum())
        share[system] = some / total if total else 0.0
        counted[system] = f"{some} of {total} ({share[system]:.1%})"
    told = f"{counted['candidate']} of the candidate's queries {_WORDS[rule['state']]}"
    told += f", {counted['baseline']} of the baseline's"
    most, more = rule["at_most"], rule["more"]
    over = []
    if most is not None and share["candidate"] > most:
        over.append(f"at most {most:.1%} may")
    if more is not None and share["candidate"] - share["baseline"] > more:
        over.append(f"at most {more:.1%} more than of the baseline may")
    if over:
        return Outcome("fail", f"{told}; {' and '.join(over)}", "see why these queries changed")
    return Outcome("pass", told)


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
)  # fmt: skip
