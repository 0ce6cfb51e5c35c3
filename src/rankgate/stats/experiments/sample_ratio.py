"""Do arms have the units that the plan gives them? And how probable was that by chance?"""

from __future__ import annotations

from collections.abc import Sequence

from rankgate.frozen import dataclass


@dataclass(frozen=True)
class SampleRatio:
    """A test of units per arm against planned shares.

    Attributes:
        statistic: chi-squared; for two arms of fewer than 1,000 units together the number of the
            first arm.
        p_value: two-sided.
        method: ``chi2`` or ``binomial``.
    """

    statistic: float
    p_value: float
    method: str


def sample_ratio(counts: Sequence[int], shares: Sequence[float]) -> SampleRatio:
    """Test units per arm against planned shares: chi-squared, exact for few units of two arms.

    Fabijan and others, KDD 2019.

    Args:
        counts: units of each arm.
        shares: planned shares, positive; they need not sum to 1.
    """
    total, planned = sum(counts), sum(shares)
    if len(counts) == 2 and total < _EXACT:
        from scipy.stats import binomtest

        found = binomtest(counts[0], total, shares[0] / planned)
        return SampleRatio(float(counts[0]), float(found.pvalue), "binomial")
    from scipy.special import chdtrc

    expected = [total * share / planned for share in shares]
    statistic = sum((seen - each) ** 2 / each for seen, each in zip(counts, expected, strict=True))
    return SampleRatio(statistic, float(chdtrc(len(counts) - 1, statistic)), "chi2")


_EXACT = 1000
