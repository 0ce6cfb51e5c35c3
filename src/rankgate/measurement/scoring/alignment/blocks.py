"""Padded blocks for kernels: queries of similar length together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rankgate.measurement.metrics.judged import PAD, Judged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex

_Number = TypeVar("_Number", np.int32, np.float64, np.bool_)

_CELLS = 1 << 20  # cells of one matrix of a block; all its matrices take about 64 MB


def blocks(
    aligned: JudgedRanks, index: JudgmentIndex
) -> Iterator[tuple[NDArray[np.int64], Judged]]:
    """Split queries into blocks of bounded size; yields their places in `aligned` and the block.

    A value does not depend on the block that its query is in: kernels add by prefix sums.
    """
    T = len(aligned.codes)
    retrieved = np.bincount(aligned.owner, minlength=T)
    pool = index.offsets[aligned.codes + 1] - index.offsets[aligned.codes]
    width = np.maximum(np.maximum(retrieved, pool), 1)
    query_order = np.argsort(width, kind="stable")
    begin = 0
    while begin < T:
        end = begin + max(
            1, int(np.searchsorted(_cells(width[query_order[begin:]]), _CELLS, "right"))
        )
        yield query_order[begin:end], _block(aligned, index, query_order[begin:end])
        begin = end


def _cells(width: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells of the block that ends with each query; widths are increasing."""
    return width * np.arange(1, len(width) + 1)


def _block(aligned: JudgedRanks, index: JudgmentIndex, queries: NDArray[np.int64]) -> Judged:
    T = len(queries)
    row_of_query = np.full(len(aligned.codes), -1)
    row_of_query[queries] = np.arange(T)
    row_of_document = row_of_query[aligned.owner]
    rows = np.flatnonzero(row_of_document >= 0)
    line = row_of_document[rows]
    counts = np.bincount(line, minlength=T)
    begin = np.bincount(aligned.owner, minlength=len(aligned.codes)).cumsum()
    starts = np.append(0, begin[:-1])
    column = rows - starts[aligned.owner[rows]]
    J = max(1, int(counts.max(initial=0)))

    def spread(values: NDArray[_Number], fill: float, dtype: type[_Number]) -> NDArray[_Number]:
        table: NDArray[_Number] = np.full((T, J), fill, dtype)
        table[line, column] = values[rows]
        return table

    ideal, below, judged, pooled = _pools(index, aligned.codes[queries])
    return Judged(
        rank=spread(aligned.rank.astype(np.int32), PAD, np.int32),
        grade=spread(aligned.grade, 0, np.float64),
        known=spread(np.ones(len(aligned.rank), np.bool_), 0, np.bool_),
        first=spread(aligned.first.astype(np.int32), PAD, np.int32),
        last=spread(aligned.last.astype(np.int32), PAD, np.int32),
        ideal=ideal,
        below=below,
        retrieved=aligned.retrieved[queries],
        judged=judged,
        pooled=pooled,
        relevant=judged,
        relevant_retrieved=counts,
        level=np.nan,
    )


def _pools(
    index: JudgmentIndex, codes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The grades in each query's pool.

    Returns:
        grades of 0 or more, the best first; those below 0, the lowest first; how many grades of 0
        or more there are, and how many in all.
    """
    pooled = index.offsets[codes + 1] - index.offsets[codes]
    _, judgment = index.rows(codes)
    filled = np.arange(max(1, int(pooled.max(initial=0)))) < pooled[:, None]
    grades = np.zeros(filled.shape)
    grades[filled] = index.grades[judgment]
    negative = grades < 0
    if not negative.any():
        return grades, np.zeros((len(codes), 0)), pooled, pooled
    count = negative.sum(axis=1)  # the best grade is first, so these are the last ones
    judged = pooled - count
    ideal = np.where(negative, 0, grades)[:, : max(1, int(judged.max(initial=0)))]
    from_last = np.arange(int(count.max(initial=0)))
    last_first = np.take_along_axis(grades, np.maximum(pooled[:, None] - 1 - from_last, 0), axis=1)
    return ideal, np.where(from_last < count[:, None], last_first, 0), judged, pooled
