"""Do several groups of numbers have the same mean?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.stats.paired import Floats


def one_way(groups: Sequence[Floats]) -> float:
    """The p-value of H₀, all means are equal, by Welch's one-way analysis of variance (Welch 1951).

    Groups with fewer than two numbers or no spread are left out; NaN where fewer than two are
    left.
    """
    from scipy.special import fdtrc  # noqa: PLC0415 - loaded only where it is needed

    used = [each for each in groups if len(each) > 1 and np.ptp(each) > 0]
    k = len(used)
    if k < 2:  # noqa: PLR2004 - nothing to compare
        return float("nan")
    n = np.array([len(each) for each in used], np.float64)
    means = np.array([each.mean() for each in used])
    weight = n / np.array([each.var(ddof=1) for each in used])
    share = weight / weight.sum()
    grand = (share * means).sum()
    lost = ((1 - share) ** 2 / (n - 1)).sum()
    between = (weight * (means - grand) ** 2).sum() / (k - 1)
    f = between / (1 + 2 * (k - 2) / (k**2 - 1) * lost)
    return float(fdtrc(k - 1, (k**2 - 1) / (3 * lost), f))
