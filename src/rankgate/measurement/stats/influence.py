"""The influence of single queries on a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.paired import as_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.stats.paired import Floats


def largest_share(delta: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The query without which the sum of the differences would change most, and by how much.

    Returns:
        (M,) its row, and (M,) |d| / |Σd|: 0.2 says that a fifth of the difference is this query;
        more than 1 that the difference changes its sign without it, or nearly. NaN where the
        differences add up to 0.
    """
    table = as_columns(delta)
    if not len(table):
        return np.zeros(table.shape[1], np.int64), np.full(table.shape[1], np.nan)
    # only a query that pulls the way the sum goes makes it
    total = table.sum(axis=0)
    signed_values = table * np.sign(total)
    row = signed_values.argmax(axis=0)
    size = signed_values[row, np.arange(table.shape[1])]
    return row, np.where(total != 0, size / np.where(total != 0, np.abs(total), 1.0), np.nan)
