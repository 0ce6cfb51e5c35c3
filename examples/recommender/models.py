"""Four simple recommenders: popularity, item-kNN, matrix factorisation, chance.

Each learns from a log and lists for every user the best K items that the user had not. The
factors are those of the library implicit: alternating least squares on what was had and what was
not (Hu, Koren & Volinsky 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from implicit.als import AlternatingLeastSquares
from scipy import sparse
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from collections.abc import Callable

K = 20
FACTORS = 32
BLOCK = 1000  # users at once, where every item gets a score


@dataclass
class Learned:
    """Who had what in training, as codes, and for whom lists are wanted."""

    had: sparse.csr_matrix
    items: pl.Series
    users: pl.Series
    rows: np.ndarray

    @classmethod
    def of(cls, train: pl.DataFrame, wanted: pl.Series) -> Learned:
        """Users without training get no list: nothing is known of them."""
        people, items = (train[name].unique().sort() for name in ("query_id", "doc_id"))
        pairs = train.select("query_id", "doc_id").unique(maintain_order=True)
        cells = [
            ids.search_sorted(pairs[name]).to_numpy()
            for ids, name in ((people, "query_id"), (items, "doc_id"))
        ]
        shape = (len(people), len(items))
        had = sparse.csr_matrix((np.ones(len(pairs), np.float32), tuple(cells)), shape)
        users = wanted.filter(wanted.is_in(people.implode()))
        return cls(had, items, users, people.search_sorted(users).to_numpy())


def recommended(train: pl.DataFrame, users: pl.Series, seed: int = 0) -> dict[str, pl.DataFrame]:
    """A run of each recommender, by name.

    Args:
        train: ``query_id`` and ``doc_id``, as `rankgate.split` gives it.
        users: whom lists are for.
        seed: of the factors' beginning, and of chance.
    """
    learned = Learned.of(train, users)
    rng = np.random.default_rng(seed)
    count = np.asarray(learned.had.sum(axis=0)).ravel()
    unit = learned.had @ sparse.diags_array(1 / np.sqrt(count))
    alike = (unit.T @ unit).tocsr()  # the cosine of two items: who had both
    alike.setdiag(0)
    return {
        "popular": _best(learned, lambda rows: np.tile(count, (len(rows), 1))),
        "neighbours": _best(learned, lambda rows: (learned.had[rows] @ alike).toarray()),
        "factors": _best(learned, _factors(learned.had, seed)),
        "random": _best(learned, lambda rows: rng.random((len(rows), len(count)))),
    }


def _factors(had: sparse.csr_matrix, seed: int) -> Callable[[np.ndarray], np.ndarray]:
    size = min(FACTORS, *had.shape)
    with threadpool_limits(1, "blas"):  # the library has threads of its own
        model = AlternatingLeastSquares(size, random_state=seed, num_threads=1)
        model.fit(had, show_progress=False)
    return lambda rows: model.user_factors[rows] @ model.item_factors.T


def _best(learned: Learned, score: Callable[[np.ndarray], np.ndarray]) -> pl.DataFrame:
    """A run: the best K of a score for every item, block by block, without what users had."""
    parts = []
    for begin in range(0, len(learned.rows), BLOCK):
        rows = learned.rows[begin : begin + BLOCK]
        worth = np.asarray(score(rows), np.float64)
        worth[learned.had[rows].nonzero()] = -np.inf
        k = min(K, worth.shape[1])
        some = np.sort(np.argpartition(-worth, k - 1, axis=1)[:, :k], axis=1)
        order = np.argsort(-np.take_along_axis(worth, some, 1), axis=1, kind="stable")
        best = np.take_along_axis(some, order, axis=1)
        part = pl.DataFrame(
            {
                "query_id": learned.users.gather(np.repeat(np.arange(begin, begin + len(rows)), k)),
                "doc_id": learned.items.gather(best.ravel()),
                "score": np.take_along_axis(worth, best, axis=1).ravel(),
            }
        )
        parts.append(part.filter(pl.col("score").is_finite()))
    return pl.concat(parts)
