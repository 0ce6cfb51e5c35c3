"""Hybrid search: a sweep beside the grid of OpenSearch's workbench, on queries that chose nothing."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from rankgate.data.read import read_qrels, read_run
from rankgate.decisions.sweeps.point_measurer import MeasuredPoint, mean_value
from rankgate.decisions.sweeps.query_predictor import fit_prediction, query_features
from rankgate.decisions.sweeps.race import plan_rounds, run_race
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.fusion.fuse import fuse
from studies.hybrid_collections import make_collection
from studies.populations import FOLDER
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Setting = dict[str, Any]

TRAINING, HELD_OUT, METRIC, SPLITS = 200, 500, "nDCG@10", 30
MARGIN = 0.005
_WEIGHTS = tuple((step / 10, (10 - step) / 10) for step in range(11))
WORKBENCH = tuple(
    {"method": f"opensearch-{mean}-mean", "norm": f"opensearch-{norm}", "weights": weights}
    for norm in ("min-max", "l2")
    for mean in ("arithmetic", "geometric", "harmonic")
    for weights in _WEIGHTS
)
"""The 66 variants of the hybrid optimiser of OpenSearch's search relevance workbench."""

SPACE = (
    *WORKBENCH,
    *({"method": "linear", "norm": "z-score", "weights": weights} for weights in _WEIGHTS),
    *(
        {"method": "rrf", "norm": None, "weights": weights, "parameters": {"k": k}}
        for k in (5, 20, 60)
        for weights in _WEIGHTS[1:-1]
    ),
)
"""The space of a sweep, which costs the same two lists of a query."""

REAL = {
    "CAsT 2021: BM25 and ANCE": (
        "cast2021",
        "trec-cast-qrels-docs.2021.qrel.gz",
        "org_manual_bm25.run.gz",
        "org_manual_ance.run.gz",
    ),
    "Cranfield: BM25 and titles": (
        "cranfield",
        "cranqrel.graded.trec.txt",
        "bm25.run.gz",
        "bm25-title.run.gz",
    ),
    "Cranfield: BM25 and TF-IDF": ("cranfield", "cranqrel.graded.trec.txt", "bm25.run.gz", "tfidf.run.gz"),
}
"""Judgments and two runs of real collections."""


@dataclass(frozen=True)
class Cell:
    """One collection.

    Attributes:
        name: what it is.
        seeded: True if it was made from a seed.
        looks: the mean that the best of 66 variants has on the queries that chose it.
        workbench: the mean of that variant on held-out queries.
        fixed: that of the setting that the sweep chooses.
        predicted: that of weights predicted for each query.
        predicted_shown: the share of splits in which the interval of the predictor's gain is above 0.
        raced: the mean of the variant that a race of the 66 leaves.
        race_requests: its requests in the training queries, as a share of the grid's.
        best: the mean of the best of 66 variants on the held-out queries themselves.
        shuffled: the mean gain of predictors of shuffled features over the fixed setting.
    """

    name: str
    seeded: bool
    looks: float
    workbench: float
    fixed: float
    predicted: float
    predicted_shown: float
    raced: float
    race_requests: float
    best: float
    shuffled: float


@dataclass(frozen=True)
class Values:
    """The values of every setting of the space.

    Attributes:
        query_ids: n queries.
        table: ``(n, P)``.
        names: the names of features.
        features: ``(n, F)``.
    """

    query_ids: list[str]
    table: Floats
    names: tuple[str, ...]
    features: Floats


def run(seeds: int = 10) -> list[Cell]:
    """Ten seeded collections, and the real ones."""
    cells = []
    for seed in range(seeds):
        collection = make_collection(seed, TRAINING + HELD_OUT)
        values = _values(collection.judgments, collection.runs, collection.texts)
        cells.append(
            _cell(
                f"{seed}: {collection.name}",
                values,
                [_split(len(values.query_ids), TRAINING, 0)],
                seeded=True,
            )
        )
    for name, (folder, judgments, *runs) in REAL.items():
        path = FOLDER / folder
        if path.is_dir():
            tables = {run: read_run(path / "runs" / run).table for run in runs}
            values = _values(read_qrels(path / judgments).table, tables, {})
            n = len(values.query_ids)
            splits = [_split(n, round(0.6 * n), seed) for seed in range(SPLITS)]
            cells.append(_cell(name, values, splits, seeded=False))
    return cells


def _values(judgments: pl.DataFrame, runs: dict[str, pl.DataFrame], texts: dict[str, str]) -> Values:
    scorer = Scorer.from_metrics(judgments, [METRIC], "trec")
    query_ids = sorted({*scorer.index.query_ids}.intersection(*(run["query_id"] for run in runs.values())))
    columns = []
    for setting in SPACE:
        scores = scorer.scored(fuse(runs, **setting, keep=10).run).scores
        by_query = dict(scores.select("query_id", "value").iter_rows())
        columns.append([by_query[query_id] for query_id in query_ids])
    lists = {f"run {number}": read_run(run) for number, run in enumerate(runs.values())}
    names, features = query_features(query_ids, texts, lists)
    return Values(query_ids, np.array(columns).T, names, features)


def _split(n: int, training: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = np.random.default_rng(seed).permutation(n)
    return order[:training], order[training:]


def _cell(
    name: str, values: Values, splits: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], *, seeded: bool
) -> Cell:
    rows = []
    random = np.random.default_rng(0)
    grid = len(WORKBENCH)
    for training, held_out in splits:
        chosen = values.table[training].mean(axis=0)
        means = values.table[held_out].mean(axis=0)
        workbench, fixed = int(chosen[:grid].argmax()), int(chosen.argmax())
        picked = _predict(values, training, held_out, fixed, values.features[training])
        gain = mean_value(picked - values.table[held_out, fixed], 0.95)
        shuffled = [
            _predict(values, training, held_out, fixed, random.permutation(values.features[training]))
            - values.table[held_out, fixed]
            for _ in range(100 if seeded else 10)
        ]
        raced = _race(values, training)
        rounds = sum(part.requests for part in plan_rounds(grid, len(training)))
        rows.append(
            (
                chosen[workbench],
                means[workbench],
                means[fixed],
                picked.mean(),
                float(gain.low is not None and gain.low > 0),
                means[raced],
                rounds / (grid * len(training)),
                means[:grid].max(),
                np.mean(shuffled),
            )
        )
    return Cell(name, seeded, *np.mean(rows, axis=0).tolist())


def _predict(
    values: Values, training: NDArray[np.int64], held_out: NDArray[np.int64], fixed: int, features: Floats
) -> Floats:
    """The values of held-out queries at the weights that are predicted for them."""
    alike = [
        column
        for column, setting in enumerate(SPACE)
        if all(setting.get(key) == SPACE[fixed].get(key) for key in ("method", "norm", "parameters"))
    ]
    weights = [SPACE[column]["weights"] for column in alike]
    prediction = fit_prediction(
        "weights", weights, values.names, features, values.table[np.ix_(training, alike)]
    )
    return values.table[held_out, np.array(alike)[prediction.places(values.features[held_out])]]


def _race(values: Values, training: NDArray[np.int64]) -> int:
    """The variant of the workbench's grid that a race leaves, by the values that are known already."""
    query_ids = [values.query_ids[row] for row in training]
    row_of = dict(zip(query_ids, training.tolist(), strict=True))

    def measure(points: Sequence[Setting], block: Sequence[str]) -> Iterator[MeasuredPoint]:
        for point in points:
            column = values.table[[row_of[query_id] for query_id in block], point["place"]]
            scores = pl.DataFrame({"query_id": block, "metric": [METRIC] * len(block), "value": column})
            judged = pl.DataFrame({"query_id": block, "judged": [1.0] * len(block)})
            yield MeasuredPoint(point, "", "ok", scores=scores, judged=judged)

    points = [{"place": place} for place in range(len(WORKBENCH))]
    metric = SimpleNamespace(higher_is_better=True)
    plan = SimpleNamespace(points=points, scorer=SimpleNamespace(metrics=[(METRIC, metric)]))
    measuring = SimpleNamespace(plan=plan, all=lambda points, block: list(measure(points, block)))
    left = [point for point in run_race(cast("Any", measuring), query_ids) if point.state == "ok"]
    means = [cast("pl.DataFrame", point.scores)["value"].mean() for point in left]
    return int(left[int(np.argmax(means))].point["place"])


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    parts = []
    for is_seeded, title in (
        (True, f"Ten seeded collections, {TRAINING} training and {HELD_OUT} held-out queries"),
        (False, f"Real collections, means over {SPLITS} splits into 60 % and 40 %"),
    ):
        rows = [
            (
                cell.name,
                f"{cell.looks:.4f}",
                f"{cell.workbench:.4f}",
                f"{_gain(cell):+.4f}{' ✘' if is_seeded and _gain(cell) < -MARGIN else ''}",
                f"{cell.raced - cell.workbench:+.4f}",
                f"{cell.predicted - cell.fixed:+.4f}",
                percent(cell.predicted_shown),
                f"{cell.shuffled:+.4f}",
            )
            for cell in cells
            if cell.seeded == is_seeded
        ]
        head = (
            *("collection", "66 look", "66 are", "sweep gains", "race gains"),
            *("predicted adds", "shown", "shuffled adds"),
        )
        parts.append(f"{title}.\n\n{table(head, rows)}")
    seeded = [cell for cell in cells if cell.seeded]
    least, mean = min(map(_gain, seeded)), float(np.mean([*map(_gain, seeded)]))
    tables = "\n".join(parts)
    others, requests = len(SPACE) - len(WORKBENCH), percent(seeded[0].race_requests)
    return (
        "## Hybrid search\n\nThe hybrid optimiser of OpenSearch's workbench measures 66 variants (2 "
        "normalisations, 3 means, 11 weights) at every query and reports the best on these queries: 66 "
        "requests a query. `rankgate sweep` takes the two lists of a query once, 2 requests, and computes "
        f"these variants and {others} others (z-score, reciprocal ranks) from them. Both choose by {METRIC} "
        "on training queries. The best of 66 looks as in the second column there, and is as in the third on "
        f"held-out queries. On {len(seeded)} seeded collections the setting of the sweep gains {mean:+.4f} "
        f"over it on average, {least:+.4f} at worst. Where fusion cannot be computed, a race asks the engine "
        f"{requests} of the grid's requests. Weights predicted for each query add to the fixed setting what "
        "the next column says; shown: the share of splits whose interval is above 0; the last column is of "
        f"predictors whose features are shuffled.\n\n{tables}"
    )


def _gain(cell: Cell) -> float:
    """The gain of the sweep's fixed setting over the workbench's."""
    return cell.fixed - cell.workbench
