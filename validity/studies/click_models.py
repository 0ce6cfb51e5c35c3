"""Click models on simulated logs with a true examination and attractiveness, and intervals.

Users of a position-based model look at a rank with a known probability and click on documents that
attract them. The same users see lists of one ranker, of three, of one with neighbours exchanged at
random, and of all documents shuffled; in one kind of log documents have nothing to do with clicks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

from rankgate.online.clicks.judge_clicks import Grading, judgments
from rankgate.online.clicks.packed_searches import PackedSearches
from rankgate.online.clicks.product_fit import CellCounts

RUNS = 20
QUERIES, DOCUMENTS, RANKS = 10, 12, 7
EXAMINATION = 1 / np.arange(1, RANKS + 1) ** 0.9
LISTS = ("one ranker", "three rankers", "neighbours exchanged", "shuffled", "clicks by rank only")
SEARCHES = (300, 1_000, 5_000)
MODELS = ("pbm", "pbm_harvest", "ubm", "sdbn", "dctr", "coec", "auto")
BEFORE = "pbm before"


@dataclass(frozen=True)
class Cell:
    """A model on logs of one kind.

    Attributes:
        lists: what users saw.
        searches: of a log.
        model: that was fitted; `pbm before` is an EM that divides examination by its maximum in
            every one of 50 steps, with a click and a non-click added to each parameter.
        runs: logs.
        judged: share of them from which judgments are made.
        tau: mean rank correlation (Kendall) within queries of values with true attractiveness.
        examination: share of intervals of examination that cover the truth, ranks from 2.
        values: share of intervals of attractiveness that cover the truth.
        error: mean absolute error of log examination.
    """

    lists: str
    searches: int
    model: str
    runs: int
    judged: float
    tau: float | None
    examination: float | None
    values: float | None
    error: float | None

    @property
    def holds(self) -> bool | None:
        """True if intervals of values cover; None where the model is not the users'."""
        if self.model not in ("pbm", "ubm", "pbm_harvest") or self.values is None:
            return None
        return self.values >= 0.93


def orders(random: np.random.Generator, attractive: np.ndarray, lists: str, query: np.ndarray) -> np.ndarray:
    """(N, RANKS) the documents of each search."""
    rankers = 3 if lists in ("three rankers", "clicks by rank only") else 1
    noise = random.normal(0, 0.15, (rankers, QUERIES, DOCUMENTS))
    ranked = np.argsort(-(attractive + noise), axis=2)
    if lists == "shuffled":
        return np.argsort(random.random((len(query), DOCUMENTS)), axis=1)[:, :RANKS]
    order = ranked[random.integers(rankers, size=len(query)), query][:, :RANKS].copy()
    if lists == "neighbours exchanged":
        start = random.integers(2, size=len(query))
        for first in range(RANKS - 1):
            exchanged = (first % 2 == start) & (random.random(len(query)) < 0.5)
            order[exchanged, first : first + 2] = order[exchanged, first : first + 2][:, ::-1]
    return order


def log(random: np.random.Generator, lists: str, searches: int) -> tuple[PackedSearches, np.ndarray]:
    """A log and the attractiveness (QUERIES, DOCUMENTS) of documents."""
    attractive = random.beta(1.2, 3, (QUERIES, DOCUMENTS))
    query = random.integers(QUERIES, size=searches)
    order = orders(random, attractive, lists, query)
    chance = attractive[query[:, None], order] * EXAMINATION
    if lists == "clicks by rank only":
        chance = np.broadcast_to(attractive.mean() * EXAMINATION, order.shape)
    clicked = random.random(order.shape) < chance
    rows = pl.DataFrame(
        {
            "search": np.repeat(np.arange(searches), RANKS),
            "query_id": np.repeat(query, RANKS).astype(str),
            "doc_id": order.ravel().astype(str),
            "rank": np.tile(np.arange(1, RANKS + 1), searches),
            "clicked": clicked.ravel(),
        }
    )
    return PackedSearches.pack(rows), attractive


def scaled_each_step(searches: PackedSearches) -> tuple[np.ndarray, np.ndarray]:
    """Attractiveness and examination by the EM of version 0.1, for comparison."""
    counts = CellCounts.count(
        searches, lambda block: np.broadcast_to(np.arange(block.depth), block.pair.shape), searches.depth
    )
    a, e = np.full(counts.pairs, 0.3), np.full(counts.cells, 0.5)
    shown_counts, looks = counts.by_pair(counts.shown), counts.by_cell(counts.shown)
    for _ in range(50):
        previous = a, e
        at_a, at_e = a[counts.pair], e[counts.cell]
        missed = (counts.shown - counts.clicks) / np.maximum(1 - at_a * at_e, 1e-12)
        a = (counts.by_pair(counts.clicks + missed * at_a * (1 - at_e)) + 1) / (shown_counts + 2)
        e = (counts.by_cell(counts.clicks + missed * at_e * (1 - at_a)) + 1) / (looks + 2)
        e = e / e.max()
        if max(np.abs(a - previous[0]).max(), np.abs(e - previous[1]).max()) < 1e-4:
            break
    return a, e


def agreement(values: np.ndarray, truth: np.ndarray) -> float:
    """Mean Kendall tau-b over queries; NaN values are left out."""
    taus = []
    for row, true in zip(values, truth, strict=True):
        judged = np.isfinite(row)
        if judged.sum() > 1:
            taus.append(float(np.nan_to_num(kendalltau(row[judged], true[judged]).statistic)))
    return float(np.mean(taus)) if taus else float("nan")


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """All models on the same logs."""
    random = np.random.default_rng(seed)
    cells = []
    for lists in LISTS:
        for searches in SEARCHES:
            measurements: dict[str, list[tuple[float, ...]]] = {name: [] for name in (*MODELS, BEFORE)}
            for replication in range(runs):
                packed, truth = log(random, lists, searches)
                a, e = scaled_each_step(packed)
                values = np.full(truth.shape, np.nan)
                pairs = packed.pairs.cast(pl.Int64).to_numpy()
                values[pairs[:, 0], pairs[:, 1]] = a
                measurements[BEFORE].append(
                    (
                        1.0,
                        agreement(values, truth),
                        np.nan,
                        np.nan,
                        float(np.abs(np.log(e) - np.log(EXAMINATION)).mean()),
                    )
                )
                for model in MODELS:
                    model_choices = MODELS[:-1] if model == "auto" else (model,)
                    result = judgments(
                        packed,
                        model=model,
                        models=model_choices,
                        seed=replication,
                        grading=Grading(min_examined=5),
                        resamples=20 if model == "pbm" else 0,
                    )
                    measurements[model].append(_measured(result, truth))
            for model, rows in measurements.items():
                table = np.array(rows)
                means = [None if np.isnan(column).all() else float(np.nanmean(column)) for column in table.T]
                cells.append(Cell(lists, searches, model, runs, means[0] or 0.0, *means[1:]))
    return cells


def _measured(result: Any, truth: np.ndarray) -> tuple[float, ...]:  # noqa: ANN401 - ClickJudgments
    if result.status:
        return (0.0, *(np.nan,) * 4)
    rows = result.judged.select(pl.col("query_id", "doc_id").cast(pl.Int64), "value", "low", "high")
    query, document, value, low, high = rows.to_numpy().T
    query, document = query.astype(int), document.astype(int)
    values = np.full(truth.shape, np.nan)
    values[query, document] = value
    true = truth[query, document]
    curve = result.curves.filter(pl.col("name") == "examination", pl.col("place") > 1)
    error = covered = np.nan
    if len(curve):
        expected = EXAMINATION[curve["place"].to_numpy() - 1]
        error = float(np.abs(np.log(np.maximum(curve["value"].to_numpy(), 1e-3) / expected)).mean())
        if curve["low"].is_not_null().all():
            in_interval = (curve["low"].to_numpy() <= expected) & (expected <= curve["high"].to_numpy())
            covered = float(in_interval.mean())
    return (
        1.0,
        agreement(values, truth),
        covered,
        float(((low <= true) & (true <= high)).mean()) if len(true) else np.nan,
        error,
    )


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: shares with judgments, agreement with the truth, coverage."""
    from tables import marked, percent, table

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    rows = [
        (
            c.lists,
            f"{c.searches:,}",
            c.model,
            percent(c.judged),
            number(c.tau),
            "" if c.examination is None else percent(c.examination),
            "" if c.values is None else marked(c.values, c.holds),
            number(c.error),
        )
        for c in cells
    ]
    text = (
        f"Users look at {RANKS} ranks with probability 1/rank^0.9 and click on documents of {QUERIES} "
        f"queries that attract them; {cells[0].runs} logs of each kind. `pbm before` is EM that scaled "
        "examination in every one of 50 steps, without a condition. Logs of one ranker cannot separate the "
        "effects of rank and document: `pbm`, `pbm_harvest` and `ubm` make no judgments from them. The other "
        "models (with `auto`) make judgments with values that are not attractiveness, however narrow their "
        "intervals are. Where clicks have nothing to do with documents, no model should make judgments. "
        "Intervals of values cover attractiveness if the model is the model of the users (only these cells "
        "are marked)."
    )
    heads = (
        "lists",
        "searches",
        "model",
        "logs with judgments",
        "tau with the truth",
        "intervals of examination cover",
        "intervals of values cover",
        "error of log examination",
    )
    return f"## Click models\n\n{text}\n\n{table(heads, rows)}"
