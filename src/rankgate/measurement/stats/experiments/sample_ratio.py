"""Tests of sample ratio mismatch: units per arm against the planned shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

CONCENTRATION = 500.0
"""Of the prior of true shares: with two equal arms its standard deviation is .022."""


@dataclass(frozen=True)
class SampleRatio:
    """A test of units per arm against planned shares.

    Attributes:
        statistic: chi-squared; for two arms of fewer than 1,000 units together the number of the
            first arm; at any look the e-value.
        p_value: two-sided; at any look 1 / e-value, and at most 1.
        method: ``chi2``, ``binomial`` or ``any look``.
    """

    statistic: float
    p_value: float
    method: str

    @property
    def levels(self) -> tuple[float, float]:
        """The p-values below which a mismatch blocks, and warns.

        Those of one look are of Fabijan and others, KDD 2019. Those of any look are the chances of
        a false alarm at all looks together: a look a day for four weeks at .001 and .01 has .01 and
        .07.
        """
        return (0.01, 0.05) if self.method == ANY_LOOK else (0.001, 0.01)


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

        test = binomtest(counts[0], total, shares[0] / planned)
        return SampleRatio(float(counts[0]), float(test.pvalue), "binomial")
    from scipy.special import chdtrc

    expected = [total * share / planned for share in shares]
    statistic = sum(
        (observed - expected_count) ** 2 / expected_count
        for observed, expected_count in zip(counts, expected, strict=True)
    )
    return SampleRatio(statistic, float(chdtrc(len(counts) - 1, statistic)), "chi2")


_EXACT = 1000


def log_e_value(counts: ArrayLike, shares: Sequence[float]) -> NDArray[np.float64]:
    """Logarithm of the e-value of units per arm against planned shares t, at any look.

    With n units, n_k of arm k, and a_k = 500 t_k it is the likelihood of the units where the true
    shares have a Dirichlet distribution around the planned ones, divided by that of the planned:

        ln G(A) − ln G(A + n) + sum_k [ln G(a_k + n_k) − ln G(a_k) − n_k ln t_k],  A = sum_k a_k

    where G is the gamma function. Where the plan holds, the chance that the e-value is ever 1 / p
    or more, at any of all looks, is p at most (Ville's inequality; Lindon and Malek, NeurIPS 2022).

    Args:
        counts: (..., K) units of each arm up to a look.
        shares: planned shares, positive; they need not sum to 1.
    """
    from scipy.special import gammaln

    units = np.asarray(counts, np.float64)
    planned = np.asarray(shares, np.float64) / sum(shares)
    prior = CONCENTRATION * planned
    of_arms = gammaln(prior + units) - gammaln(prior) - units * np.log(planned)
    total = gammaln(CONCENTRATION) - gammaln(CONCENTRATION + units.sum(axis=-1))
    return np.asarray(total + of_arms.sum(axis=-1))


def sequential_sample_ratio(counts: Sequence[int], shares: Sequence[float]) -> SampleRatio:
    """Test units per arm against planned shares; the error holds at all looks together.

    Args:
        counts: units of each arm up to this look.
        shares: planned shares, positive; they need not sum to 1.
    """
    evidence = float(log_e_value(counts, shares))
    return SampleRatio(math.exp(min(evidence, 700.0)), min(1.0, math.exp(-evidence)), ANY_LOOK)


ANY_LOOK = "any look"
