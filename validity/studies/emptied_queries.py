"""Losses of runs that were not pooled, where queries have one relevant document and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.judging.pooling.reusability import reusability
from tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Ranks = NDArray[np.int64]

QUERIES, RUNS, DEPTH, SEEDS = 200, 3, 10, 20
HITS = (0.5, 0.6, 0.8)


@dataclass(frozen=True)
class Cell:
    """One share of queries whose relevant document a run has.

    Attributes:
        hits: this share.
        emptied: mean number of queries whose relevant document only the first run has.
        seeds: of the draws.
        true: mean loss of RR@10: the sum of 1/rank over these queries, by all queries.
        loss: as `reusability` says it.
        largest_error: of these losses, in one draw.
        remaining: over the queries that have judgments left, as before it was mended.
        noticed: share of draws with the notice.
    """

    hits: float
    emptied: float
    seeds: int
    true: float
    loss: float
    largest_error: float
    remaining: float
    noticed: float


def run(seed: int = 43) -> list[Cell]:
    """Every share."""
    return [_cell(hits, seed) for hits in HITS]


def _cell(hits: float, seed: int) -> Cell:
    draws = np.array([_losses(hits, np.random.default_rng([seed, draw])) for draw in range(SEEDS)])
    emptied, true, loss, remaining, noticed = draws.mean(axis=0).tolist()
    error = float(np.abs(draws[:, 2] - draws[:, 1]).max())
    return Cell(hits, emptied, SEEDS, true, loss, error, remaining, noticed)


def _losses(hits: float, rng: np.random.Generator) -> tuple[float, float, float, float, bool]:
    """Emptied queries, true, printed and former loss of one draw, and if it has the notice."""
    ranks = np.minimum(rng.geometric(0.4, (QUERIES, RUNS)), DEPTH)
    ranks *= rng.random(ranks.shape) < hits  # 0 where a run does not have the document
    qrels = {f"q{query}": {f"d{query}": 1} for query in range(QUERIES)}
    runs = [_run_of(ranks[:, number]) for number in range(RUNS)]
    result = reusability(qrels, runs, [f"RR@{DEPTH}"], depth=DEPTH)
    values = np.where(ranks[:, 0] > 0, 1 / np.maximum(ranks[:, 0], 1), 0.0)
    emptied = (ranks[:, 0] > 0) & (ranks[:, 1:] == 0).all(axis=1)
    loss = float(result.table.filter(run="run1")["loss"][0])
    codes = {(notice.code, notice.subject) for notice in result.notices}
    return (
        float(emptied.sum()),
        float(values[emptied].sum() / QUERIES),
        loss,
        float(values.mean() - values[~emptied].mean()),
        ("emptied-queries", "run1") in codes,
    )


def _run_of(ranks: Ranks) -> dict[str, dict[str, float]]:
    """A run of ten documents a query, with the relevant one at its rank."""
    names = {
        f"q{query}": [f"d{query}" if position == rank else f"x{position}" for position in range(1, DEPTH + 1)]
        for query, rank in enumerate(ranks)
    }
    return {
        query: {doc: float(-position) for position, doc in enumerate(docs)} for query, docs in names.items()
    }


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    header = (
        "a run has the document",
        "queries that only the first has",
        "true loss",
        "`reusability`",
        "largest error",
        "queries with judgments left",
        "with the notice",
    )
    rows = [
        (
            f"{cell.hits:.0%}",
            f"{cell.emptied:.1f}",
            f"{cell.true:.4f}",
            f"{cell.loss:.4f}",
            f"{cell.largest_error:.0e}",
            f"{cell.remaining:.4f}",
            f"{cell.noticed:.0%}",
        )
        for cell in cells
    ]
    return (
        f"## Queries that lose all judgments\n\n{QUERIES} queries of one relevant document, no other judged, "
        f"{RUNS} runs. Where only the first run has that document, the query has no judgments without this "
        "run. The true loss of its "
        f"RR@{DEPTH} is the sum of 1/rank over these queries, divided by all queries. `reusability` compares "
        "the same queries, and the notice `emptied-queries` reports the number of queries without a relevant "
        "document; over only the queries with judgments, as before, the loss is too small. Means of "
        f"{cells[0].seeds} draws.\n\n" + table(header, rows)
    )
