"""Trials of flip probabilities: hide judgments, predict flips, check them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.progress import step
from rankgate.data import read_qrels, read_run
from rankgate.decisions.comparison.values import pair_values
from rankgate.decisions.unjudged.hole_figures import estimate_metrics, interval_status
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer

    Floats = NDArray[np.float64]

KEYS = ["query_id", "doc_id"]

_VARIANTS = tuple(product((False, True), (0.15, 0.3, 0.5)))  # candidate's documents only; share
_DRAWS, _QUERIES = 100, 50


def run_trials(
    scorer: Scorer,
    runs: tuple[Run, Run],
    count: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Run trials: (T,) predicted chances of a flip, and (T,) outcomes, 1 for a flip.

    Each trial takes half of the queries, 50 at most, and the judged documents alone, so that the
    truth is known; it hides a share of those that the lists show, or of those that only the
    candidate shows, and checks if the interval's conclusion changes with all judgments.

    Args:
        scorer: judgments, one metric, convention; as deep as the metric looks.
        runs: baseline and candidate.
        count: the number of trials; those that hide every judgment are left out.
        rng: the random generator.
    """
    judgments = scorer.qrels.table.filter(pl.col("grade") >= 0)
    lists = [run.table.join(judgments, on=KEYS, how="semi", maintain_order="left") for run in runs]
    common_queries = sorted(set(lists[0]["query_id"].unique()) & set(lists[1]["query_id"].unique()))
    size = min(_QUERIES, (len(common_queries) + 1) // 2)
    outcomes = []
    for i in range(count if common_queries else 0):
        step(f"trial {i + 1} of {count}")
        sampled_queries = [
            common_queries[j] for j in sorted(rng.permutation(len(common_queries))[:size])
        ]
        sampled_tables = [
            table.filter(pl.col("query_id").is_in(sampled_queries)) for table in (judgments, *lists)
        ]
        outcome = _trial(scorer, sampled_tables, _VARIANTS[i % len(_VARIANTS)], rng)
        if outcome is not None:
            outcomes.append(outcome)
    pairs = np.array(outcomes, np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def find_judged_documents(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The judged documents of both lists: ``query_id``, ``doc_id``, ``grade``."""
    lists = pl.concat([system.lists.select(*KEYS, "grade") for system in (baseline, candidate)])
    return lists.filter(pl.col("grade") >= 0).unique(KEYS, keep="first").sort(*KEYS)


def _trial(
    scorer: Scorer,
    tables: list[pl.DataFrame],
    variant: tuple[bool, float],
    rng: np.random.Generator,
) -> tuple[float, bool] | None:
    """One trial: predicted chance of a flip, and its outcome; None if no judgment is left."""
    judgments, *lists = tables
    runs = [read_run(table, name) for table, name in zip(lists, ("one", "two"), strict=True)]
    candidate_only, share = variant
    full_systems = _score_runs(_scorer_with(scorer, judgments), runs)
    judged_documents = find_judged_documents(*full_systems)
    if candidate_only:
        judged_documents = judged_documents.join(
            full_systems[0].lists, on=KEYS, how="anti", maintain_order="left"
        )
    hidden_documents = judged_documents.filter(
        pl.Series(rng.random(len(judged_documents)) < share, dtype=pl.Boolean)
    )
    visible_judgments = judgments.join(hidden_documents, on=KEYS, how="anti", maintain_order="left")
    if visible_judgments.is_empty():
        return None
    partial_scorer = _scorer_with(scorer, visible_judgments)
    systems = _score_runs(partial_scorer, runs)
    label = scorer.metrics[0][0]
    result, _ = estimate_metrics(
        HypotheticalScorer.of(partial_scorer, *systems),
        model_holes(*systems),
        {label: 0.0},
        _DRAWS,
        int(rng.integers(2**31)),
        "random",
    )
    return float(result["flip"][0]), _interval_status(*systems) != _interval_status(*full_systems)


def _scorer_with(scorer: Scorer, judgments: pl.DataFrame) -> Scorer:
    qrels = read_qrels(judgments)
    # without tags: a trial does not need slices
    return replace(scorer, qrels=qrels, index=JudgmentIndex.of(qrels), tags=None)


def _score_runs(scorer: Scorer, runs: list[Run]) -> tuple[ScoredRun, ScoredRun]:
    return scorer.scored(runs[0]), scorer.scored(runs[1])


def _interval_status(baseline: ScoredRun, candidate: ScoredRun) -> str:
    """Position of the interval of the mean difference, compared with 0."""
    values = pair_values(baseline, candidate, "zero")
    delta = (values.candidate - values.baseline)[:, 0]
    delta = delta[~np.isnan(delta)]
    return interval_status(float(delta.mean()), float((delta**2).sum()), len(delta), 0.0)
