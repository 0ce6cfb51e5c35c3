"""Tests against a margin: not worse by more than it, or as good as equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.stats.paired import columns, standard_error

if TYPE_CHECKING:
    from rankgate.stats.paired import Floats


def noninferiority(delta: Floats, margin: float) -> Floats:
    """(M,) p of H₀: mean ≤ −margin, by a one-sided paired t; small means not worse.

    Where all differences are equal it is 0 or 1, as they lie above the margin or not; NaN for
    fewer than two queries.
    """
    return _above(columns(delta), -margin)


def superiority(delta: Floats, margin: float = 0.0) -> Floats:
    """(M,) p of H₀: mean ≤ margin, as above; small means better by more than the margin."""
    return _above(columns(delta), margin)


def tost(delta: Floats, margin: float) -> Floats:
    """(M,) p of H₀: |mean| ≥ margin, by two one-sided tests; small means equivalent.

    The larger of both p-values (Schuirmann 1987; Lakens 2017).
    """
    table = columns(delta)
    return np.maximum(_above(table, -margin), _above(-table, -margin))


def _above(table: Floats, bound: float) -> Floats:
    from scipy.special import stdtr  # noqa: PLC0415 - loaded only where it is needed

    n = len(table)
    if n < 2:  # noqa: PLR2004 - one difference has no spread
        return np.full(table.shape[1], np.nan)
    distance, error = table.mean(axis=0) - bound, standard_error(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stdtr(n - 1, -(distance / error))
    return np.where(error > 0, p, np.where(distance > 0, 0.0, 1.0))
