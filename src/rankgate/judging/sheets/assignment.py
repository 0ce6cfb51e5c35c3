"""Assign documents to raters, with a stated overlap and random orders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.judging.pooling.candidates import shuffle_batches


def assign_documents(
    pool: pl.DataFrame,
    raters: Sequence[str],
    *,
    per_document: int = 1,
    overlap: float = 0.0,
    seed: int = 0,
) -> dict[str, pl.DataFrame]:
    """The part of the pool that each rater gets.

    Documents go in random order to the rater with the fewest, so that loads differ by one at
    most and every two raters meet.

    Args:
        pool: ``query_id``, ``doc_id``, ``batch``.
        raters: their names.
        per_document: how many of them rate each document.
        overlap: the share of documents that one more rater gets, to measure agreement.
        seed: of who gets what, and of each rater's own order.

    Raises:
        UsageError: raters that are named twice, or too few of them.
    """
    names = list(raters)
    if not names or len({*names}) < len(names) or "" in names:
        raise UsageError("raters need names that differ; name each once.", code="duplicate-name")
    if not 0 <= overlap <= 1:
        raise UsageError(f"overlap={overlap:g}: a share lies between 0 and 1.", code="out-of-range")
    max_ratings = per_document + (overlap > 0)
    if per_document < 1 or max_ratings > len(names):
        raise UsageError(
            f"{max_ratings} ratings of a document need as many raters, and there are {len(names)}.",
            code="out-of-range",
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(pool))
    overlap_count = round(overlap * len(pool))
    load = np.zeros(len(names), np.int64)
    rows_of_rater: list[list[int]] = [[] for _ in names]
    for turn, row in enumerate(order.tolist()):
        count = per_document + (turn < overlap_count)
        least_loaded = np.lexsort((rng.random(len(names)), load))[:count]
        load[least_loaded] += 1
        for rater in least_loaded.tolist():
            rows_of_rater[rater].append(row)
    return {
        name: shuffle_batches(pool[sorted(rows)] if rows else pool.clear(), seed + 1 + i)
        for i, (name, rows) in enumerate(zip(names, rows_of_rater, strict=True))
    }


def count_doubled(parts: dict[str, pl.DataFrame]) -> int:
    """Count the documents that two raters or more have."""
    pairs = pl.concat([rater_pool.select("query_id", "doc_id") for rater_pool in parts.values()])
    return int((pairs.group_by("query_id", "doc_id").len()["len"] > 1).sum())
