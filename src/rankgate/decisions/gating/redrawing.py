"""Would the gate decide the same again? Its own rules on resampled queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.designed import clustered_terms
from rankgate.decisions.gating.evidence import HypotheticalValues
from rankgate.decisions.gating.flip_rate import FlipRate
from rankgate.decisions.gating.flips import in_units
from rankgate.decisions.gating.intervals import LEAST
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.gating.evidence import Evidence
    from rankgate.decisions.gating.rule import Rule
    from rankgate.decisions.gating.verdict import RuleResult

    Places = NDArray[np.int64]

REDRAWS = 400
"""Resampled sets of queries; a share of them is then known to 2.5 % or better."""

_FEWEST = 20  # resamples below which a share would say nothing
_BUDGET = 200_000_000  # numbers that all rules look at in all
_COST = {"t": 32, "guaranteed": 256}  # numbers that one value of a resample costs; else a bootstrap
_BOOTSTRAP = 20_000
_CELLS = 1 << 22  # values of one block of resamples


def flip_rate(
    ended: Sequence[RuleResult], evidence: Evidence, draws: int = REDRAWS
) -> FlipRate | None:
    """Evaluate the rules on queries drawn with replacement, the same ones for all rules.

    Draws keep how many queries each slice, and each metric, has. A rule whose outcome no value of
    a query decides keeps it: those about lists, latencies, states and judgments, those about all
    lists together, and those that unjudged documents made inconclusive. The number of draws is
    lower where there are very many queries, or intervals are bootstrapped, so that the time is
    bounded.

    Args:
        ended: the rules with their outcomes.
        evidence: what they looked at.
        draws: resampled sets of queries at most.

    Returns:
        None where no rule looks at values of queries, or too few draws can be made in time.
    """
    queries = {each.rule.id: _queries(each, evidence) for each in ended}
    drawn = {name: rows for name, rows in queries.items() if rows is not None}
    count = _affordable(drawn, evidence, draws)
    if not drawn or count < _FEWEST:
        return None
    rng = np.random.default_rng(evidence.terms.seed)
    size = max(len(rows) for rows in drawn.values())
    step = max(1, _CELLS // max(size, 1))
    parts = [
        _statuses(ended, evidence, drawn, min(step, count - begin), rng)
        for begin in range(0, count, step)
    ]
    statuses = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return _counted(ended, statuses, count, evidence)


def _queries(each: RuleResult, evidence: Evidence) -> list[str] | None:
    """The queries that a rule looks at; None where it is not evaluated again."""
    rule, kind = each.rule, RULES[each.rule.kind]
    if (
        (kind.redrawn is None and kind.statuses is None)
        or (evidence.inputs.values_only and not kind.of_values)
        or (evidence.inputs.groups is not None and (rule.slice or kind.limits == "drop"))
        or (rule["metric"], rule.slice) in evidence.inputs.wholes
    ):
        return None
    if kind.statistical:
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    if kind.decide(rule, evidence).status != each.outcome.status:  # unjudged documents decided
        return None
    table = evidence.queries(rule["metric"], rule.slice)
    nothing_moved = bool(kind.difference) and not (table["gain"] != 0).any()
    too_few = kind.statistical and len(table) < LEAST
    if too_few or nothing_moved or not len(table):
        return None
    queries = table["query_id"].to_list()
    units = evidence.units(table) if kind.redrawn is None else None
    return queries if units is None else [queries[row] for row in units.first]


def _affordable(drawn: Mapping[str, Sequence[str]], evidence: Evidence, draws: int) -> int:
    work = sum(map(len, drawn.values())) * _COST.get(evidence.terms.interval, _BOOTSTRAP)
    return min(draws, _BUDGET // max(work, 1))


def _statuses(
    ended: Sequence[RuleResult],
    evidence: Evidence,
    drawn: Mapping[str, Sequence[str]],
    count: int,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.str_]]:
    """By rule, (count,) its status in each resample."""
    places = _drawn_places(drawn, count, rng)
    rules = {each.rule.id: each.rule for each in ended}
    return {name: _of_rule(rules[name], evidence, rows) for name, rows in places.items()}


def _of_rule(rule: Rule, evidence: Evidence, places: Places) -> NDArray[np.str_]:
    kind = RULES[rule.kind]
    if kind.redrawn is not None:
        return kind.redrawn(rule, evidence, places)
    assert kind.statuses is not None
    table = evidence.queries(rule["metric"], rule.slice)
    columns = (table[name].to_numpy() for name in ("baseline", "candidate", "gain"))
    values = HypotheticalValues(table["query_id"].to_list(), *columns)
    if (units := evidence.units(table)) is not None:
        values = in_units(values, units, evidence)
        evidence = replace(evidence, terms=clustered_terms(rule, evidence))
    drawn = (values.baseline[places], values.candidate[places], values.gain[places])
    return kind.statuses(rule, evidence, HypotheticalValues(values.query_ids, *drawn))


def _drawn_places(
    drawn: Mapping[str, Sequence[str]], count: int, rng: np.random.Generator
) -> dict[str, Places]:
    """By rule, (n, count) rows of its queries, drawn within groups that the same rules look at."""
    member: dict[str, list[str]] = {}
    for name, queries in drawn.items():
        for query in queries:
            member.setdefault(query, []).append(name)
    groups: dict[tuple[str, ...], list[str]] = {}
    for query in sorted(member):  # whatever order a rule has them in
        groups.setdefault(tuple(member[query]), []).append(query)
    row = {name: {query: i for i, query in enumerate(queries)} for name, queries in drawn.items()}
    parts: dict[str, list[Places]] = {name: [] for name in drawn}
    for names, queries in groups.items():
        picked = rng.integers(0, len(queries), (len(queries), count))
        for name in names:
            own = np.array([row[name][query] for query in queries], np.int64)
            parts[name].append(own[picked])
    return {name: np.concatenate(some) for name, some in parts.items()}


def _counted(
    ended: Sequence[RuleResult],
    statuses: Mapping[str, NDArray[np.str_]],
    count: int,
    evidence: Evidence,
) -> FlipRate:
    observed = {each.rule.id: np.full(1, each.outcome.status) for each in ended}
    blocking = [each.rule.id for each in ended if each.rule.tier == "block"]
    words = _verdicts(
        [statuses.get(name, observed[name].repeat(count)) for name in blocking], count
    )
    (before,) = _verdicts([observed[name] for name in blocking], 1)
    turned = {
        each.rule.id: float((statuses[each.rule.id] != each.outcome.status).mean())
        for each in ended
        if each.rule.id in statuses
    }
    return FlipRate(
        float((words != before).mean()),
        {name: float((words == name).mean()) for name in _VERDICTS},
        turned,
        tuple(each.rule.id for each in ended if each.rule.id not in statuses),
        count,
        evidence.terms.seed,
    )


_VERDICTS = ("pass", "fail", "inconclusive")


def _verdicts(statuses: Sequence[NDArray[np.str_]], count: int) -> NDArray[np.str_]:
    """(count,) what the rules that block make together, as ``decide`` has it."""
    table = np.array(statuses).reshape(len(statuses), count)
    open_ = np.where((table == "inconclusive").any(axis=0), "inconclusive", "pass")
    return np.where((table == "fail").any(axis=0), "fail", open_)
