"""Which click model is chosen on logs of users of a position-based model, and are its values right?

Lists are of one ranker or three; a share of neighbours is exchanged at random, which is all that
separates ranks from documents with one ranker. The model is chosen by the likelihood of held-out
clicks alone, and as ``judgments --model auto`` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankgate.online.clicks.click_judgments import separates_ranks
from rankgate.online.clicks.click_models import MODELS
from rankgate.online.clicks.judge_clicks import Grading, judgments
from rankgate.online.clicks.packed_searches import PackedSearches

RUNS = 12
QUERIES, DOCUMENTS, SEARCHES = 20, 14, 8_000
SWAPS, RANKS, RANKERS = (0.02, 0.05, 0.2), (3, 10), (1, 3)


@dataclass(frozen=True)
class Cell:
    """A kind of log.

    Attributes:
        swaps: share of neighbours that are exchanged.
        ranks: of a list.
        rankers: whose lists are shown.
        runs: logs.
        unseparated_before, unseparated: share of the logs whose model does not separate ranks from
            documents, chosen by likelihood alone and by auto.
        error_before, error: mean distance of values from true attractiveness.
        covered_before: share of the intervals of values that hold the truth, by likelihood alone.
        covered: the same of auto, where its model gives intervals of a level.
        judged: share of the logs that give judgments by auto.
    """

    swaps: float
    ranks: int
    rankers: int
    runs: int
    unseparated_before: float
    unseparated: float
    error_before: float
    error: float
    covered_before: float
    covered: float | None
    judged: float

    @property
    def holds(self) -> bool:
        """Whether intervals with a level hold the truth in 93 % or more."""
        return self.covered is None or self.covered >= 0.93


def log(random: np.random.Generator, swaps: float, ranks: int, rankers: int) -> tuple[PackedSearches, Any]:
    """A log, and the attractiveness (QUERIES, DOCUMENTS) of documents."""
    attractive = random.beta(1.5, 3, (QUERIES, DOCUMENTS))
    ranked = np.argsort(-(attractive + random.normal(0, 0.2, (rankers, QUERIES, DOCUMENTS))), axis=2)
    query = random.integers(QUERIES, size=SEARCHES)
    order = ranked[random.integers(rankers, size=SEARCHES), query][:, :ranks].copy()
    for first in range(ranks - 1):
        exchanged = random.random(SEARCHES) < swaps
        order[exchanged, first : first + 2] = order[exchanged, first : first + 2][:, ::-1]
    examination = 1 / np.arange(1, ranks + 1) ** 0.8
    clicked = random.random(order.shape) < attractive[query[:, None], order] * examination
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(SEARCHES), ranks),
            "query_id": np.repeat(query, ranks).astype(str),
            "doc_id": order.ravel().astype(str),
            "rank": np.tile(np.arange(1, ranks + 1), SEARCHES),
            "clicked": clicked.ravel(),
        }
    )
    return PackedSearches.pack(rows), attractive


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Every kind of log."""
    cells = []
    for swaps in SWAPS:
        for ranks in RANKS:
            for rankers in RANKERS:
                random = np.random.default_rng([seed, round(100 * swaps), ranks, rankers])
                rows = [_outcome(*log(random, swaps, ranks, rankers), number) for number in range(runs)]
                means = [
                    None if np.isnan(column).all() else float(np.nanmean(column))
                    for column in np.array(rows).T
                ]
                cells.append(Cell(swaps, ranks, rankers, runs, *means))  # type: ignore[arg-type]
    return cells


def _outcome(packed: PackedSearches, truth: Any, seed: int) -> tuple[float, ...]:  # noqa: ANN401 - an array
    chosen = judgments(packed, seed=seed, grading=Grading(min_examined=5), resamples=0)
    ranked = [name for name in chosen.models["model"] if MODELS[name].of_documents]
    likeliest = next((name for name in ranked if name not in chosen.refused), ranked[0])
    before = judgments(packed, model=likeliest, seed=seed, grading=Grading(min_examined=5), resamples=0)
    error_before, covered_before = _measured(before.judged, truth)
    error, covered = _measured(chosen.judged, truth)
    separates = separates_ranks(chosen.model)
    return (
        float(not separates_ranks(likeliest)),
        float(not separates),
        error_before,
        error,
        covered_before,
        covered if separates else np.nan,
        float(not chosen.status),
    )


def _measured(judged: pl.DataFrame, truth: Any) -> tuple[float, float]:  # noqa: ANN401 - an array
    """The mean distance of values from the truth, and the share of intervals that hold it."""
    if judged.is_empty():
        return np.nan, np.nan
    rows = judged.select(pl.col("query_id", "doc_id").cast(pl.Int64), "value", "low", "high").to_numpy()
    true = truth[rows[:, 0].astype(int), rows[:, 1].astype(int)]
    value, low, high = rows[:, 2:].T
    return float(np.abs(value - true).mean()), float(((low <= true) & (true <= high)).mean())


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    missed = "; ".join(
        f"{c.swaps:.0%} exchanged, {c.ranks} ranks, {c.rankers} rankers ({percent(c.covered or 0)})"
        for c in cells
        if not c.holds
    )
    rows = [
        (
            f"{c.swaps:.0%}",
            str(c.ranks),
            str(c.rankers),
            f"{percent(c.unseparated_before)} / {percent(c.unseparated)}",
            f"{c.error_before:.3f} / {c.error:.3f}",
            percent(c.covered_before),
            "–" if c.covered is None else marked(c.covered, c.holds),
            percent(c.judged),
        )
        for c in cells
    ]
    return (
        "## The choice of a click model\n\nUsers of a position-based model, 8,000 searches of 20 queries. "
        "The model is chosen by the likelihood of held-out clicks alone (before), and by `judgments --model "
        "auto`, which prefers, among models within two standard errors, those that separate what a document "
        "attracts from its rank. Unseparated is the share of the logs whose model does not (`coec`, `dctr`); "
        "error is the mean distance of values from the true attractiveness; covered is the share of the 95 % "
        "intervals that hold it, after where the model separates. What does not hold: "
        f"{missed or 'nothing'}.\n\n"
        + table(
            (
                "exchanged",
                "ranks",
                "rankers",
                "unseparated before / after",
                "error before / after",
                "covered before",
                "covered",
                "judged",
            ),
            rows,
        )
    )
