"""The gate's own rules on resampled queries: the probability of another verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.designed import clustered_terms
from rankgate.decisions.gating.evidence import HypotheticalValues
from rankgate.decisions.gating.flip_rate import FlipRate
from rankgate.decisions.gating.flips import group_values
from rankgate.decisions.gating.intervals import MIN_QUERIES
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule
    from rankgate.decisions.gating.verdict import RuleResult

    Places = NDArray[np.int64]

REDRAWS = 400
"""Resampled sets of queries; a share of them is then known to 2.5 % or better."""

_MIN_DRAWS = 20  # with fewer resamples a share says nothing
_BUDGET = 200_000_000  # numbers that all rules look at in all
_COST_OF_INTERVAL = {
    "t": 32,
    "guaranteed": 256,
}  # numbers that one value of a resample costs; else a bootstrap
_BOOTSTRAP = 20_000
_CELLS = 1 << 22  # values of one block of resamples


def compute_flip_rate(
    results: Sequence[RuleResult], evidence: Evidence, draws: int = REDRAWS
) -> FlipRate | None:
    """Evaluate the rules on queries drawn with replacement, the same ones for all rules.

    Draws keep how many queries each slice, and each metric, has. A rule whose outcome no value of
    a query decides keeps it: those about lists, latencies, states and judgments, those about all
    lists together, and those that unjudged documents made inconclusive. The number of draws is
    lower where there are very many queries, or intervals are bootstrapped, so that the time is
    bounded.

    Args:
        results: the rules with their outcomes.
        evidence: the inputs of the rules.
        draws: resampled sets of queries at most.

    Returns:
        None where no rule looks at values of queries, or too few draws can be made in time.
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
        name: np.concatenate([statuses_of_part[name] for statuses_of_part in parts])
        for name in parts[0]
    }
    return _count_flips(results, statuses, count, evidence)


def _queries(result: RuleResult, evidence: Evidence) -> list[str] | None:
    """The queries of a rule; None where it is not evaluated again."""
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


def _affordable_draws(
    queries_by_rule: Mapping[str, Sequence[str]], evidence: Evidence, draws: int
) -> int:
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
    """By rule, (count,) its status in each resample."""
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
    """By rule, (n, count) rows of its queries, drawn within groups that the same rules look at."""
    rules_of_query: dict[str, list[str]] = {}
    for name, queries in queries_by_rule.items():
        for query in queries:
            rules_of_query.setdefault(query, []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for query in sorted(rules_of_query):  # independent of a rule's own order
        groups.setdefault(tuple(rules_of_query[query]), []).append(query)
    row = {
        name: {query: i for i, query in enumerate(queries)}
        for name, queries in queries_by_rule.items()
    }
    parts: dict[str, list[Places]] = {name: [] for name in queries_by_rule}
    for names, queries in groups.items():
        drawn_rows = rng.integers(0, len(queries), (len(queries), count))
        for name in names:
            query_rows = np.array([row[name][query] for query in queries], np.int64)
            parts[name].append(query_rows[drawn_rows])
    return {name: np.concatenate(row_blocks) for name, row_blocks in parts.items()}


def _count_flips(
    results: Sequence[RuleResult],
    statuses: Mapping[str, NDArray[np.str_]],
    count: int,
    evidence: Evidence,
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
    """(count,) the verdict of the blocking rules together, by the rules of ``decide``."""
    table = np.array(statuses).reshape(len(statuses), count)
    open_ = np.where((table == "inconclusive").any(axis=0), "inconclusive", "pass")
    return np.where((table == "fail").any(axis=0), "fail", open_)
