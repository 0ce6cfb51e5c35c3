"""What a settled comparison costs where queries and calls of a model have prices, too.

All pairs of 5 runs of TREC CAsT 2021 (158 turns, grades 0 to 4 as 0 to 2), judged as in
`settling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankgate.decisions.advice.settlement_plan import Prices
from studies.populations import FOLDER
from studies.settling import _firsts, pairs_of
from studies.settling_loop import loop

TIMES, FIRST = 10, 50
PRICES = (
    Prices(model=0.001),
    Prices(query=5, model=0.001),
    Prices(query=20, model=0.001),
    Prices(model=0.02),
    Prices(model=0.2),
    Prices(query=5, model=0.2),
)


@dataclass(frozen=True)
class Cell:
    """Pairs that all judgments decide, by one way to spend.

    Attributes:
        human, query, model: prices.
        way: what is chosen.
        pairs: how many.
        cost: mean share of what depth pooling to its end costs, without a model.
        queries: mean share of the queries that people judged.
        same: share with the verdict of all judgments.
    """

    human: float
    query: float
    model: float
    way: str
    pairs: int
    cost: float
    queries: float
    same: float


def run(times: int = TIMES, seed: int = 0) -> list[Cell]:
    """Each list of prices, as next says, and without a choice."""
    folder = FOLDER / "cast2021"
    if not folder.exists():
        return []
    rng = np.random.default_rng(seed)
    runs = [_firsts(path) for path in sorted((folder / "runs").glob("*.gz"))]
    qrels = folder / "trec-cast-qrels-docs.2021.qrel.gz"
    all_pairs = [pair for _ in range(times) for pair in pairs_of(qrels, runs, rng)]
    pairs = [pair for pair in all_pairs if pair.truth]
    return [
        _cell(pairs, prices, method, np.random.default_rng(seed + 1))
        for prices in PRICES
        for method in ("as next says", "documents of all queries")
    ]


def _cell(pairs: Sequence[Any], prices: Prices, way: str, rng: np.random.Generator) -> Cell:
    rows = []
    for pair in pairs:
        choosing = way == "as next says"
        outcome = loop(
            pair,
            pair.weight,
            prices if choosing else Prices(human=prices.human),
            min(FIRST, pair.queries) if choosing else pair.queries,
            rng,
        )
        depth = pair.queries * prices.query + len(pair.query) * prices.human
        rows.append(
            (outcome.cost(prices) / depth, outcome.queries / pair.queries, outcome.said == pair.truth)
        )
    cost, queries, agreement = np.array(rows, np.float64).mean(axis=0)
    return Cell(
        prices.human,
        prices.query,
        prices.model,
        way,
        len(rows),
        float(cost),
        float(queries),
        float(agreement),
    )


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import percent, table

    rows = [
        (
            f"{c.human:g}",
            f"{c.query:g}",
            f"{c.model:g}",
            c.way,
            percent(c.cost),
            percent(c.queries),
            percent(c.same),
        )
        for c in cells
    ]
    pairs = cells[0].pairs if cells else 0
    return (
        "## What a settled comparison costs with prices of queries and calls\n\n`rankgate next` with "
        "`--price human= --price query= --price model=`, where the model judged 50 queries at the beginning, "
        "next to a model that judges all queries and people who judge documents of all of them. Pairs of 5 "
        f"runs of TREC CAsT 2021 (158 turns, DCG@10), {pairs:,} that all judgments decide. The cost is a "
        "share of depth pooling to its end: all documents that either run shows among its first ten, by "
        "people, with all queries.\n\n"
        + table(
            ("human", "query", "model", "what is chosen", "cost", "queries people judged", "same verdict"),
            rows,
        )
    )
