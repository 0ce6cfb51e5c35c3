"""Trials of flip probabilities: hide judgments, predict flips, check them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.progress import step
from rankgate.data import read_qrels, read_run
from rankgate.decisions.comparison.values import values_of
from rankgate.decisions.unjudged.hole_figures import figures, status
from rankgate.decisions.unjudged.hole_model import modelled
from rankgate.decisions.unjudged.hypothetical_grades import Stage
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Run
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scored_system import Scorer

    Floats = NDArray[np.float64]

KEYS = ["query_id", "doc_id"]

_WAYS = tuple(product((False, True), (0.15, 0.3, 0.5)))  # of the candidate alone, and what share
_DRAWS, _QUERIES = 100, 50


def trials(
    scorer: Scorer,
    runs: tuple[Run, Run],
    count: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """(T,) the predicted chance of a flip in each trial, and whether it came: 1 or 0.

    Each trial takes half of the queries, 50 at most, and the judged documents alone, so that the
    truth is known; it hides a share of those that the lists show, or of those that only the
    candidate shows, and asks whether the interval says something else when all are back.

    Args:
        scorer: judgments, one metric, convention; as deep as the metric looks.
        runs: baseline and candidate.
        count: how many; trials that hide every judgment are left out.
        rng: what is drawn from.
    """
    judged = scorer.qrels.table.filter(pl.col("grade") >= 0)
    lists = [run.table.join(judged, on=KEYS, how="semi", maintain_order="left") for run in runs]
    common = sorted(set(lists[0]["query_id"].unique()) & set(lists[1]["query_id"].unique()))
    size = min(_QUERIES, (len(common) + 1) // 2)
    items = []
    for i in range(count if common else 0):
        step(f"trial {i + 1} of {count}")
        drawn = [common[j] for j in sorted(rng.permutation(len(common))[:size])]
        some = [table.filter(pl.col("query_id").is_in(drawn)) for table in (judged, *lists)]
        found = _trial(scorer, some, _WAYS[i % len(_WAYS)], rng)
        if found is not None:
            items.append(found)
    pairs = np.array(items, np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def shown(one: ScoredRun, two: ScoredRun) -> pl.DataFrame:
    """Every judged document of either list once: ``query_id``, ``doc_id``, ``grade``."""
    both = pl.concat([system.lists.select(*KEYS, "grade") for system in (one, two)])
    return both.filter(pl.col("grade") >= 0).unique(KEYS, keep="first").sort(*KEYS)


def _trial(
    scorer: Scorer, tables: list[pl.DataFrame], way: tuple[bool, float], rng: np.random.Generator
) -> tuple[float, bool] | None:
    """None where nothing is left to guess from."""
    judged, *lists = tables
    runs = [read_run(table, name) for table, name in zip(lists, ("one", "two"), strict=True)]
    alone, share = way
    whole = _systems(_judging(scorer, judged), runs)
    known = shown(*whole)
    if alone:
        known = known.join(whole[0].lists, on=KEYS, how="anti", maintain_order="left")
    hidden = known.filter(pl.Series(rng.random(len(known)) < share, dtype=pl.Boolean))
    left = judged.join(hidden, on=KEYS, how="anti", maintain_order="left")
    if left.is_empty():
        return None
    partly = _judging(scorer, left)
    systems = _systems(partly, runs)
    label = scorer.metrics[0][0]
    result = figures(
        Stage.of(partly, *systems),
        modelled(*systems),
        {label: 0.0},
        _DRAWS,
        int(rng.integers(2**31)),
        "random",
    )
    return float(result["flip"][0]), _said(*systems) != _said(*whole)


def _judging(scorer: Scorer, judged: pl.DataFrame) -> Scorer:
    qrels = read_qrels(judged)
    return replace(scorer, qrels=qrels, index=JudgmentIndex.of(qrels))


def _systems(scorer: Scorer, runs: list[Run]) -> tuple[ScoredRun, ScoredRun]:
    return scorer.scored(runs[0]), scorer.scored(runs[1])


def _said(one: ScoredRun, two: ScoredRun) -> str:
    """Where the interval of the mean difference lies, compared with 0."""
    values = values_of(one, two, "zero")
    delta = (values.candidate - values.baseline)[:, 0]
    delta = delta[~np.isnan(delta)]
    return status(float(delta.mean()), float((delta**2).sum()), len(delta), 0.0)
