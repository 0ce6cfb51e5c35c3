"""The interval of a share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats


def wilson_interval(count: Floats, n: Floats, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval of count / n.

    (p + z²/2n ± z·√(p(1 − p)/n + z²/4n²)) / (1 + z²/n), p = count / n; it stays within 0 and 1
    and has a width where p is one of them (Wilson, JASA 22(158), 1927).

    Args:
        count: (K,) how many did.
        n: (K,) of how many, each above 0.
        level: of the intervals.

    >>> [round(float(end[0]), 4) for end in wilson_interval(np.array([0.0]), np.array([10.0]))]
    [0.0, 0.2775]
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    share = count / n
    middle = share + z**2 / (2 * n)
    half_width = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    return np.clip((middle - half_width) / scale, 0, 1), np.clip(
        (middle + half_width) / scale, 0, 1
    )
