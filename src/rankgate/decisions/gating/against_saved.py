"""A saved baseline in a gate: what it has, what changed since, and its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.decisions.gating.decide import stale
from rankgate.decisions.gating.evidence import Drift
from rankgate.decisions.gating.saved import baselines

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.saved.baselines import Saved
    from rankgate.decisions.gating.verdict import Verdict


def chosen(saved: Saved, metrics: Sequence[str], rules: Policy) -> ScoredRun:
    """The saved system with the metrics of the policy.

    Raises:
        UsageError: it was saved without one of them, or with shorter lists.
    """
    system = saved.baseline.system
    lacking = [metric for metric in metrics if metric not in system.metrics]
    if lacking:
        raise UsageError(
            f"the baseline {saved.baseline.name} was saved without {', '.join(lacking)}; save it "
            f"anew: rankgate baseline save {saved.baseline.name} QRELS RUN --force, with "
            f"{' '.join(f'-m {metric}' for metric in metrics)}.",
            code="baseline-lacks",
        )
    if system.depth < rules.depth:
        raise UsageError(
            f"the baseline {saved.baseline.name} has lists of {system.depth} documents, and the "
            f"policy looks at {rules.depth}; save it again: rankgate baseline save "
            f"{saved.baseline.name} QRELS RUN --force --depth {rules.depth}.",
            code="baseline-lacks",
        )
    scores = system.scores.filter(pl.col("metric").is_in(list(metrics)))
    return replace(system, metrics=tuple(metrics), scores=scores)


def stale_verdict(saved: Saved, candidate: ScoredRun, rules: Policy) -> Verdict:
    """Other judgments than the baseline was scored by: what changed is not the system alone."""
    system, drift = saved.baseline.system, drift_of(saved.baseline.system, candidate)
    reason = (
        f"the baseline {saved.baseline.name} was scored by other judgments "
        f"({system.qrels_sha256[:12]}) than the candidate ({candidate.qrels_sha256[:12]}): "
        f"{drift.words}"
    )
    after = (
        f"save it again by these judgments: rankgate baseline save {saved.baseline.name} QRELS RUN "
        "--force"
    )
    hashes = {
        "qrels": candidate.qrels_sha256,
        "baseline": system.sha256,
        "candidate": candidate.sha256,
        "policy": rules.sha256,
    }
    return stale(rules, (saved.baseline.name, candidate.name), drift, reason, after, hashes)


def drift_of(saved: ScoredRun, now: ScoredRun) -> Drift:
    """What changed between the judgments that a system was saved by and those of today."""
    then, today = (set(system.queries["query_id"].to_list()) for system in (saved, now))
    both = saved.lists.join(now.lists, on=["query_id", "doc_id"], how="inner")
    other = both.filter(pl.col("grade").ne_missing(pl.col("grade_right")))
    return Drift(
        len(then),
        tuple(sorted(then - today)),
        tuple(sorted(today - then)),
        saved.qrels_sha256 != now.qrels_sha256,
        len(other),
    )


def noise_of(
    saved: Saved | None, systems: Sequence[ScoredRun], metrics: Sequence[str]
) -> dict[str, float]:
    """The floor that the baseline has recorded, or that further runs of its system show."""
    floor = dict(saved.baseline.noise) if saved else {}
    if len(systems) > 1:
        floor |= {metric: baselines.spread(metric, systems) for metric in metrics}
    return floor
