"""Levels of tests whose candidates are chosen by the answers of earlier tests on the same queries.

An optimiser that sees only pass or not learns nothing from "not": until the first pass its
candidates are a fixed sequence, chosen before the queries answer. The union bound over this
sequence holds for every optimiser (Blum and Hardt, ICML 2015; Dwork et al., Science 2015). A
pass tells which test passed, so after m passes of at most K tests there are C(K, m + 1) tests
that an optimiser can reach.

Candidates that resemble each other share a part of the error: the probability that any of them
passes by chance is the sum, over the tests, of the probability that this test is the first to do
so. `first_exceedance_level` spends the probability of being the first.
"""

from __future__ import annotations

from math import ceil, comb
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

FIRST_SHARE = 0.9
"""The share of alpha for the tests until the first pass; each further pass has a tenth of the one before."""

NEIGHBOURS = 64
"""The most similar earlier tests whose overlap is computed; leaving out others only lowers a level."""

DRAWS = 1000
_STEPS = 30  # of the bisection, on a logarithmic scale


def share_of_test(alpha: float, tests: int, passes: int) -> float:
    """The share of alpha that one test may spend, after a number of passes.

    0.9 · 0.1ᵐ · alpha / C(K, m + 1) after m passes, of at most K tests. The sum over all tests that
    any optimiser can reach is below alpha.

    Args:
        alpha: the probability of any false pass.
        tests: K, the largest number of tests.
        passes: m, the number of earlier passes.

    >>> f"{share_of_test(0.05, 1000, 0):.2g}, {share_of_test(0.05, 1000, 1):.2g}"
    '4.5e-05, 9e-09'
    """
    reachable = comb(tests, passes + 1)
    return FIRST_SHARE * (1 - FIRST_SHARE) ** passes * alpha / reachable if reachable else 0.0


def first_exceedance_level(
    share: float,
    values: Floats,
    earlier: Floats,
    levels: Floats,
    *,
    most: float,
    seed: int = 0,
    draws: int = DRAWS,
) -> float:
    """The largest level of a test that is the first to pass by chance with at most this probability.

    With a standard normal for each query, in a vector g, test j passes by chance if eⱼ·g > zⱼ, where eⱼ
    has the centred differences of its queries at length 1. Given what g is apart from this test's
    own e·g, the earlier tests stay below their bounds up to e·g = t, and a level a adds (a − P(e·g >
    t))₊. The level is the largest whose mean over draws of g, with three standard errors and 3a/draws,
    is at most the share. It depends on the covariance of the differences alone, which for normal
    differences is independent of their means.

    Args:
        share: the probability that may be spent.
        values: (n,) the differences of the queries.
        earlier: (n, J) `unit_differences` of earlier tests; 0 for queries that a test did not have.
        levels: (J,) the one-sided levels of the earlier tests.
        most: the highest level.
        seed: the seed of the draws.
        draws: their number.

    >>> values = np.random.default_rng(0).normal(size=(200, 1))
    >>> unit, levels = unit_differences(values[:, 0]), np.array([0.001])
    >>> first_exceedance_level(0.001, -values[:, 0], unit[:, None], levels, most=0.05)  # nothing in common
    0.001
    >>> round(first_exceedance_level(0.001, values[:, 0], unit[:, None], levels, most=0.05), 4)  # the same
    0.002
    """
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    unit = unit_differences(values)
    correlation = unit @ earlier
    nearest = np.argsort(-correlation)[:NEIGHBOURS]
    nearest = nearest[correlation[nearest] > 0]
    if not len(nearest):
        return share
    rho = correlation[nearest]
    rng, shared = np.random.default_rng(seed), earlier[:, nearest]
    normal = rng.standard_normal((draws, len(values)))
    of_other_queries = np.sqrt(np.maximum(1 - (shared**2).sum(axis=0), 0.0))
    noise = of_other_queries * rng.standard_normal((draws, len(rho)))
    of_earlier_tests = normal @ shared - np.outer(normal @ unit, rho) + noise
    covered = ndtr(-((-ndtri(levels[nearest]) - of_earlier_tests) / rho).min(axis=1))
    low, high = share, most
    for _ in range(_STEPS):
        level = float(np.sqrt(low * high))
        added = np.maximum(level - covered, 0.0)
        bound = added.mean() + 3 * added.std() / np.sqrt(draws) + 3 * level / draws
        low, high = (level, high) if bound <= share else (low, level)
    return low


def unit_differences(values: Floats) -> Floats:
    """(n,) centred differences of length 1; 0 if all are equal.

    >>> unit_differences(np.array([1.0, 3.0])).round(3).tolist()
    [-0.707, 0.707]
    """
    centred = values - values.mean()
    length = float(np.linalg.norm(centred))
    return np.asarray(centred / length if length > 0 else np.zeros(len(values)), np.float64)


def fresh_queries(n: int, first: float, level: float, power: float) -> int:
    """The number of queries to add so that a test detects what a test of the first level did.

    n · ((z₁₋ₐ + z_power) / (z₁₋f + z_power))² − n, with a the level and f the first one.

    Args:
        n: the number of queries.
        first: the one-sided level of a test of unused queries.
        level: that of the next test.
        power: the power of both.

    >>> fresh_queries(200, 4.5e-05, 9e-09, 0.8)
    171
    """
    from rankgate.measurement.stats.special_functions import ndtri

    reach, first_reach = (float(ndtri(power) - ndtri(share)) for share in (level, first))
    return max(0, ceil(n * ((reach / first_reach) ** 2 - 1)))
