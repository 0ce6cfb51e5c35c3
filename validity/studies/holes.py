"""Does the predicted chance of a flip come true, and does judging by influence settle sooner?

Real runs of TREC-COVID round 1 are cut to documents that were judged, so that the truth is known.
Judgments are then hidden, at random or where one system alone had found the document, the flip is
predicted, and what the interval says with all judgments is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.comparison.values import values_of
from rankgate.data import read_qrels, read_run
from rankgate.evaluation.scored_system import Scorer
from rankgate.unjudged.hole_figures import figures, judge_next, status
from rankgate.unjudged.hole_model import modelled
from rankgate.unjudged.hypothetical_grades import Stage
from studies.populations import FOLDER
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.comparison import ScoredRun

METRIC, DEPTH, MARGIN = "nDCG@10", 10, 0.02
HIDDEN = (0.15, 0.3, 0.5)
PAIRS, DRAWS = 40, 200
SURE, STEP, STEPS = 0.1, 10, 12
MOST = 0.5  # of the shown documents hidden: where orders of judging are compared


@dataclass(frozen=True)
class Case:
    """One experiment.

    Attributes:
        way: how judgments were hidden.
        share: of the documents shown that were hidden.
        holes: how many.
        predicted: the chance of a flip.
        flipped: whether what the interval says changed when all were judged.
        error: expected minus true difference; naive: difference as measured minus the true one.
        by_influence, by_depth: judgments until the chance of a flip is below .1; None where it
            was so from the start, or fewer documents were hidden.
    """

    way: str
    share: float
    holes: int
    predicted: float
    flipped: bool
    error: float
    naive: float
    by_influence: int | None
    by_depth: int | None


def run(pairs: int = PAIRS, seed: int = 0) -> list[Case]:
    """Every pair of runs, way and share; empty where the data are not at hand."""
    place = FOLDER / "trec-covid-r1"
    if not place.is_dir():
        return []
    qrels = read_qrels(place / "qrels.covid-round1.txt")
    judged = qrels.table.filter(pl.col("grade") >= 0)
    runs = {
        path.name: _cut(read_run(path).table, judged) for path in sorted((place / "runs").iterdir())
    }
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(all_ := list(combinations(runs, 2))))[:pairs]
    cases = []
    for i, (way, share) in product(some, product(("at random", "one system's"), HIDDEN)):
        one, two = (runs[name] for name in all_[i])
        cases.append(_case(judged, one, two, way, share, np.random.default_rng([seed, i])))
    return cases


def _cut(table: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    return table.join(judged, on=["query_id", "doc_id"], how="semi", maintain_order="left")


def _case(
    judged: pl.DataFrame,
    one: pl.DataFrame,
    two: pl.DataFrame,
    way: str,
    share: float,
    rng: np.random.Generator,
) -> Case:
    whole = Scorer.of(judged, [METRIC], depth=DEPTH)
    sides = whole.scored(read_run(one), "one"), whole.scored(read_run(two), "two")
    truth, then = _said(*sides)
    shown = _shown(*sides, only_second=way != "at random")
    hidden = shown.filter(pl.Series(rng.random(len(shown)) < share))
    left = judged.join(hidden, on=["query_id", "doc_id"], how="anti", maintain_order="left")
    scorer = Scorer.of(left, [METRIC], depth=DEPTH)
    partly = scorer.scored(read_run(one), "one"), scorer.scored(read_run(two), "two")
    naive, now = _said(*partly)
    stage, found = Stage.of(scorer, *partly), modelled(*partly)
    result = figures(stage, found, {METRIC: MARGIN}, DRAWS, 0).row(0, named=True)
    counts: list[int | None] = [None, None]
    if share == MOST and result["flip"] >= SURE:
        order = judge_next(stage, found)
        depth = order.sort(pl.min_horizontal("rank_baseline", "rank_candidate"), "query_id")
        counts = [_settled(judged, left, each, (one, two)) for each in (order, depth)]
    return Case(
        way, share, len(hidden), result["flip"], now != then, result["expected"] - truth,
        naive - truth, *counts,
    )  # fmt: skip


def _said(one: ScoredRun, two: ScoredRun) -> tuple[float, str]:
    values = values_of(one, two, "zero")
    delta = (values.candidate - values.baseline)[:, 0]
    delta = delta[~np.isnan(delta)]
    return float(delta.mean()), status(float(delta.mean()), float((delta**2).sum()), len(delta),
                                       MARGIN)  # fmt: skip


def _shown(one: ScoredRun, two: ScoredRun, *, only_second: bool) -> pl.DataFrame:
    keys = ["query_id", "doc_id"]
    if only_second:
        return two.lists.join(one.lists, on=keys, how="anti").select(keys)
    return pl.concat([one.lists.select(keys), two.lists.select(keys)]).unique(maintain_order=True)


def _settled(
    judged: pl.DataFrame,
    left: pl.DataFrame,
    order: pl.DataFrame,
    runs: tuple[pl.DataFrame, pl.DataFrame],
) -> int:
    """Judgments in this order until the chance of a flip falls below `SURE`."""
    step = max(STEP, len(order) // STEPS)
    for count in range(0, len(order), step):
        known = order.head(count).select("query_id", "doc_id")
        back = judged.join(known, on=["query_id", "doc_id"], how="semi")
        scorer = Scorer.of(pl.concat([left, back]), [METRIC], depth=DEPTH)
        sides = scorer.scored(read_run(runs[0]), "one"), scorer.scored(read_run(runs[1]), "two")
        result = figures(Stage.of(scorer, *sides), modelled(*sides), {METRIC: MARGIN}, DRAWS, 0)
        if (result.row(0, named=True)["flip"] or 0.0) < SURE:
            return count
    return len(order)


def section(cases: Sequence[Any]) -> str:
    """Give the part of the page."""
    predicted = np.array([case.predicted for case in cases])
    flipped = np.array([case.flipped for case in cases], float)
    rows = []
    for low, high in ((0, 0.05), (0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01)):
        own = (predicted >= low) & (predicted < high)
        if own.any():
            rows.append((f"{low:.0%} to {min(high, 1):.0%}", str(int(own.sum())),
                         percent(predicted[own].mean()), percent(flipped[own].mean())))  # fmt: skip
    brier = ((predicted - flipped) ** 2).mean()
    base = flipped.mean()
    ways = []
    for way in dict.fromkeys(case.way for case in cases):
        own_cases = [case for case in cases if case.way == way]
        ways.append((
            way, str(len(own_cases)),
            f"{np.mean([abs(c.naive) for c in own_cases]):.4f}",
            f"{np.mean([abs(c.error) for c in own_cases]):.4f}",
            str(len(open_ := [c for c in own_cases if c.by_depth is not None])),
            f"{np.mean([c.by_depth for c in open_]):.0f}" if open_ else "–",
            f"{np.mean([c.by_influence for c in open_]):.0f}" if open_ else "–",
        ))  # fmt: skip
    return (
        "## What the holes could hide\n\nReal judgments hidden and predicted: pairs of TREC-COVID "
        f"runs, {len(cases)} experiments. Brier score {brier:.3f}; always predicting the share of "
        f"flips ({base:.0%}) would give {base * (1 - base):.3f}.\n\n"
        + table(("predicted", "experiments", "mean prediction", "flipped"), rows)
        + "\nThe difference as measured and as estimated, against the true one (mean absolute "
        "error). Then, where half was hidden and the decision was open: how many of the hidden "
        "documents had to be judged until the chance of a flip was below 10 %, in the order of "
        "ranks and in the order of influence (judge-next).\n\n"
        + table(("hidden", "experiments", "measured", "estimated", "open", "by depth",
                  "by influence"),
                 ways)
    )  # fmt: skip
