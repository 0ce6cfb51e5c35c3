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


def discounted(
    gains: Floats,
    rank: Ranks | NDArray[np.int64] | Floats,
    cutoff: int | None,
    discount: Discount,
    base: float = 2.0,
) -> Floats:
    """Gains divided by the discount of their ranks, 0 behind the cutoff."""
    with np.errstate(divide="ignore"):  # an infinite value is refused with its query
        worth: Floats = gains / _divisor(rank, discount, base)
    if cutoff is not None:
        worth[rank > cutoff] = 0
    return worth


def by_rank(
    judged: Judged, gains: Floats, cutoff: int | None, discount: Discount, base: float = 2.0
) -> Floats:
    """Gains of the documents retrieved, ``(T, J)`` or fewer columns, divided by the discount."""
    rank, grade = judged.rank[:, : gains.shape[1]], judged.grade[:, : gains.shape[1]]
    if discount != "graded":
        return discounted(gains, rank, cutoff, discount, base)
    worth = discounted(gains, np.where(grade > 0, rank * grade, rank), None, "shifted", base)
    return worth if cutoff is None else np.where(rank > cutoff, 0, worth)


def averaged(judged: Judged, cutoff: int | None, discount: Discount, base: float = 2.0) -> Floats:
    """The weight that a document has on average over the orders of its group, ``(T, J)``.

    A group from rank a to rank b has the weight Σ_{a≤i≤b, i≤k} 1/d(i) / (b − a + 1), which
    two prefix sums give.
    """
    alone = by_rank(judged, np.ones_like(judged.grade), cutoff, discount, base)
    tied = (judged.last > judged.first) & (judged.rank < PAD)
    if not tied.any():
        return alone
    if discount != "graded":
        alone[tied] = _group_mean(judged, tied, cutoff, discount, base)
        return alone
    for level in np.unique(judged.grade[tied]):  # its own grade is part of a document's discount
        own = tied & (judged.grade == level)
        alone[own] = _group_mean(judged, own, cutoff, discount, base, max(float(level), 0.0))
    return alone


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
        scaled = (ranks * (grade or 1.0)).astype(np.float64)
        each = discounted(np.ones(len(ranks)), scaled, None, "shifted", base)
        each[ranks > (cutoff or np.inf)] = 0
    else:
        each = discounted(np.ones(len(ranks)), ranks, cutoff, discount, base)
    until = np.concatenate([[0], np.cumsum(each)])
    mean: Floats = (until[last] - until[first - 1]) / (last - first + 1)
    return mean


def _divisor(rank: Ranks | NDArray[np.int64] | Floats, discount: Discount, base: float) -> Floats:
    log: Floats = np.log2(rank if discount == "original" else rank + 1.0)
    if base != 2:  # the binary logarithm is the usual one
        log /= np.log2(base)
    if discount == "original":
        np.maximum(log, 1, out=log)
    return log
