"""Discounts: how much a gain counts at a rank, and on average over ranks that are tied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.judged import PAD, Flags, Floats, Judged, Ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

Discount = Literal["shifted", "original", "graded"]
"""By log(i + 1); by max(1, log i), none before the rank that is the base; or by log(i · grade + 1),
as recpack does, which is the first for grades of 0 and 1."""

Ties = Literal["broken", "averaged"]
"""Each document at its own rank, or at all ranks of its group of equal scores, on average."""

Base = Annotated[float, Range(1.000001)]


def discount_gains(
    gains: Floats,
    rank: Ranks | NDArray[np.int64] | Floats,
    cutoff: int | None,
    discount: Discount,
    base: float = 2.0,
) -> Floats:
    """Gains divided by the discount of their ranks, 0 behind the cutoff."""
    with np.errstate(divide="ignore"):  # an infinite value is refused with its query
        discounted_gains: Floats = gains / _divisor(rank, discount, base)
    if cutoff is not None:
        discounted_gains[rank > cutoff] = 0
    return discounted_gains


def discount_by_rank(
    judged: Judged, gains: Floats, cutoff: int | None, discount: Discount, base: float = 2.0
) -> Floats:
    """Gains of the documents retrieved, ``(T, J)`` or fewer columns, divided by the discount."""
    rank, grade = judged.rank[:, : gains.shape[1]], judged.grade[:, : gains.shape[1]]
    if discount != "graded":
        return discount_gains(gains, rank, cutoff, discount, base)
    discounted_gains = discount_gains(
        gains, np.where(grade > 0, rank * grade, rank), None, "shifted", base
    )
    return discounted_gains if cutoff is None else np.where(rank > cutoff, 0, discounted_gains)


def tied_weights(
    judged: Judged, cutoff: int | None, discount: Discount, base: float = 2.0
) -> Floats:
    """The mean weight of each document over all orders of its tied group, ``(T, J)``.

    A group from rank a to rank b has the weight Σ_{a≤i≤b, i≤k} 1/d(i) / (b − a + 1), which
    two prefix sums give.
    """
    weights = discount_by_rank(judged, np.ones_like(judged.grade), cutoff, discount, base)
    is_tied = (judged.last > judged.first) & (judged.rank < PAD)
    if not is_tied.any():
        return weights
    if discount != "graded":
        weights[is_tied] = _group_mean(judged, is_tied, cutoff, discount, base)
        return weights
    for level in np.unique(judged.grade[is_tied]):  # its own grade is part of a document's discount
        same_level = is_tied & (judged.grade == level)
        weights[same_level] = _group_mean(
            judged, same_level, cutoff, discount, base, max(float(level), 0.0)
        )
    return weights


def _group_mean(
    judged: Judged,
    rows: Flags,
    cutoff: int | None,
    discount: Discount,
    base: float,
    grade: float = 0,
) -> Floats:
    """The mean weight of the ranks of the group of each of some documents, ``(·,)``."""
    first, last = judged.first[rows], judged.last[rows]
    ranks = np.arange(1, int(last.max()) + 1)
    if discount == "graded":
        scaled_ranks = (ranks * (grade or 1.0)).astype(np.float64)
        rank_weights = discount_gains(np.ones(len(ranks)), scaled_ranks, None, "shifted", base)
        rank_weights[ranks > (cutoff or np.inf)] = 0
    else:
        rank_weights = discount_gains(np.ones(len(ranks)), ranks, cutoff, discount, base)
    cumulated = np.concatenate([[0], np.cumsum(rank_weights)])
    mean: Floats = (cumulated[last] - cumulated[first - 1]) / (last - first + 1)
    return mean


def _divisor(rank: Ranks | NDArray[np.int64] | Floats, discount: Discount, base: float) -> Floats:
    log: Floats = np.log2(rank if discount == "original" else rank + 1.0)
    if base != 2:  # the binary logarithm is the usual one
        log /= np.log2(base)
    if discount == "original":
        np.maximum(log, 1, out=log)
    return log
