"""Tests of paired differences: one column a metric, one row a query.

Shapes: n queries, M columns. Differences are finite; the caller leaves out the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedTest:
    """A test of each column.

    Attributes:
        statistic: (M,) of the test.
        p_value: (M,); 1 where nothing differs at all, NaN where there are too few differences.
        n: (M,) the differences that the test used.
    """

    statistic: Floats
    p_value: Floats
    n: NDArray[np.int64]


def as_columns(delta: Floats) -> Floats:
    """(n, M) from one column or several."""
    table = np.asarray(delta, dtype=np.float64)
    return table[:, None] if table.ndim == 1 else table


def student_test(delta: Floats, degrees: float | None = None) -> PairedTest:
    """Paired t, two-sided: t = mean / (sd / √n), n − 1 degrees of freedom (Student 1908).

    It keeps its level where differences are symmetric about 0, on IR data at every n (Urbano, Lima
    and Hanjalic, SIGIR 2019). Where only their mean is 0 it rejects too often for few queries: with
    15, up to 8-20 % for single pairs of systems at TREC (docs/validity.md). Where all
    differences are equal and not 0 there is no spread to judge them by: p is that of the sign
    test, 2/2ⁿ at most.

    Args:
        delta: (n, M) differences.
        degrees: of freedom of the standard error; n − 1 where None.
    """
    from scipy.special import stdtr

    table = as_columns(delta)
    n = len(table)
    mean, error = table.mean(axis=0) if n else np.zeros(table.shape[1]), standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(mean == 0, 0.0, mean / error)
    too_few = n < 2  # one difference has no spread
    df = n - 1 if degrees is None else degrees
    p = np.full_like(t, np.nan) if too_few else np.minimum(1.0, 2 * stdtr(df, -np.abs(t)))
    is_constant = (error == 0) & (n > 1) & ~np.isnan(df)
    if is_constant.any():
        p = np.where(is_constant, np.where(mean == 0, 1.0, sign_test(table).p_value), p)
    return PairedTest(t, p, _counts(table, n))


def standard_error(delta: Floats) -> Floats:
    """(M,) of the mean: sd / √n with n − 1 in the variance; 0 for fewer than two rows."""
    table = as_columns(delta)
    n = len(table)
    if n < 2:
        return np.zeros(table.shape[1])
    is_constant = np.ptp(table, axis=0) == 0  # rounding leaves a spread to equal numbers
    return np.asarray(
        np.where(is_constant, 0.0, table.std(axis=0, ddof=1) / np.sqrt(n)), np.float64
    )


def wilcoxon_test(delta: Floats) -> PairedTest:
    """Wilcoxon's signed ranks, by the normal approximation with a continuity correction.

    It tests whether differences lie symmetrically about 0, not the mean, and rejects too often as
    n grows on IR data (Urbano, Lima and Hanjalic 2019): a secondary test. Zeros are left out.
    """
    from scipy import stats

    table = as_columns(delta)
    results = [
        stats.wilcoxon(column, method="approx", correction=True)
        if np.count_nonzero(column)
        else (0.0, 1.0)
        for column in table.T
    ]
    nonzero_count = np.count_nonzero(table, axis=0)
    return PairedTest(
        np.array([float(result[0]) for result in results]),
        np.array([float(result[1]) for result in results]),
        nonzero_count.astype(np.int64),
    )


def sign_test(delta: Floats, *, band: float = 0.0) -> PairedTest:
    """The sign test of equally frequent gains and losses: exact binomial, two-sided.

    Args:
        delta: the differences.
        band: a difference of at most this size is a tie, and left out.
    """
    from scipy.special import bdtr

    table = as_columns(delta)
    wins = (table > band).sum(axis=0)
    losses = (table < -band).sum(axis=0)
    total = wins + losses
    smaller_count = np.minimum(wins, losses)
    tail = np.array(
        [
            bdtr(float(k), int(n), 0.5) if n else 1.0
            for k, n in zip(smaller_count, total, strict=True)
        ]
    )
    return PairedTest(wins.astype(np.float64), np.minimum(1.0, 2 * tail), total.astype(np.int64))


def _counts(table: Floats, n: int) -> NDArray[np.int64]:
    return np.full(table.shape[1], n, dtype=np.int64)
