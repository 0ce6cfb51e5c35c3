"""Quantiles of values that may be infinite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats


def quantiles(values: Floats, shares: Sequence[float]) -> Floats:
    """Quantiles over the last axis, with linear interpolation.

    A quantile between a finite and an infinite value is infinite; ``np.quantile`` gives NaN there
    and at the finite value itself.

    Args:
        values: (..., n) with n > 0, without NaN.
        shares: (S,) the probabilities, as in 0.95.

    Returns:
        (S, ...) the quantiles.

    >>> quantiles(np.array([1.0, 2, np.inf]), [0.25, 0.5, 0.75]).tolist()
    [1.5, 2.0, inf]
    """
    finite = np.isfinite(values)
    bounded = values
    if not (is_finite := bool(finite.all())):
        smallest, largest = (pick(values, where=finite, initial=0.0) for pick in (np.min, np.max))
        bounded = np.clip(values, smallest, largest)
    interpolated: Floats = np.quantile(bounded, list(shares), axis=-1)
    if is_finite:
        return interpolated
    # the rank is rounded, as 0.95 * 20 may be a little more than 19
    ranks = np.round(np.asarray(shares) * (values.shape[-1] - 1), 9)
    sorted_values = np.moveaxis(np.sort(values, axis=-1), -1, 0)
    lower, upper = (sorted_values[rounded(ranks).astype(int)] for rounded in (np.floor, np.ceil))
    return np.where(np.isinf(lower), lower, np.where(np.isinf(upper), upper, interpolated))
