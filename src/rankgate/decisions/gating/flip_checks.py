"""Checks of a gate's stability: sampled queries, unjudged documents, and resampled queries.

The module holds the inference of a gate from a sample of queries, and its limits; the rule
outcomes that judging the unjudged documents would probably change; and the gate's own rules on
resampled queries, which give the probability of another verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.comparison.design import traffic_sampling_advice
from rankgate.decisions.gating.bounds import MIN_QUERIES
from rankgate.decisions.gating.outcome_sentences import signed_number
from rankgate.decisions.gating.rule import HypotheticalValues
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import FlipRate
from rankgate.measurement.stats.query_power import queries_for_power
from rankgate.measurement.stats.weighted_means import unseen_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.gating.rule import Evidence, Outcome, Rule, Terms
    from rankgate.decisions.gating.verdict import RuleResult
    from rankgate.measurement.stats.weighted_means import QueryClusters

    Places = NDArray[np.int64]


def weighed_terms(rule: Rule, evidence: Evidence, design: Design) -> Terms:
    """The terms for unequal weights: degrees of freedom, or the reason for no decision."""
    terms, metric = evidence.terms, rule["metric"]
    queries = evidence.queries(metric, rule.slice)["query_id"].to_list()
    if len(queries) < terms.least:
        return terms
    weighing = design.weighing(queries, rule.slice)
    if weighing.equal:
        return terms
    kind = RULES[rule.kind]
    contrast = evidence.gained(metric) if kind.limits else (lambda _, candidate: candidate)
    estimate = evidence.represented(metric, rule.slice, contrast)
    distance = rule.get(kind.difference) if kind.difference else None
    count = queries_for_power(distance or estimate.mean, estimate.sd, terms.alpha, terms.power, sides=1)
    weights = design.weights(queries, rule.slice)
    unseen = None if weights is None else unseen_weight(weights, terms.alpha)
    return replace(
        terms,
        degrees=weighing.degrees,
        unseen=unseen,
        undecided=weighing.problem(estimate),
        advice=traffic_sampling_advice(count),
    )


def clustered_terms(rule: Rule, evidence: Evidence) -> Terms:
    """The terms for clusters of queries of unequal sizes."""
    terms, metric = evidence.terms, rule["metric"]
    if (metric, rule.slice) in evidence.inputs.wholes:
        return terms
    table = evidence.queries(metric, rule.slice)
    units = evidence.units(table)
    if units is None or units.equal or len(units.first) < terms.least:
        return terms
    if terms.interval == "guaranteed":
        return replace(terms, sizes=units.sizes.astype(np.float64))
    column = "gain" if RULES[rule.kind].limits else "candidate"
    return replace(
        terms,
        degrees=units.weighing.degrees,
        undecided=units.problem(table[column].to_numpy()),
        unseen=unseen_weight(units.sizes.astype(np.float64), terms.alpha),
        advice="leave out copies of queries, or add queries of other clusters",
    )


def check_flip(rule: Rule, evidence: Evidence, result: Outcome) -> Outcome:
    """The outcome; inconclusive if judging the unjudged documents would probably change it.

    The rule itself is evaluated on every set of drawn grades, with its own bound, slice, alpha and
    corrections; the probability is the share of sets with another status, if judgments are missing
    at random or if they are not, whichever is larger.
    """
    kind, drawn_grades = RULES[rule.kind], evidence.inputs.holes.get(rule.get("metric") or "")
    nothing_moved = result.low == result.high == 0
    if kind.statuses is None or drawn_grades is None or result.status == "inconclusive" or nothing_moved:
        return result
    table = evidence.queries(rule["metric"], rule.slice)
    row_of_query = {query: i for i, query in enumerate(drawn_grades.query_ids)}
    rows = np.array([row_of_query.get(query, -1) for query in table["query_id"].to_list()], np.int64)
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
    if result.status == "fail" and kind.limits == "loss" and (loss := lost_documents(rule, evidence)):
        return replace(result, reason=f"{result.reason}; {loss}")
    extreme = _values(table, rows, (drawn_grades.extremes[0], drawn_grades.extremes[1]), 1.0)
    quantity, extreme_values = ("difference", extreme.gain) if kind.limits else ("value", extreme.candidate)
    low, high = float(extreme_values.min(axis=1).mean()), float(extreme_values.max(axis=1).mean())
    count = int(drawn_grades.holes[rows[rows >= 0]].sum())
    return replace(
        result,
        status="inconclusive",
        reason=f"{result.reason}, but judging the unjudged documents would change that with a probability of "
        f"{flip:.0%} (the {quantity} could be from {signed_number(low)} to {signed_number(high)})",
        next=f"judge the {count_noun(count, 'unjudged document')}, those that matter first (rankgate holes "
        f"--judge-next {count}); or state what unjudged means: --selection complete if all documents were "
        "looked at, sparse if each query has a known answer or two (in the policy: selection under "
        "[collection])",
    )


MIN_KEPT = 0.1
"""A candidate that keeps fewer of the relevant documents that the baseline shows has lost them
(docs/validity.md: real systems keep more)."""


def lost_documents(rule: Rule, evidence: Evidence) -> str:
    """A clause where the candidate lacks nearly all relevant documents that the baseline shows; else empty.

    These documents are judged whatever the candidate shows, so that its unjudged documents cannot
    explain their loss. The share that it keeps is below `MIN_KEPT` by the upper 95 % bound of
    Clopper and Pearson.
    """
    lists = evidence.lists(rule.slice)
    is_candidate = pl.col("system") == "candidate"
    relevant = lists.filter(~is_candidate & (pl.col("grade") >= 1)).select("query_id", "doc_id")
    shared_documents = relevant.join(lists.filter(is_candidate), on=["query_id", "doc_id"], how="semi")
    if not is_lost(len(shared_documents), len(relevant)):
        return ""
    return (
        f"of {len(relevant):,} relevant documents that the baseline shows in its first "
        f"{evidence.comparison.depth}, the candidate shows {len(shared_documents):,}"
    )


def is_lost(kept_count: int, relevant_count: int) -> bool:
    """True if the share that is kept is below `MIN_KEPT` by its upper 95 % bound."""
    if kept_count >= MIN_KEPT * relevant_count:
        return False
    from rankgate.measurement.stats.special_functions import betaincinv  # few lists lose so much

    return float(betaincinv(kept_count + 1.0, relevant_count - kept_count, 0.95)) < MIN_KEPT


def group_values(values: HypotheticalValues, units: QueryClusters, evidence: Evidence) -> HypotheticalValues:
    """The values of clusters; for guaranteed bounds of unequal clusters each counts once here."""
    values_of_units = units.means if evidence.terms.interval == "guaranteed" else units.values
    queries = [values.query_ids[row] for row in units.first]
    return HypotheticalValues(
        queries, *(values_of_units(table) for table in (values.baseline, values.candidate, values.gain))
    )


def _values(
    table: pl.DataFrame, rows: NDArray[np.int64], replacements: tuple[Floats, Floats], sign: float
) -> HypotheticalValues:
    """The values; queries with unjudged documents have drawn instead of measured values.

    Args:
        table: the queries of the rule.
        rows: (n,) the row of each query in the drawn values; −1 for queries without drawn values.
        replacements: (H, S) values of the baseline and of the candidate.
        sign: −1 for a metric that is better when lower.
    """
    systems = []
    for name, values in zip(("baseline", "candidate"), replacements, strict=True):
        system_values = np.repeat(table[name].to_numpy()[:, None], values.shape[1], axis=1)
        system_values[rows >= 0] = values[rows[rows >= 0]]
        systems.append(system_values)
    baseline, candidate = systems
    return HypotheticalValues(table["query_id"].to_list(), baseline, candidate, sign * (candidate - baseline))


REDRAWS = 400
"""Resampled sets of queries; a share of them is then known to 2.5 % or better."""

_MIN_DRAWS = 20  # with fewer resamples the share is not given
_BUDGET = 200_000_000  # numbers that all rules read in total
_COST_OF_INTERVAL = {
    "t": 32,
    "guaranteed": 256,
}  # cost of one value of a resample, in numbers; else of a bootstrap
_BOOTSTRAP = 20_000
_CELLS = 1 << 22  # values of one block of resamples


def compute_flip_rate(
    results: Sequence[RuleResult], evidence: Evidence, draws: int = REDRAWS
) -> FlipRate | None:
    """Evaluate the rules on queries drawn with replacement, the same ones for all rules.

    Draws keep the number of queries of each slice and metric. Rules that do not depend on values of
    queries keep their outcome: rules about lists, latencies, states and judgments, rules about all
    lists together, and rules that unjudged documents made inconclusive. With very many queries or
    bootstrapped intervals there are fewer draws, to limit the time.

    Args:
        results: the rules with their outcomes.
        evidence: the inputs of the rules.
        draws: the largest number of resampled sets of queries.

    Returns:
        The flip rate; None if no rule reads values of queries, or if too few draws can be made in
        time.
    """
    queries = {result.rule.id: _queries(result, evidence) for result in results}
    queries_by_rule = {name: rows for name, rows in queries.items() if rows is not None}
    count = _affordable_draws(queries_by_rule, evidence, draws)
    if not queries_by_rule or count < _MIN_DRAWS:
        return None
    rng = np.random.default_rng(evidence.terms.seed)
    size = max(len(rows) for rows in queries_by_rule.values())
    step = max(1, _CELLS // max(size, 1))
    parts = [
        _statuses(results, evidence, queries_by_rule, min(step, count - begin), rng)
        for begin in range(0, count, step)
    ]
    statuses = {
        name: np.concatenate([statuses_of_part[name] for statuses_of_part in parts]) for name in parts[0]
    }
    return _count_flips(results, statuses, count, evidence)


def _queries(result: RuleResult, evidence: Evidence) -> list[str] | None:
    """The queries of a rule; None if the rule is not evaluated again."""
    rule, kind = result.rule, RULES[result.rule.kind]
    if (
        (kind.redrawn is None and kind.statuses is None)
        or kind.lack(rule, evidence.inputs.supply) is not None
        or (rule["metric"], rule.slice) in evidence.inputs.wholes
    ):
        return None
    if kind.statistical:
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    if kind.decide(rule, evidence).status != result.outcome.status:  # unjudged documents decided
        return None
    table = evidence.queries(rule["metric"], rule.slice)
    nothing_moved = bool(kind.difference) and not (table["gain"] != 0).any()
    too_few = kind.statistical and len(table) < MIN_QUERIES
    if too_few or nothing_moved or not len(table):
        return None
    queries = table["query_id"].to_list()
    units = evidence.units(table) if kind.redrawn is None else None
    return queries if units is None else [queries[row] for row in units.first]


def _affordable_draws(queries_by_rule: Mapping[str, Sequence[str]], evidence: Evidence, draws: int) -> int:
    work = sum(map(len, queries_by_rule.values())) * _COST_OF_INTERVAL.get(
        evidence.terms.interval, _BOOTSTRAP
    )
    return min(draws, _BUDGET // max(work, 1))


def _statuses(
    results: Sequence[RuleResult],
    evidence: Evidence,
    queries_by_rule: Mapping[str, Sequence[str]],
    count: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.str_]]:
    """The (count,) statuses in each resample, by rule."""
    places = _draw_rows(queries_by_rule, count, rng)
    rules = {result.rule.id: result.rule for result in results}
    return {name: _statuses_of_rule(rules[name], evidence, rows) for name, rows in places.items()}


def _statuses_of_rule(rule: Rule, evidence: Evidence, places: Places) -> NDArray[np.str_]:
    kind = RULES[rule.kind]
    if kind.redrawn is not None:
        return kind.redrawn(rule, evidence, places)
    assert kind.statuses is not None
    table = evidence.queries(rule["metric"], rule.slice)
    columns = (table[name].to_numpy() for name in ("baseline", "candidate", "gain"))
    values = HypotheticalValues(table["query_id"].to_list(), *columns)
    if (units := evidence.units(table)) is not None:
        values = group_values(values, units, evidence)
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    resampled = (values.baseline[places], values.candidate[places], values.gain[places])
    return kind.statuses(rule, evidence, HypotheticalValues(values.query_ids, *resampled))


def _draw_rows(
    queries_by_rule: Mapping[str, Sequence[str]], count: int, rng: np.random.Generator
) -> dict[str, Places]:
    """The (n, count) rows of queries by rule, drawn within groups with the same rules."""
    rules_of_query: dict[str, list[str]] = {}
    for name, queries in queries_by_rule.items():
        for query in queries:
            rules_of_query.setdefault(query, []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for query in sorted(rules_of_query):  # independent of a rule's own order
        groups.setdefault(tuple(rules_of_query[query]), []).append(query)
    row = {name: {query: i for i, query in enumerate(queries)} for name, queries in queries_by_rule.items()}
    parts: dict[str, list[Places]] = {name: [] for name in queries_by_rule}
    for names, queries in groups.items():
        drawn_rows = rng.integers(0, len(queries), (len(queries), count))
        for name in names:
            query_rows = np.array([row[name][query] for query in queries], np.int64)
            parts[name].append(query_rows[drawn_rows])
    return {name: np.concatenate(row_blocks) for name, row_blocks in parts.items()}


def _count_flips(
    results: Sequence[RuleResult], statuses: Mapping[str, NDArray[np.str_]], count: int, evidence: Evidence
) -> FlipRate:
    observed_statuses = {result.rule.id: np.full(1, result.outcome.status) for result in results}
    blocking = [result.rule.id for result in results if result.rule.tier == "block"]
    verdicts = _verdicts(
        [statuses.get(name, observed_statuses[name].repeat(count)) for name in blocking], count
    )
    (observed_verdict,) = _verdicts([observed_statuses[name] for name in blocking], 1)
    changed_shares = {
        result.rule.id: float((statuses[result.rule.id] != result.outcome.status).mean())
        for result in results
        if result.rule.id in statuses
    }
    return FlipRate(
        float((verdicts != observed_verdict).mean()),
        {name: float((verdicts == name).mean()) for name in _VERDICTS},
        changed_shares,
        tuple(result.rule.id for result in results if result.rule.id not in statuses),
        count,
        evidence.terms.seed,
    )


_VERDICTS = ("pass", "fail", "inconclusive")


def _verdicts(statuses: Sequence[NDArray[np.str_]], count: int) -> NDArray[np.str_]:
    """(count,) the verdict from all blocking rules, as in ``decide``."""
    table = np.array(statuses).reshape(len(statuses), count)
    open_ = np.where((table == "inconclusive").any(axis=0), "inconclusive", "pass")
    return np.where((table == "fail").any(axis=0), "fail", open_)
