"""From a log to a verdict: split, four recommenders, their scorecard, and the gate.

``python recommend.py`` takes the log of this folder; ``python recommend.py LOG [--way leave-last]``
any other that rankgate reads. With ``--into FOLDER`` the lists are kept, a file for each system.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy import sparse
from scipy.sparse.linalg import svds

import rankgate

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
K = 20


def main(words: list[str]) -> int:
    """Print the split, the card and the verdict; 0, 1 or 3 as the gate says."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("log", nargs="?", default=str(HERE / "log.csv"))
    asked.add_argument("--way", default="global")
    asked.add_argument("--into", type=Path, help="a folder for the lists, a file for each system")
    given = asked.parse_args(words)
    own = given.log == str(HERE / "log.csv")
    told = rankgate.split(given.log, given.way, threshold=4 if own else 0)
    print(told.report())  # noqa: T201 - a script
    runs = recommended(told.train, told.qrels.table["query_id"].unique().sort())
    if given.into:
        given.into.mkdir(exist_ok=True)
        for name, run in runs.items():
            run.write_csv(given.into / f"{name}.csv")
    beside = {"items": str(HERE / "books.csv"), "category": "genre", "group": "press"}
    card = rankgate.scorecard(
        told.qrels, runs, train=told.train, obvious=runs["popular"], **(beside if own else {})
    )
    print(card.report())  # noqa: T201 - as above
    verdict = rankgate.gate(told.qrels, runs["popular"], runs["neighbours"])
    print(verdict)  # noqa: T201 - as above
    return verdict.status


def recommended(train: pl.DataFrame, users: pl.Series) -> dict[str, pl.DataFrame]:
    """The first K unseen items of every user, from four recommenders."""
    people, items = (train[name].unique().sort() for name in ("query_id", "doc_id"))
    pairs = train.select("query_id", "doc_id").unique(maintain_order=True)
    rows, columns = people.search_sorted(pairs["query_id"]), items.search_sorted(pairs["doc_id"])
    had = sparse.csr_matrix(
        (np.ones(len(pairs)), (rows.to_numpy(), columns.to_numpy())), (len(people), len(items))
    )
    known = users.filter(users.is_in(people.implode()))
    asked = had[people.search_sorted(known).to_numpy()]
    count = np.asarray(had.sum(axis=0)).ravel()
    norm = had @ sparse.diags(1 / np.sqrt(np.maximum(count, 1)))
    near = (norm.T @ norm).tocsr()
    near.setdiag(0)
    _, _, taste = svds(had, k=min(16, min(had.shape) - 1), v0=np.ones(min(had.shape)))
    rng = np.random.default_rng(0)
    scores: dict[str, Callable[[sparse.csr_matrix], np.ndarray]] = {
        "popular": lambda some: np.tile(count, (some.shape[0], 1)),
        "neighbours": lambda some: (some @ near).toarray(),
        "factors": lambda some: np.asarray((some @ taste.T) @ taste),
        "random": lambda some: rng.random(some.shape),
    }
    return {name: _lists(score, asked, known, items) for name, score in scores.items()}


def _lists(
    score: Callable[[sparse.csr_matrix], np.ndarray],
    asked: sparse.csr_matrix,
    users: pl.Series,
    items: pl.Series,
) -> pl.DataFrame:
    """A run: the best K items of every user that the user had not, block by block."""
    parts = []
    for begin in range(0, asked.shape[0], 1000):
        some = asked[begin : begin + 1000]
        worth = np.asarray(score(some), float)
        worth[some.nonzero()] = -np.inf
        first = np.sort(np.argpartition(-worth, K, axis=1)[:, :K], axis=1)
        order = np.argsort(-np.take_along_axis(worth, first, 1), axis=1, kind="stable")
        best = np.take_along_axis(first, order, 1)
        rows = np.repeat(np.arange(begin, begin + some.shape[0]), best.shape[1])
        part = pl.DataFrame(
            {
                "query_id": users.gather(rows),
                "doc_id": items.gather(best.ravel()),
                "score": np.take_along_axis(worth, best, 1).ravel(),
            }
        )
        parts.append(part.filter(pl.col("score").is_finite()))
    return pl.concat(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
