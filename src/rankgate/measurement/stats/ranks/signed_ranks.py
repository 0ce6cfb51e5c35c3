"""Wilcoxon's signed-rank test: zeros, continuity correction, and exact p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.measurement.stats.paired import PairedTest, columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Zeros = Literal["wilcox", "pratt"]
Way = Literal["corrected", "uncorrected", "exact"]

MOST = 1000
"""Differences up to which a p-value is computed exactly."""


def signed_ranks(delta: Floats, *, zeros: Zeros = "wilcox", way: Way = "corrected") -> PairedTest:
    """Wilcoxon's (1945) signed ranks, two-sided, with a stated treatment of zeros.

    W is the smaller sum of the ranks of |d| of gains and of losses; ties share their mean rank.

    Args:
        delta: (n, M) differences.
        zeros: ``wilcox`` leaves zeros out before ranking; ``pratt`` ranks them too and then
            leaves out their ranks (Pratt 1959), so that many zeros weigh against large ranks.
        way: ``corrected`` and ``uncorrected`` are the normal approximation with and without a
            continuity correction of 1/2; ``exact`` counts all assignments of signs to the ranks
            that occurred, ties and zeros included, for up to 1,000 differences.

    Raises:
        ValueError: more differences than are counted exactly.
    """
    table = columns(delta)
    found = [_one(column, zeros, way) for column in table.T]
    statistic, p, n = (np.array([each[i] for each in found]) for i in range(3))
    return PairedTest(statistic, p, n.astype(np.int64))


def _one(delta: Floats, zeros: Zeros, way: Way) -> tuple[float, float, int]:
    from scipy.special import ndtr
    from scipy.stats import rankdata

    given = delta if zeros == "pratt" else delta[delta != 0]
    ranks = rankdata(np.abs(given))[given != 0]
    used, sign = given[given != 0], np.sign(given[given != 0])
    if not len(used):
        return 0.0, 1.0, 0
    plus = float(ranks[sign > 0].sum())
    whole = float(ranks.sum())
    smaller = min(plus, whole - plus)
    if way == "exact":
        if len(ranks) > MOST:
            raise ValueError(f"{len(ranks)} differences; at most {MOST} are counted exactly.")
        return smaller, _exact(ranks, smaller), len(used)
    away = abs(plus - whole / 2)  # the variance of Σ s·r/2 is Σ r²/4, whatever is tied or left out
    away = max(0.0, away - 0.5) if way == "corrected" else away
    z = away / np.sqrt((ranks**2).sum() / 4)
    return smaller, float(min(1.0, 2 * ndtr(-z))), len(used)


def _exact(ranks: Floats, smaller: float) -> float:
    """2 · P(W₊ ≤ smaller) over all signs, by the sums that subsets of the doubled ranks have."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for each in doubled:
        moved = share.copy()
        moved[each:] += share[: len(share) - each]
        share = moved / 2
    return float(min(1.0, 2 * share[: int(np.rint(2 * smaller)) + 1].sum()))
