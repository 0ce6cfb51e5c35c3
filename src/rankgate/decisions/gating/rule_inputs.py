"""Inputs of rules besides a comparison, from what the comparison was made from.

Each input is made only if a rule needs it and the systems can make it: what rules read themselves, the
noise of the baseline, drawn grades of unjudged documents, lists of unjudged queries, states of slices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.collection import SETTLED
from rankgate.decisions.comparison.comparison_tables import latency_table, select_slice, state_tables
from rankgate.decisions.gating.policy_settings import ANSWERED
from rankgate.decisions.gating.rule import Drift, Inputs, RuleSources, StateCounts
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.saved.saved_baselines import largest_difference
from rankgate.decisions.unjudged.hole_figures import drawn_values
from rankgate.measurement.scoring.alignment.top_documents import rank_run

if TYPE_CHECKING:
    from rankgate.data.collection import Selection
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.compared_systems import ComparedPair
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.saved.saved_baselines import SavedBaseline
    from rankgate.decisions.unjudged.hole_figures import DrawnValues
    from rankgate.measurement.evaluation.scored_system import Scorer


def make_inputs(pair: ComparedPair, rules: Policy, saved: SavedBaseline | None) -> Inputs:
    """The inputs of the rules of a policy.

    Args:
        pair: what the comparison was made from.
        rules: the policy.
        saved: the saved baseline, if the baseline is one.

    Raises:
        InputError: a file of a rule that cannot be read.
    """
    made = pair.made
    sources = RuleSources(rules.folder, made.scorer, made.runs[pair.index] if made.runs else None)
    inputs = Inputs(
        noise=dict(saved.baseline.noise) if saved else {},
        ranges=made.ranges,
        drift=compute_drift(*pair.systems) if saved else None,
        by_rule={
            rule.id: kind.read_input(rule, sources)
            for rule in rules.rules
            if (kind := RULES[rule.kind]).read_input and not kind.lack(rule, made.supply)
        },
        wholes=pair.wholes(rules.lists["resamples"], [rule.slice for rule in rules.rules]),
        supply=made.supply,
        design=pair.design,
        groups=made.groups,
        judged=int(pair.measured.states.filter(system="baseline")["queries"].sum()),
    )
    if made.scorer is None:
        return inputs
    base, candidate = pair.systems
    systems = [base, *made.repeats]
    metrics = [label for label, _ in made.scorer.metrics] if made.repeats else []
    noise = {metric: largest_difference(metric, systems) for metric in metrics}
    selection = rules.completed(made.scorer.collection).selection or "unknown"
    return replace(
        inputs,
        noise={**inputs.noise, **noise, **made.lists.noise(len(made.repeats))},
        holes={} if pair.design else _draw_values(made.scorer, base, candidate, rules, selection),
        selection=selection,
        unjudged_lists=_unjudged_lists(pair, made.scorer, rules),
        slices=_count_slices(rules, base, candidate),
        judged=_count_judged(made.scorer, base),
        unanswered=_find_unanswered(base, candidate),
    )


def compute_drift(saved: ScoredRun, candidate: ScoredRun) -> Drift:
    """Differences between the judgments of a saved system and those of a candidate."""
    saved_queries, candidate_queries = (
        set(system.queries["query_id"].to_list()) for system in (saved, candidate)
    )
    documents_of_both = saved.lists.join(candidate.lists, on=["query_id", "doc_id"], how="inner")
    regraded = documents_of_both.filter(pl.col("grade").ne_missing(pl.col("grade_right")))
    return Drift(
        len(saved_queries),
        tuple(sorted(saved_queries - candidate_queries)),
        tuple(sorted(candidate_queries - saved_queries)),
        saved.qrels_sha256 != candidate.qrels_sha256,
        len(regraded),
    )


_SELECTIONS: dict[str, Selection] = {"random": "random", "pooled": "pooled"}


def _draw_values(
    scorer: Scorer, base: ScoredRun, candidate: ScoredRun, rules: Policy, selection: Selection
) -> dict[str, DrawnValues]:
    """Values under drawn grades, for the metrics of a rule."""
    metrics = {rule["metric"] for rule in rules.rules if RULES[rule.kind].statuses is not None}
    selection = _SELECTIONS.get(rules["holes"], selection)
    if rules["holes"] == "ignore" or selection in SETTLED or not metrics:
        return {}
    metric_scorer = replace(
        scorer, metrics=tuple(metric for metric in scorer.metrics if metric[0] in metrics)
    )
    return drawn_values(metric_scorer, base, candidate, seed=rules["seed"], selection=selection)


def _unjudged_lists(pair: ComparedPair, scorer: Scorer, rules: Policy) -> pl.DataFrame | None:
    """The candidate's lists for queries that rules name and that have no judgments."""
    queries = {str(rule["query"]) for rule in rules.rules if rule.get("query")}
    unjudged_queries = sorted(queries - set(scorer.index.query_ids))
    if not unjudged_queries:
        return None
    run = scorer.collection.run(pair.made.runs[pair.index])
    return rank_run(run, pl.Series(unjudged_queries), rules.depth, scorer.how)


def _count_slices(rules: Policy, base: ScoredRun, candidate: ScoredRun) -> dict[str, StateCounts]:
    """The states and latencies of slices, for rules that count them."""
    slices = {rule.slice for rule in rules.rules if "queries" in RULES[rule.kind].needs}
    values = {}
    for slice_ in sorted(slices - {None}, key=str):
        in_slice = select_slice(base, candidate, str(slice_))
        (states,) = state_tables(in_slice[0], in_slice[1:])
        values[str(slice_)] = StateCounts(states, latency_table(*in_slice))
    return values


def _count_judged(scorer: Scorer, system: ScoredRun) -> int:
    """The number of judged queries, or of tasks, whether or not a run has them."""
    index = scorer.index
    if not system.queries["query_id"].is_in(index.query_ids.implode()).all():
        return system.queries.height
    is_left_out = scorer.how.unrated == "left_out" and index.is_rated.any()
    return int(index.is_rated.sum()) if is_left_out else len(index.query_ids)


def _find_unanswered(*systems: ScoredRun) -> tuple[str, ...]:
    """The queries that no system answered."""
    queries = pl.concat(system.queries.select("query_id", "state") for system in systems)
    is_answered = pl.col("state").is_in(ANSWERED).any().over("query_id")
    return tuple(queries.filter(~is_answered)["query_id"].unique(maintain_order=True))
