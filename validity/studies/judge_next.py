"""How many ratings settle a comparison, in the order of influence and in the order of ranks?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data import read_run
from rankgate.decisions.unjudged.hole_figures import interval_status, judge_next
from rankgate.decisions.unjudged.hole_model import model_holes
from rankgate.decisions.unjudged.hypothetical_grades import HypotheticalScorer
from rankgate.measurement.evaluation.scored_system import Scorer
from studies.hidden_judgments import DEPTH, KEYS, RUNS, Hidden, collections, hidden, shown_again
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAIRS, DRAWS, BATCH, SURE = 30, 200, 20, 0.1
_HALF = 2  # the way of hiding: half of what is shown, at random
_ORDERS = ("influence", "rank")


@dataclass(frozen=True)
class Case:
    """Two systems, half of whose judgments were hidden.

    Attributes:
        data: the collection.
        hidden: documents without judgment at first.
        ratings: until the chance of a flip is at most 10 %, by influence and by rank.
        right: whether what was said then is what all judgments say, by influence and by rank.
    """

    data: str
    hidden: int
    ratings: tuple[int, int]
    right: tuple[bool, bool]


def run(pairs: int = PAIRS, seed: int = 3) -> list[Case]:
    """Pairs of real runs that are not settled at first."""
    cases: list[Case] = []
    for collection in collections():
        if collection.name in RUNS:
            trials = (
                hidden(collection, _HALF, np.random.default_rng([seed, i, *collection.name.encode()]))
                for i in range(4 * pairs)
            )
            unsettled = (trial for trial in trials if trial and _flip(trial) > SURE)
            cases += _cases(collection.name, islice(unsettled, pairs))
    return cases


def _cases(name: str, trials: Iterator[Hidden]) -> Iterator[Case]:
    for trial in trials:
        count = sum(map(len, trial.grades.values())) - sum(map(len, trial.left.values()))
        ends = [_settled(trial, order, count) for order in _ORDERS]
        truth = _said(trial.gains(trial.grades))
        ratings = tuple(number for number, _ in ends)
        yield Case(name, count, ratings, tuple(conclusion == truth for _, conclusion in ends))


def _settled(trial: Hidden, order: str, count: int) -> tuple[int, str]:
    """Ratings until the chance of a flip is small, and what the interval says then."""
    judged_pairs: set[tuple[str, str]] = set()
    while True:
        now = shown_again(trial, judged_pairs)
        if len(judged_pairs) >= count or _flip(now) <= SURE:
            return len(judged_pairs), _said(now.gains(now.left))
        judged_pairs |= set(_ordered(now, order).select(KEYS).head(BATCH).iter_rows())


def _ordered(trial: Hidden, order: str) -> pl.DataFrame:
    holes = model_holes(*trial.sides)
    if order == "rank":
        return holes.table.sort(pl.min_horizontal("rank_baseline", "rank_candidate"), *KEYS)
    judged = [(q, document, g) for q, grades in trial.left.items() for document, g in grades.items()]
    scorer = Scorer.from_metrics(
        pl.DataFrame(judged, schema=[*KEYS, "grade"], orient="row"), [f"nDCG@{DEPTH}"]
    )
    baseline, candidate = (
        scorer.scored(
            read_run({q: {doc_id: -float(i) for i, doc_id in enumerate(lists[q])} for q in trial.queries})
        )
        for lists in trial.lists
    )
    return judge_next(HypotheticalScorer.from_systems(scorer, baseline, candidate), holes)


def _flip(trial: Hidden) -> float:
    """The larger chance of a flip under the two selections, as the gate asks for it."""
    holes = model_holes(*trial.sides)
    grades, pooled = holes.draw_grades(DRAWS, 0)
    now = _said(trial.gains(trial.left))
    reversals = np.array([_said(column) != now for column in trial.drawn(holes, grades).T])
    return max(float(reversals[selected].mean()) for selected in (pooled, ~pooled))


def _said(gains: Floats) -> str:
    return interval_status(float(gains.mean()), float((gains**2).sum()), len(gains), 0.0)


def section(cells: Sequence[Any]) -> str:
    """The section of the page."""
    rows = []
    for name in [*{c.data: 0 for c in cells}, "all"]:
        collection_cells = [c for c in cells if name in {c.data, "all"}]
        ratings, right = (
            np.array([c.ratings for c in collection_cells]),
            np.array([c.right for c in collection_cells]),
        )
        difference_sign = np.sign(ratings[:, 1] - ratings[:, 0])
        rows.append(
            (
                name,
                str(len(collection_cells)),
                f"{np.mean([c.hidden for c in collection_cells]):.0f}",
                *(f"{mean_ratings:.0f}" for mean_ratings in ratings.mean(axis=0)),
                (
                    f"{(difference_sign > 0).sum()} / {(difference_sign == 0).sum()} / "
                    f"{(difference_sign < 0).sum()}"
                ),
                *(percent(share) for share in right.mean(axis=0)),
            )
        )
    heads = (
        "collection",
        "pairs",
        "hidden",
        "by influence",
        "by rank",
        "fewer / as many / more",
        "right, by influence",
        "right, by rank",
    )
    text = (
        "Half of the judgments that two systems show are hidden at random, and shown again "
        f"{BATCH} at a time until the chance of a flip is at most 10 %: in the order of influence, "
        "recomputed each time (`rankgate holes --judge-next`), and in the order of ranks. Mean numbers of "
        "ratings; for how many pairs influence takes fewer, as many or more; and how often what is said then "
        "is what all judgments say. Lists are cut to judged documents. In whole lists of TREC, unjudged "
        "documents remain: no number of ratings of the others settles a comparison that hangs on them."
    )
    return f"### What to judge next\n\n{text}\n\n{table(heads, rows)}"
