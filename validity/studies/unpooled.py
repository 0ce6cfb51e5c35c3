"""Do estimates about unjudged documents come true on collections that they were not fitted on?

Runs are cut to judged documents, so that the truth is known. Judgments are then hidden: at random;
a share of what the candidate alone shows, or all of it; or all of it that three other systems do
not show among their first ten, as where the candidate had no part in the pooling. The draws of
`unjudged.hole_model` are then scored here, by nDCG@10 written anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.comparison.values import values_of
from rankgate.data import read_qrels, read_run
from rankgate.evaluation.scored_system import Scorer
from rankgate.unjudged.hole_figures import status
from rankgate.unjudged.hole_model import modelled
from studies.populations import FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun

    Floats = NDArray[np.float64]
    Runs = dict[str, pl.DataFrame]

METRIC, DEPTH, KEYS = "nDCG@10", 10, ["query_id", "doc_id"]
TRIALS, DRAWS, MOST = 96, 200, 50  # MOST queries of a trial
FITTED = {"TREC-COVID": "trec-covid-r1", "CAsT 2021": "cast2021"}
FRESH = {"TREC DL 2020": "dl20-doc", "Cranfield": "cranfield", "CACM": "cacm"}
WAYS = (
    ("at random", 0.15), ("at random", 0.3), ("at random", 0.5), ("candidate's", 0.15),
    ("candidate's", 0.3), ("candidate's", 0.5), ("candidate's", 1.0), ("not pooled", 1.0),
)  # fmt: skip
BANDS = ((0, 0.05), (0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))
_DISCOUNT = 1 / np.log2(np.arange(2, DEPTH + 2))


@dataclass(frozen=True)
class Trial:
    """One experiment.

    Attributes:
        data: the collection.
        fitted: whether the departure from missing at random was fitted on it.
        way, share: how judgments were hidden.
        holes: how many.
        predicted: the chance of a flip.
        flipped: whether what the interval says changed when all were judged.
        inside: whether 95 % of draws hold the true difference.
        away: the true difference less the expected one, in standard deviations of the draws.
    """

    data: str
    fitted: bool
    way: str
    share: float
    holes: int
    predicted: float
    flipped: bool
    inside: bool
    away: float


def run(trials: int = TRIALS, seed: int = 1) -> list[Trial]:
    """Every collection that is there."""
    found = []
    for name, folder in {**FITTED, **FRESH}.items():
        place = FOLDER / folder
        if place.is_dir():
            judged, runs = _collection(place)
            cases = (_trial(judged, runs, i, seed) for i in range(trials))
            found += [Trial(name, name in FITTED, *case) for case in cases if case]
    return found


def section(cells: Sequence[Trial]) -> str:
    """The section of the page."""
    bands, data = [], []
    for title, fitted in (("fitted on", True), ("not fitted on", False)):
        some = [cell for cell in cells if cell.fitted == fitted]
        for low, high in BANDS:
            own = [cell for cell in some if low <= cell.predicted < high]
            if own:
                flipped = np.array([cell.flipped for cell in own], float)
                error = np.sqrt(max(flipped.mean() * (1 - flipped.mean()), 1e-9) / len(own))
                bands.append(
                    f"| {title} | {low:.0%} to {min(high, 1):.0%} | {len(own)} | "
                    f"{np.mean([cell.predicted for cell in own]):.1%} | {flipped.mean():.1%} ± "
                    f"{error:.1%} |"
                )
    groups = {cell.data: "" for cell in cells} | {cell.way: "" for cell in cells}
    for group in groups:
        own = [cell for cell in cells if group in {cell.data, cell.way}]
        predicted = np.array([cell.predicted for cell in own])
        flipped = np.array([cell.flipped for cell in own], float)
        data.append(
            f"| {group} | {len(own)} | {np.mean([cell.inside for cell in own]):.1%} | "
            f"{np.mean([cell.away for cell in own]):+.2f} | "
            f"{((predicted - flipped) ** 2).mean():.3f} | {flipped.var():.3f} |"
        )
    sure = [cell for cell in cells if cell.predicted <= 0.1]
    words = (
        "Judgments of real collections are hidden and predicted: at random (15, 30, 50 %), of what "
        "the candidate alone shows (15 to 100 %), and all of that which three other systems do not "
        "have among their first ten. Each draw has parameters of its own from their posterior, and "
        "a departure from missing at random whose size was fitted on two collections; the others "
        "had no part in it."
    )
    inside = (
        "How often 95 % of draws hold the true difference, how far it lies from the expected one "
        "in standard deviations of the draws (below 0: unjudged documents were worse for the "
        "candidate than expected), and Brier scores of the prediction and of always the share of "
        "flips:"
    )
    safe = (
        f"Of {len(sure)} decisions with a chance of a flip of at most 10 %, "
        f"{sum(cell.flipped for cell in sure)} flipped."
    )
    return "\n".join([
        "## What unjudged documents could hide", "", words, "",
        "| collections | predicted | trials | mean prediction | flipped |",
        "|:--|:--|:--|:--|:--|", *bands, "", safe, "",
        inside, "", "| of | trials | inside | away | Brier | constant |",
        "|:--|:--|:--|:--|:--|:--|", *data, "",
    ])  # fmt: skip


def _collection(place: Path) -> tuple[pl.DataFrame, Runs]:
    names = ("cranqrel.graded*", "*qrels*", "*.qrel*")
    path = next(found for name in names for found in sorted(place.rglob(name)) if found.is_file())
    judged = read_qrels(path).table.filter(pl.col("grade") >= 0)
    files = [each for each in sorted(place.rglob("*")) if each.is_file() and _is_run(each)]
    runs = {
        each.name: read_run(each).table.join(judged, on=KEYS, how="semi", maintain_order="left")
        for each in files
    }
    return judged, runs


def _is_run(path: Path) -> bool:
    return "run" in path.parent.name


def _trial(
    judged: pl.DataFrame, runs: Runs, i: int, seed: int
) -> tuple[str, float, int, float, bool, bool, float] | None:
    """The fields of `Trial` after the first two; None where nothing is hidden or left."""
    rng = np.random.default_rng([seed, i])
    names = sorted(runs)
    pair = [names[j] for j in rng.choice(len(names), 2, replace=False)]
    first, second = (set(runs[name]["query_id"].unique()) for name in pair)
    common = sorted(first & second)
    size = min(MOST, (len(common) + 1) // 2)
    own = pl.col("query_id").is_in([common[j] for j in sorted(rng.permutation(len(common))[:size])])
    some, shown = judged.filter(own), [runs[name].filter(own) for name in pair]
    truth, then = _said(_sides(some, shown))
    way, share = WAYS[i % len(WAYS)]
    lists = [side.lists.select(KEYS) for side in _sides(some, shown)]
    hidden = _hidden(lists, way, share, rng)
    if way == "not pooled":
        others = [name for name in names if name not in pair]
        drawn = rng.choice(len(others), min(3, len(others)), replace=False)
        pool = pl.concat([_first(runs[others[j]].filter(own)) for j in drawn])
        hidden = hidden.join(pool, on=KEYS, how="anti", maintain_order="left")
    left = some.join(hidden, on=KEYS, how="anti", maintain_order="left")
    if left.is_empty() or hidden.is_empty():
        return None
    sides = _sides(left, shown)
    _, now = _said(sides)
    means, squares, n = _drawn(left, sides, i)
    flips = [status(m, s, n, 0.0) != now for m, s in zip(means, squares, strict=True)]
    low, high = np.quantile(means, [0.025, 0.975])
    away = (truth - means.mean()) / max(means.std(), 1e-9)
    return (way, share, len(hidden), float(np.mean(flips)), now != then,
            bool(low <= truth <= high), float(np.clip(away, -9, 9)))  # fmt: skip


def _hidden(
    lists: list[pl.DataFrame], way: str, share: float, rng: np.random.Generator
) -> pl.DataFrame:
    if way == "at random":
        known = pl.concat(lists).unique(maintain_order=True)
    else:
        known = lists[1].join(lists[0], on=KEYS, how="anti", maintain_order="left")
    return known.filter(pl.Series(rng.random(len(known)) < share, dtype=pl.Boolean))


def _first(table: pl.DataFrame) -> pl.DataFrame:
    ranked = table.sort("score", descending=True)
    return ranked.group_by("query_id", maintain_order=True).head(DEPTH).select(KEYS)


def _sides(judged: pl.DataFrame, runs: list[pl.DataFrame]) -> tuple[ScoredRun, ScoredRun]:
    scorer = Scorer.of(judged, [METRIC], depth=DEPTH)
    return scorer.scored(read_run(runs[0], "one")), scorer.scored(read_run(runs[1], "two"))


def _gains(sides: tuple[ScoredRun, ScoredRun]) -> tuple[list[str], Floats]:
    values = values_of(*sides, "zero")
    return values.query_ids, np.nan_to_num(values.gains[:, 0])


def _said(sides: tuple[ScoredRun, ScoredRun]) -> tuple[float, str]:
    _, gains = _gains(sides)
    squares = float((gains**2).sum())
    return float(gains.mean()), status(float(gains.mean()), squares, len(gains), 0.0)


def _drawn(
    left: pl.DataFrame, sides: tuple[ScoredRun, ScoredRun], seed: int
) -> tuple[Floats, Floats, int]:
    """(S,) means and sums of squares of the gains under drawn grades, and the queries."""
    found = modelled(*sides)
    grades = np.maximum(found.drawn(DRAWS, seed)[0], 0.0)
    table = found.table.with_row_index("hole")
    queries, base = _gains(sides)
    place = {query: i for i, query in enumerate(queries)}
    known = {q[0]: part["grade"].to_numpy() for q, part in _parts(left)}
    gains = np.repeat(base[:, None], DRAWS, axis=1)
    lists = [
        {q[0]: part for q, part in _parts(side.lists.join(table.select(*KEYS, "hole"), on=KEYS,
                                                          how="left", maintain_order="left"))}
        for side in sides
    ]  # fmt: skip
    for (query,), part in _parts(table):
        if query not in place:
            continue
        own = np.repeat(np.maximum(known.get(query, np.zeros(0)), 0.0)[:, None], DRAWS, axis=1)
        every = np.concatenate([own, grades[part["hole"].to_numpy()]])
        best = -np.sort(-every, axis=0)[:DEPTH]
        ideal = (best * _DISCOUNT[: len(best), None]).sum(axis=0)
        one, two = (_dcg(each.get(query), grades) for each in lists)
        gains[place[query]] = np.where(ideal > 0, (two - one) / np.where(ideal > 0, ideal, 1), 0)
    return gains.mean(axis=0), (gains**2).sum(axis=0), len(queries)


def _parts(table: pl.DataFrame) -> list[tuple[tuple[str], pl.DataFrame]]:
    return list(table.partition_by("query_id", as_dict=True, maintain_order=True).items())  # type: ignore[arg-type]


def _dcg(ranked: pl.DataFrame | None, grades: Floats) -> Floats:
    total = np.zeros(grades.shape[1])
    if ranked is not None:
        for rank, grade, hole in ranked.select("rank", "grade", "hole").iter_rows():
            own = max(grade or 0.0, 0.0) if hole is None else grades[hole]
            total = total + _DISCOUNT[rank - 1] * own
    return total
