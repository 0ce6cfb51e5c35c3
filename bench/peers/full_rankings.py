"""Ten metrics of full rankings, by plain NumPy or by rankgate, batch by batch.

    python bench/peers/full_rankings.py plain|lists|matrix|torch USERS

A model of factors scores 50,000 items for 256 users at a time, outside the clock. Each user has ten
relevant items: five among the hundred best scores, and five among the worst.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

ITEMS, FACTORS, BATCH, DEPTH, RELEVANT = 50_000, 32, 256, 20, 10
CUTOFFS = (10, DEPTH)
METRICS = ["nDCG@10", "nDCG@20", "R@10", "R@20", "P@10", "P@20", "AP@10", "AP@20", "RR@10", "Success@10"]


def batches(users: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Scores and relevant items of the users of each batch."""
    random = np.random.default_rng(20261130)
    item_factors = random.standard_normal((FACTORS, ITEMS), dtype=np.float32)
    for begin in range(0, users, BATCH):
        shape = (min(BATCH, users - begin), FACTORS)
        scores = random.standard_normal(shape, dtype=np.float32) @ item_factors
        order = np.argpartition(scores, (100, ITEMS - 100), axis=1)
        half = RELEVANT // 2
        best, worst = (
            random.permuted(order[:, part], axis=1)[:, :half] for part in (np.s_[-100:], np.s_[:100])
        )
        yield scores, np.concatenate([best, worst], axis=1)


def best_items(scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The first items of each list, as users of NumPy find them."""
    items = np.argpartition(scores, -DEPTH, axis=1)[:, -DEPTH:]
    order = np.argsort(-np.take_along_axis(scores, items, axis=1), axis=1)
    return np.take_along_axis(items, order, axis=1)


class PlainNumpy:
    """The metrics as one writes them by hand, without any check."""

    def __init__(self) -> None:
        """Begin with no users."""
        self.users, self.totals = 0, np.zeros(len(METRICS))

    def update(self, relevant: NDArray[np.int64], scores: NDArray[np.float32]) -> None:
        """Add the values of a batch."""
        hits = (best_items(scores)[:, :, None] == relevant[:, None, :]).any(axis=2)
        discounts = 1 / np.log2(np.arange(DEPTH) + 2)
        precisions = hits.cumsum(axis=1) / np.arange(1, DEPTH + 1)
        first = np.where(hits[:, :10].any(axis=1), 1 / (hits[:, :10].argmax(axis=1) + 1), 0)
        values = [hits[:, :k] @ discounts[:k] / discounts[: min(k, RELEVANT)].sum() for k in CUTOFFS]
        values += [hits[:, :k].sum(axis=1) / RELEVANT for k in CUTOFFS]
        values += [hits[:, :k].mean(axis=1) for k in CUTOFFS]
        values += [(hits * precisions)[:, :k].sum(axis=1) / RELEVANT for k in CUTOFFS]
        values += [first, hits[:, :10].any(axis=1)]
        self.totals += np.sum(values, axis=1)
        self.users += len(relevant)

    def result(self) -> dict[str, float]:
        """The means."""
        return dict(zip(METRICS, self.totals / self.users, strict=True))


def forms(kind: str) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]:
    """What adds up batches; what a model returns; what is taken as judgments and as rankings."""
    same = np.asarray
    if kind == "plain":
        return PlainNumpy(), same, same, same
    import rankgate

    accumulator = rankgate.Accumulator(METRICS)
    if kind == "lists":
        return accumulator, same, rankgate.Lists, lambda scores: rankgate.Lists(best_items(scores))
    if kind == "torch":
        import torch

        return accumulator, torch.from_numpy, rankgate.Lists, rankgate.Matrix
    return accumulator, same, rankgate.Lists, rankgate.Matrix


def main(kind: str, users: int) -> None:
    """Measure all batches and print what they took."""
    accumulator, model_form, judgments, rankings = forms(kind)
    wall = cpu = 0.0
    for scores, relevant in batches(users):
        output = model_form(scores)
        begin, processor = time.perf_counter(), time.process_time()
        accumulator.update(judgments(relevant), rankings(output))
        wall += time.perf_counter() - begin
        cpu += time.process_time() - processor
    values = {name: float(value) for name, value in accumulator.result().items()}
    print(json.dumps({"values": values, "wall": wall, "cpu": cpu}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
