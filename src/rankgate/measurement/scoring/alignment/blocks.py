"""Padded blocks: queries of like length side by side, as the kernels want them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rankgate.measurement.metrics.judged import PAD, Judged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

_Number = TypeVar("_Number", np.int32, np.float64, np.bool_)

_CELLS = 1 << 20  # cells of one matrix of a block; with its fellows that is about 64 MB


def blocks(aligned: Aligned, index: JudgmentIndex) -> Iterator[tuple[NDArray[np.int64], Judged]]:
    """Deal queries into blocks of bounded size; yields their places in `aligned` and the block.

    A value does not depend on the block that its query is in: kernels add by prefix sums.
    """
    T = len(aligned.codes)
    retrieved = np.bincount(aligned.owner, minlength=T)
    pool = index.offsets[aligned.codes + 1] - index.offsets[aligned.codes]
    width = np.maximum(np.maximum(retrieved, pool), 1)
    by = np.argsort(width, kind="stable")
    begin = 0
    while begin < T:
        end = begin + max(1, int(np.searchsorted(_cells(width[by[begin:]]), _CELLS, "right")))
        yield by[begin:end], _block(aligned, index, by[begin:end])
        begin = end


def _cells(width: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells of the block that ends with each query; widths are increasing."""
    return width * np.arange(1, len(width) + 1)


def _block(aligned: Aligned, index: JudgmentIndex, chosen: NDArray[np.int64]) -> Judged:
    T = len(chosen)
    place = np.full(len(aligned.codes), -1)
    place[chosen] = np.arange(T)
    mine = place[aligned.owner]
    rows = np.flatnonzero(mine >= 0)
    line = mine[rows]
    counts = np.bincount(line, minlength=T)
    begin = np.bincount(aligned.owner, minlength=len(aligned.codes)).cumsum()
    starts = np.append(0, begin[:-1])
    column = rows - starts[aligned.owner[rows]]
    J = max(1, int(counts.max(initial=0)))

    def spread(values: NDArray[_Number], fill: float, dtype: type[_Number]) -> NDArray[_Number]:
        table: NDArray[_Number] = np.full((T, J), fill, dtype)
        table[line, column] = values[rows]
        return table

    ideal, below, judged, pooled = _pools(index, aligned.codes[chosen])
    return Judged(
        rank=spread(aligned.rank.astype(np.int32), PAD, np.int32),
        grade=spread(aligned.grade, 0, np.float64),
        known=spread(np.ones(len(aligned.rank), np.bool_), 0, np.bool_),
        first=spread(aligned.first.astype(np.int32), PAD, np.int32),
        last=spread(aligned.last.astype(np.int32), PAD, np.int32),
        ideal=ideal,
        below=below,
        retrieved=aligned.retrieved[chosen],
        judged=judged,
        pooled=pooled,
        relevant=judged,
        relevant_retrieved=counts,
        level=np.nan,
    )


def _pools(
    index: JudgmentIndex, codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """What each query's pool holds.

    Returns:
        grades of 0 or more, the best first; those below 0, the lowest first; how many grades of 0
        or more there are, and how many in all.
    """
    T = len(codes)
    whose, which = index.rows(codes)
    grades = index.grades[which]
    real = grades >= 0  # the best grade is first, so real ones come before negative ones
    judged, pooled = np.bincount(whose[real], minlength=T), np.bincount(whose, minlength=T)
    order = np.arange(len(whose)) - np.repeat(np.cumsum(pooled) - pooled, pooled)
    ideal = np.zeros((T, max(1, int(judged.max(initial=0)))))
    ideal[whose[real], order[real]] = grades[real]
    below = np.zeros((T, int((pooled - judged).max(initial=0))))
    below[whose[~real], (pooled[whose] - 1 - order)[~real]] = grades[~real]
    return ideal, below, judged, pooled
