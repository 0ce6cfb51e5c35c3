"""How probable relevance is: the prior of a query's own rate as a constant, and as it is learnt.

Each judged document of two runs' lists is hidden once, with a fifth of all, and its relevance is
guessed from the others; real collections, and one whose queries do not differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
import polars as pl

from rankgate.data import read_qrels
from rankgate.unjudged import hole_model
from rankgate.unjudged.calibration import calibration
from studies.populations import FOLDER
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankgate.data.qrels import Qrels

METRIC, PAIRS, CONSTANT = "nDCG@10", 15, 3.0
REAL = {
    "TREC-COVID": ("trec-covid-r1", "qrels.covid-round1.txt"),
    "CAsT 2021": ("cast2021", "trec-cast-qrels-docs.2021.qrel.gz"),
    "TREC DL 2020": ("dl20-doc", "qrels.dl20-doc.txt.gz"),
}
ALIKE = "queries alike (simulated)"


@dataclass(frozen=True)
class Cell:
    """Guesses in one collection.

    Attributes:
        data, pairs, documents: of what, over how many pairs of runs.
        mean: the Brier score of always guessing the share of relevant documents.
        constant, learnt: that of the guesses, by the prior.
        gap_constant, gap_learnt: mean distance of a guess from what came of those in its tenth.
    """

    data: str
    pairs: int
    documents: int
    mean: float
    constant: float
    learnt: float
    gap_constant: float
    gap_learnt: float


def run(pairs: int = PAIRS, seed: int = 0) -> list[Cell]:
    """Every collection that is at hand."""
    cells = []
    for name, qrels, some in _collections(pairs, seed):
        learnt = _guessed(qrels, some, seed)
        with patch.object(hole_model, "prior_strength", lambda *_: CONSTANT):
            constant = _guessed(qrels, some, seed)
        count, mean, score, gap = learnt
        cells.append(Cell(name, len(some), count, mean, constant[2], score, constant[3], gap))
    return cells


def _collections(
    pairs: int, seed: int
) -> Iterator[tuple[str, Qrels | pl.DataFrame, list[tuple[Any, Any]]]]:
    """Names, judgments and pairs of runs."""
    rng = np.random.default_rng(seed)
    for name, (folder, file) in REAL.items():
        place = FOLDER / folder
        if place.is_dir():
            every = list(combinations(sorted((place / "runs").iterdir()), 2))
            order = rng.permutation(len(every))[:pairs]
            yield name, read_qrels(place / file), [every[i] for i in order]
    grades = rng.random((100, 12)) < 0.4  # noqa: PLR2004 - whatever the query
    rows = [(f"q{i}", f"d{j}", int(grades[i, j])) for i in range(100) for j in range(12)]
    qrels = pl.DataFrame(rows, schema=["query_id", "doc_id", "grade"], orient="row")
    runs = [qrels.select("query_id", "doc_id", score=pl.lit(rng.random(len(qrels))))
            for _ in range(4)]  # fmt: skip
    yield ALIKE, qrels, list(combinations(runs, 2))[:pairs]


def _guessed(
    qrels: Qrels | pl.DataFrame, some: list[tuple[Any, Any]], seed: int
) -> tuple[int, float, float, float]:
    """Documents, the Brier score of the mean and of the guesses, and the gap; over all pairs."""
    told = [calibration(qrels, *pair, METRIC, experiments=0, seed=seed) for pair in some]
    weights = [each.documents for each in told]
    scores, means = zip(*(each.brier["relevance"] for each in told), strict=True)
    bins = (
        pl.concat([each.relevance for each in told])
        .group_by("low")
        .agg((pl.col("n") * (pl.col("predicted") - pl.col("measured"))).sum().abs())
    )
    count = sum(weights)
    gap = float(bins["n"].sum()) / count
    return count, *(float(np.average(each, weights=weights)) for each in (means, scores)), gap


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    rows = [
        (c.data, str(c.pairs), f"{c.documents:,}", *(f"{value:.4f}" for value in (
            c.mean, c.constant, c.learnt)), percent(c.gap_constant), percent(c.gap_learnt))
        for c in cells
    ]  # fmt: skip
    return (
        "### How probable relevance is\n\nHow much a query's own judgments say of its unjudged "
        "documents is learnt from how much queries differ (Kleinman, JASA 1973): the share of all "
        "queries weighs as much as so many judged documents. Beside it the constant of 3 that it "
        "was before. Each judged document of two lists is hidden once, with a fifth of all. Brier "
        "scores of always guessing the share of relevant documents, and of both guesses; then how "
        "far guesses of a tenth lie from what came of them, on average. The flips of the "
        "experiments above are predicted as well by either: Brier scores of 0.0754 by the constant "
        "and 0.0753 learnt.\n\n"
        + table(("data", "pairs of runs", "documents", "the mean", "constant", "learnt",
                  "off, constant", "off, learnt"), rows)
    )  # fmt: skip
