"""Rule: the share of empty or failed queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.declare import Parameter, Range
from rankgate.decisions.gating.intervals import ROUNDING
from rankgate.decisions.gating.rule import Outcome, RuleKind
from rankgate.decisions.gating.words import limit_percent, percent

if TYPE_CHECKING:
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule

_VERB_OF_STATE = {"zero": "return nothing", "failed": "fail", "not_run": "were not run"}
_SYSTEMS = ("baseline", "candidate")


def decide(rule: Rule, evidence: Evidence) -> Outcome:
    """Compare the share of queries in a state with a ceiling, and with the baseline's share."""
    states = evidence.counted(rule.slice).states
    slice_label = f" for {rule.slice}" if rule.slice else ""
    ceiling, more = rule["at_most"], rule["more"]
    share, texts, n = {}, {}, 0
    for system in _SYSTEMS:
        system_states = states.filter(pl.col("system") == system)
        state_count = int(system_states.filter(pl.col("state") == rule["state"])["queries"].sum())
        total = int(system_states["queries"].sum())
        if not total:
            return Outcome(
                "inconclusive",
                f"the {system} was asked no query{slice_label}",
                "see whether the tags are right" if slice_label else "ask some queries",
                n=0,
            )
        share[system], n = state_count / total, total
        bounds = [ceiling] * (ceiling is not None)
        texts[system] = f"{state_count} of the {system}'s {total}", percent(share[system], *bounds)
    (candidate_text, candidate_share), (baseline_text, baseline_share) = (
        texts["candidate"],
        texts["baseline"],
    )
    noun = "query" if n == 1 else "queries"
    text = (
        f"{candidate_text} {noun}{slice_label} ({candidate_share}) "
        f"{_VERB_OF_STATE[rule['state']]}, "
        f"{baseline_text} ({baseline_share})"
    )
    limits = (
        {}
        if ceiling is None
        else {f"at most {limit_percent(ceiling)} may": share["candidate"] <= ceiling + ROUNDING}
    )
    if more is not None:
        rise = share["candidate"] - share["baseline"]
        limits[f"at most {limit_percent(more)} more than of the baseline may"] = (
            rise <= more + ROUNDING
        )
    exceeded = [limit_text for limit_text, is_met in limits.items() if not is_met]
    if exceeded:
        reason = f"{text}; {' and '.join(exceeded)}"
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
    needs=frozenset({"queries"}),
)
