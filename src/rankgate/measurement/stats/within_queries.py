"""The number of further documents of the same queries that an estimate needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST = 1e4  # times as many documents


def documents_needed(
    parts: Floats, inclusion: Floats, all_inclusion: Floats, variance: float, max_variance: float
) -> int | None:
    """Documents in addition to those drawn until the variance is as small as wanted.

    A document that was drawn with the probability π adds (1 − π)(c/π)² to the estimated variance
    of the sum of c/π over a sample. With m times the probabilities, at most 1, that is
    (1 − mπ)/(mπ) · c²/π, so that

        V(m) = V − Σ ((1 − π)/π − (1 − mπ)/(mπ)) c²/π.

    Args:
        parts: (n,) c, what each drawn document adds to the mean.
        inclusion: (n,) π of each.
        all_inclusion: (k,) π of all drawn documents, also of those that add nothing.
        variance: V, of the mean.
        max_variance: the largest variance that is precise enough.

    Returns:
        the expected number of further documents, 0 where none are needed; None where all
        documents would not do.

    >>> import numpy as np
    >>> c, half = np.array([0.1, -0.1]), np.array([0.5, 0.5])
    >>> documents_needed(c, half, half, 0.05, 0.02)
    2
    """
    square = parts**2 / inclusion
    odds = (1 - inclusion) / inclusion

    def left(times: float) -> float:
        chance = np.minimum(1, times * inclusion)
        return variance - float(((odds - (1 - chance) / chance) * square).sum())

    if left(np.inf) > max_variance:
        return None
    low, high = 1.0, 1.0
    while left(high) > max_variance and high < _MOST:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) > max_variance else (low, middle)
    return int(np.ceil((np.minimum(1, high * all_inclusion) / all_inclusion - 1).sum() - 1e-6))
