"""Rule outcomes that judging the unjudged documents would probably change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.evidence import HypotheticalValues
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.words import signed_number
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
    from rankgate.measurement.stats.clusters import QueryClusters

    Floats = NDArray[np.float64]


_SELECTIONS: dict[str, Selection] = {
    "random": "random",
    "pooled": "pooled",
}


def draw_values(
    scorer: Scorer, base: ScoredRun, candidate: ScoredRun, rules: Policy
) -> dict[str, DrawnValues]:
    """Values under drawn grades, of the metrics that a rule asks about."""
    metrics = {rule["metric"] for rule in rules.rules if RULES[rule.kind].statuses is not None}
    if rules["holes"] == "ignore" or not metrics:
        return {}
    metric_scorer = replace(
        scorer, metrics=tuple(metric for metric in scorer.metrics if metric[0] in metrics)
    )
    selection = _SELECTIONS.get(rules["holes"], scorer.collection.selection or "unknown")
    return drawn_values(metric_scorer, base, candidate, seed=rules["seed"], selection=selection)


def check_flip(rule: Rule, evidence: Evidence, result: Outcome) -> Outcome:
    """The outcome, inconclusive where judging the unjudged documents probably changes it.

    The rule itself is evaluated on every set of drawn grades, with its own bound, slice, alpha and
    corrections; the probability is the share of sets with another status, where judgments are
    missing at random or where they are not, whichever is larger.
    """
    kind, drawn_grades = RULES[rule.kind], evidence.inputs.holes.get(rule.get("metric") or "")
    nothing_moved = result.low == result.high == 0
    if (
        kind.statuses is None
        or drawn_grades is None
        or result.status == "inconclusive"
        or nothing_moved
    ):
        return result
    table = evidence.queries(rule["metric"], rule.slice)
    row_of_query = {query: i for i, query in enumerate(drawn_grades.query_ids)}
    rows = np.array(
        [row_of_query.get(query, -1) for query in table["query_id"].to_list()], np.int64
    )
    if not (rows >= 0).any():
        return result
    sign = -1.0 if evidence.lower(rule["metric"]) else 1.0
    values = _values(table, rows, (drawn_grades.baseline, drawn_grades.candidate), sign)
    if (units := evidence.units(table)) is not None:
        values = group_values(values, units, evidence)
    is_changed = kind.statuses(rule, evidence, values) != result.status
    flip = max(
        float(is_changed[is_selected].mean())
        for is_selected in (drawn_grades.pooled, ~drawn_grades.pooled)
        if is_selected.any()
    )
    if flip <= evidence.terms.flip:
        return result
    extreme = _values(table, rows, (drawn_grades.extremes[0], drawn_grades.extremes[1]), 1.0)
    quantity, extreme_values = (
        ("difference", extreme.gain) if kind.limits else ("value", extreme.candidate)
    )
    low, high = float(extreme_values.min(axis=1).mean()), float(extreme_values.max(axis=1).mean())
    count = int(drawn_grades.holes[rows[rows >= 0]].sum())
    return replace(
        result,
        status="inconclusive",
        reason=f"{result.reason}, but judging the unjudged documents would change that with a "
        f"probability of {flip:.0%} (the {quantity} could be from {signed_number(low)} to "
        f"{signed_number(high)})",
        next=f"judge the {count:,} unjudged documents, those that matter first (rankgate holes "
        f"--judge-next {count})",
    )


def group_values(
    values: HypotheticalValues, units: QueryClusters, evidence: Evidence
) -> HypotheticalValues:
    """The values of clusters; guaranteed bounds of unequal ones count each cluster once here."""
    values_of_units = units.means if evidence.terms.interval == "guaranteed" else units.values
    queries = [values.query_ids[row] for row in units.first]
    return HypotheticalValues(
        queries,
        *(values_of_units(table) for table in (values.baseline, values.candidate, values.gain)),
    )


def _values(
    table: pl.DataFrame, rows: NDArray[np.int64], replacements: tuple[Floats, Floats], sign: float
) -> HypotheticalValues:
    """The measured values, those of queries with unjudged documents replaced by drawn ones.

    Args:
        table: the queries of the rule.
        rows: (n,) the row of each query among the drawn ones; −1 for the others.
        replacements: (H, S) values of the baseline and of the candidate.
        sign: −1 for a metric that is better when lower.
    """
    systems = []
    for name, values in zip(("baseline", "candidate"), replacements, strict=True):
        system_values = np.repeat(table[name].to_numpy()[:, None], values.shape[1], axis=1)
        system_values[rows >= 0] = values[rows[rows >= 0]]
        systems.append(system_values)
    baseline, candidate = systems
    return HypotheticalValues(
        table["query_id"].to_list(), baseline, candidate, sign * (candidate - baseline)
    )
