"""Rule: the share of empty or failed queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import SLACK
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import limit, percent

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_WORDS = {"zero": "return nothing", "failed": "fail", "not_run": "were not run"}
_SYSTEMS = ("baseline", "candidate")


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries in a state with a ceiling, and with the baseline's share."""
    states = evidence.counted(rule.slice).states
    where = f" for {rule.slice}" if rule.slice else ""
    most, more = rule["at_most"], rule["more"]
    share, counted, n = {}, {}, 0
    for system in _SYSTEMS:
        own = states.filter(pl.col("system") == system)
        some = int(own.filter(pl.col("state") == rule["state"])["queries"].sum())
        total = int(own["queries"].sum())
        if not total:
            return Outcome(
                "inconclusive",
                f"the {system} was asked no query{where}",
                "see whether the tags are right" if where else "ask some queries",
                n=0,
            )
        share[system], n = some / total, total
        bounds = [most] * (most is not None)
        counted[system] = f"{some} of the {system}'s {total}", percent(share[system], *bounds)
    (now, part), (then, before) = counted["candidate"], counted["baseline"]
    asked = "query" if n == 1 else "queries"
    text = f"{now} {asked}{where} ({part}) {_WORDS[rule['state']]}, {then} ({before})"
    limits = (
        {} if most is None else {f"at most {limit(most)} may": share["candidate"] <= most + SLACK}
    )
    if more is not None:
        rise = share["candidate"] - share["baseline"]
        limits[f"at most {limit(more)} more than of the baseline may"] = rise <= more + SLACK
    over = [words for words, kept in limits.items() if not kept]
    if over:
        reason = f"{text}; {' and '.join(over)}"
        return Outcome("fail", reason, "see why these queries changed", n=n)
    return Outcome("pass", f"{text}; {' and '.join(limits)}", n=n)


KIND = RuleKind(
    "states",
    (
        Parameter(
            "state",
            "text",
            "zero (nothing returned), failed or not_run",
            "zero",
            choices=("zero", "failed", "not_run"),
        ),
        Parameter("at_most", "number", "the largest share of queries", range=Range(0.0, 1.0)),
        Parameter(
            "more",
            "number",
            "the largest rise of the share over the baseline's",
            range=Range(0.0, 1.0),
        ),
    ),
    decide,
    title="few queries return nothing or fail",
    sliced=True,
    any_of=("at_most", "more"),
    needs=frozenset({"counts"}),
)
