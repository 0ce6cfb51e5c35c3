"""Wilcoxon's signed-rank test: zeros, continuity correction, and exact p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.measurement.stats.paired import PairedTest, as_columns

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Zeros = Literal["wilcox", "pratt"]
SignedRankMethod = Literal["corrected", "uncorrected", "exact"]

MAX_EXACT = 1000
"""Differences up to which a p-value is computed exactly."""


def signed_ranks(
    delta: Floats, *, zeros: Zeros = "wilcox", way: SignedRankMethod = "corrected"
) -> PairedTest:
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
    table = as_columns(delta)
    results = [_signed_rank_test(column, zeros, way) for column in table.T]
    statistic, p, n = (np.array([result[i] for result in results]) for i in range(3))
    return PairedTest(statistic, p, n.astype(np.int64))


def _signed_rank_test(
    delta: Floats, zeros: Zeros, method: SignedRankMethod
) -> tuple[float, float, int]:
    from scipy.special import ndtr
    from scipy.stats import rankdata

    differences = delta if zeros == "pratt" else delta[delta != 0]
    ranks = rankdata(np.abs(differences))[differences != 0]
    nonzero, sign = differences[differences != 0], np.sign(differences[differences != 0])
    if not len(nonzero):
        return 0.0, 1.0, 0
    gain_rank_sum = float(ranks[sign > 0].sum())
    rank_sum = float(ranks.sum())
    statistic = min(gain_rank_sum, rank_sum - gain_rank_sum)
    if method == "exact":
        if len(ranks) > MAX_EXACT:
            raise ValueError(f"{len(ranks)} differences; at most {MAX_EXACT} are counted exactly.")
        return statistic, _exact(ranks, statistic), len(nonzero)
    deviation = abs(
        gain_rank_sum - rank_sum / 2
    )  # the variance of Σ s·r/2 is Σ r²/4, whatever is tied or left out
    deviation = max(0.0, deviation - 0.5) if method == "corrected" else deviation
    z = deviation / np.sqrt((ranks**2).sum() / 4)
    return statistic, float(min(1.0, 2 * ndtr(-z))), len(nonzero)


def _exact(ranks: Floats, statistic: float) -> float:
    """2 · P(W₊ ≤ smaller) over all signs, by the sums that subsets of the doubled ranks have."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    share = np.zeros(int(doubled.sum()) + 1)
    share[0] = 1.0
    for rank in doubled:
        shifted = share.copy()
        shifted[rank:] += share[: len(share) - rank]
        share = shifted / 2
    return float(min(1.0, 2 * share[: int(np.rint(2 * statistic)) + 1].sum()))
