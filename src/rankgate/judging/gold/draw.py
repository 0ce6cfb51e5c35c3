"""Draw gold labels for a blind check: pairs in random order, without their grades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Count
from rankgate.core.errors import UsageError
from rankgate.data import read_qrels
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.inputs import QrelsLike


def draw_gold(gold: QrelsLike, pairs: Count = 200, *, seed: int = 0) -> pl.DataFrame:
    """Draw pairs of gold labels for raters; each pair has the same chance.

    Args:
        gold: the judgments.
        pairs: How many are drawn; all where there are fewer.
        seed: of the draw.

    Returns:
        ``query_id`` and ``doc_id`` in random order: a pool.

    Raises:
        InputError: judgments that cannot be read.
        UsageError: judgments without a grade of 0 or more.
    """
    gold_qrels = read_qrels(gold)
    labelled_pairs = gold_qrels.table.filter(gold_qrels.table["grade"] >= 0).select(PAIR)
    if labelled_pairs.is_empty():
        raise UsageError(f"{gold_qrels.name} has no grades to check.", code="nothing-judged")
    order = np.random.default_rng(seed).permutation(len(labelled_pairs))[:pairs]
    return labelled_pairs[order]
