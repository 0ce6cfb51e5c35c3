"""Counts above a document within and outside its tie group."""

import numpy as np

from rankgate.measurement.metrics.judged import Counts, Flags, Judged


def count_through_group(judged: Judged, rows: Flags) -> Counts:
    """Count the rows that have the score of each document or a higher one, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    ends = np.append(judged.first[:, 1:] != judged.first[:, :-1], np.ones((len(rows), 1), bool), -1)
    last = np.where(ends, columns, columns[-1])
    last_column = np.minimum.accumulate(last[:, ::-1], axis=-1)[:, ::-1]
    counts: Counts = np.take_along_axis(np.cumsum(rows, axis=-1), last_column, axis=-1)
    return counts


def count_before_group(judged: Judged, rows: Flags) -> Counts:
    """Count the rows that have a higher score than each document, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    starts = np.append(
        np.ones((len(rows), 1), bool), judged.first[:, 1:] != judged.first[:, :-1], -1
    )
    start = np.maximum.accumulate(np.where(starts, columns, 0), axis=-1)
    counts: Counts = np.take_along_axis(np.cumsum(rows, axis=-1) - rows, start, axis=-1)
    return counts
