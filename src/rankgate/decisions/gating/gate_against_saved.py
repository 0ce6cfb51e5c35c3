"""A saved baseline in a gate: its parts, and the verdict if it was scored by other judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.score_parts import Need, Part, Supply
from rankgate.decisions.gating.decide import combine_outcomes
from rankgate.decisions.gating.rule import Outcome
from rankgate.decisions.gating.rule_inputs import compute_drift
from rankgate.decisions.gating.rules import RULES
from rankgate.decisions.gating.verdict import RuleResult, Verdict

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.saved.saved_baselines import SavedBaseline


def saved_system(
    saved: SavedBaseline, metrics: Sequence[str], rules: Policy, collection: Collection
) -> ScoredRun:
    """The saved system with the metrics of the policy.

    Raises:
        UsageError: the baseline was saved without one of the metrics, or with shorter lists; only
            one of baseline and candidate is scored with items that users had seen.
    """
    system, supply = saved.baseline.system, saved_supply(saved)
    for metric in metrics:
        supply.require(metric, [Need("values", metric=metric)])
    supply.require("the policy", [Need("lists", depth=rules.depth)])
    if system.without_seen != collection.drop_seen:
        handling, option = ("with", " --drop-seen") if collection.drop_seen else ("without", "")
        raise UsageError(
            f"the baseline {saved.baseline.name} was saved {handling} the items that users had seen, and the "
            "candidate is scored otherwise; save it again: "
            f"{_save_again_command(saved)}{option}.",
            code=_CODE,
        )
    scores = system.scores.filter(pl.col("metric").is_in(list(metrics)))
    return replace(system, metrics=tuple(metrics), scores=scores)


def saved_supply(saved: SavedBaseline) -> Supply:
    """The parts that a saved baseline has."""
    system = saved.baseline.system
    parts: set[Part] = {"values", "group_sums", "queries", "lists", "judgments"}
    if system.served is not None:
        parts.add("every_list")

    def remedy(need: Need) -> str:
        if need.part == "every_list":
            return (
                "save it again with a metric of lists in the policy, or count judged users only "
                "(--judged-users-only)"
            )
        option = f" --depth {need.depth}" if need.depth else ""
        option += f" -m {need.metric}" if need.metric else ""
        return f"save it again: {_save_again_command(saved)}{option}"

    return Supply(
        frozenset(parts),
        f"the baseline {saved.baseline.name} was saved with {', '.join(system.metrics)} and the first "
        f"{count_noun(system.depth, 'document')} of the lists of judged queries",
        remedy,
        depth=system.depth,
        metrics=system.metrics,
        code=_CODE,
    )


def _save_again_command(saved: SavedBaseline) -> str:
    """The command that saves a baseline again."""
    return f"rankgate baseline save {saved.baseline.name} QRELS RUN --force"


_CODE = "baseline-lacks"


def make_verdict_on_stale_baseline(saved: SavedBaseline, candidate: ScoredRun, rules: Policy) -> Verdict:
    """The verdict if the candidate's judgments differ from those of the saved baseline.

    A difference would come from both the system and the judgments. A drift rule of the policy
    decides; every other rule is inconclusive.
    """
    system, drift = saved.baseline.system, compute_drift(saved.baseline.system, candidate)
    outcome = Outcome(
        "inconclusive",
        f"the baseline {saved.baseline.name} was scored by other judgments ({system.qrels_sha256[:12]}) than "
        f"the candidate ({candidate.qrels_sha256[:12]}): {drift.description}",
        f"save it again by these judgments: {_save_again_command(saved)}",
    )
    results = []
    for rule in rules.rules:
        decide_without_comparison = RULES[rule.kind].without_comparison
        results.append(
            RuleResult(rule, decide_without_comparison(rule, drift) if decide_without_comparison else outcome)
        )
    return Verdict(
        combine_outcomes(tuple(results)),
        tuple(results),
        hashes={
            "qrels": candidate.qrels_sha256,
            "baseline": system.sha256,
            "candidate": candidate.sha256,
            "policy": rules.sha256,
        },
        convention={},
        policy=rules.source,
        exit=rules["inconclusive"],
        names=(saved.baseline.name, candidate.name),
        saved=saved.name_and_time,
    )
