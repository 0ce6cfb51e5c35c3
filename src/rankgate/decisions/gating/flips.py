"""Whether judging the unjudged documents would change the status of a rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.evidence import HypotheticalValues
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.words import signed
from rankgate.decisions.unjudged.drawn_values import drawn_values

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.collection import Selection
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Outcome, Rule
    from rankgate.decisions.unjudged.drawn_values import DrawnValues
    from rankgate.measurement.evaluation.scored_system import Scorer
    from rankgate.measurement.stats.clusters import Units

    Floats = NDArray[np.float64]


_SELECTIONS: dict[str, Selection] = {
    "random": "random",
    "pooled": "pooled",
}


def values_under_drawn_grades(
    scorer: Scorer, base: ScoredRun, other: ScoredRun, rules: Policy
) -> dict[str, DrawnValues]:
    """Values under drawn grades, of the metrics that a rule asks about."""
    asked = {rule["metric"] for rule in rules.rules if RULES[rule.kind].statuses is not None}
    if rules["holes"] == "ignore" or not asked:
        return {}
    some = replace(scorer, metrics=tuple(each for each in scorer.metrics if each[0] in asked))
    selection = _SELECTIONS.get(rules["holes"], scorer.collection.selection or "unknown")
    return drawn_values(some, base, other, seed=rules["seed"], selection=selection)


def checked(rule: Rule, evidence: Evidence, result: Outcome) -> Outcome:
    """The outcome, inconclusive where judging the unjudged documents probably changes it.

    The rule itself is evaluated on every set of drawn grades, with its own bound, slice, alpha and
    corrections; the probability is the share of sets with another status, where judgments are
    missing at random or where they are not, whichever is larger.
    """
    kind, drawn = RULES[rule.kind], evidence.inputs.holes.get(rule.get("metric") or "")
    nothing_moved = result.low == result.high == 0
    if kind.statuses is None or drawn is None or result.status == "inconclusive" or nothing_moved:
        return result
    table = evidence.queries(rule["metric"], rule.slice)
    place = {query: i for i, query in enumerate(drawn.query_ids)}
    rows = np.array([place.get(query, -1) for query in table["query_id"].to_list()], np.int64)
    if not (rows >= 0).any():
        return result
    sign = -1.0 if evidence.lower(rule["metric"]) else 1.0
    values = _values(table, rows, (drawn.baseline, drawn.candidate), sign)
    if (units := evidence.units(table)) is not None:
        values = in_units(values, units, evidence)
    turned = kind.statuses(rule, evidence, values) != result.status
    flip = max(float(turned[some].mean()) for some in (drawn.pooled, ~drawn.pooled) if some.any())
    if flip <= evidence.terms.flip:
        return result
    extreme = _values(table, rows, (drawn.extremes[0], drawn.extremes[1]), 1.0)
    what, own = ("difference", extreme.gain) if kind.limits else ("value", extreme.candidate)
    low, high = float(own.min(axis=1).mean()), float(own.max(axis=1).mean())
    count = int(drawn.holes[rows[rows >= 0]].sum())
    return replace(
        result,
        status="inconclusive",
        reason=f"{result.reason}, but judging the unjudged documents would change that with a "
        f"probability of {flip:.0%} (the {what} could be from {signed(low)} to {signed(high)})",
        next=f"judge the {count:,} unjudged documents, those that matter first (rankgate holes "
        f"--judge-next {count})",
    )


def in_units(values: HypotheticalValues, units: Units, evidence: Evidence) -> HypotheticalValues:
    """The values of clusters; guaranteed bounds of unequal ones count each cluster once here."""
    grouped = units.means if evidence.terms.interval == "guaranteed" else units.values
    queries = [values.query_ids[row] for row in units.first]
    return HypotheticalValues(
        queries, *(grouped(table) for table in (values.baseline, values.candidate, values.gain))
    )


def _values(
    table: pl.DataFrame, rows: NDArray[np.int64], drawn: tuple[Floats, Floats], sign: float
) -> HypotheticalValues:
    """The measured values, those of queries with unjudged documents replaced by drawn ones.

    Args:
        table: the queries of the rule.
        rows: (n,) where each query is among those that were drawn; −1 where nowhere.
        drawn: (H, S) values of the baseline and of the candidate.
        sign: −1 for a metric that is better when lower.
    """
    systems = []
    for name, values in zip(("baseline", "candidate"), drawn, strict=True):
        own = np.repeat(table[name].to_numpy()[:, None], values.shape[1], axis=1)
        own[rows >= 0] = values[rows[rows >= 0]]
        systems.append(own)
    one, two = systems
    return HypotheticalValues(table["query_id"].to_list(), one, two, sign * (two - one))
