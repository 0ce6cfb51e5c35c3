"""Counts above a document within and outside its tie group."""

import numpy as np

from rankgate.measurement.metrics.judged import Counts, Flags, Judged


def through(judged: Judged, rows: Flags) -> Counts:
    """How many of some rows have the score of each document or a higher one, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    ends = np.append(judged.first[:, 1:] != judged.first[:, :-1], np.ones((len(rows), 1), bool), -1)
    last = np.where(ends, columns, columns[-1])
    until = np.minimum.accumulate(last[:, ::-1], axis=-1)[:, ::-1]
    found: Counts = np.take_along_axis(np.cumsum(rows, axis=-1), until, axis=-1)
    return found


def before(judged: Judged, rows: Flags) -> Counts:
    """How many of some rows have a higher score than each document, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    starts = np.append(
        np.ones((len(rows), 1), bool), judged.first[:, 1:] != judged.first[:, :-1], -1
    )
    start = np.maximum.accumulate(np.where(starts, columns, 0), axis=-1)
    found: Counts = np.take_along_axis(np.cumsum(rows, axis=-1) - rows, start, axis=-1)
    return found
