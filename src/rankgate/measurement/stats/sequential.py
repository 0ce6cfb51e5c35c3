"""Student's t at any number of looks: how far out it must lie to reject, however often one looks.

Shapes: n values of one normal law; see `critical_t`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

EFFECT = 0.4
"""Standard deviation of the standardised effects that the test is tuned to (`tau`)."""

_MOST = 1e8  # queries


def log_evidence(t: float, n: int, tau: float = EFFECT) -> float:
    """The logarithm of the evidence E against a mean of at most 0.

    E is the ratio of the density of t under effects δ = mean/sd drawn from the positive half of
    N(0, tau²) to that under δ = 0. With w = t/√(t² + n − 1) and r = n tau²/(1 + n tau²), where F
    is the distribution of Student's t with n degrees of freedom,

        E = 2 (1 + n tau²)^(−1/2) (1 − r w²)^(−n/2) F(√n w √r/√(1 − r w²)).

    The ratios at n = 2, 3, … are a test martingale for normal values, regardless of their sd; so E
    reaches 1/alpha at any of these looks with a chance of at most alpha. Two-sided without F:
    Gönen et al., The American Statistician 59 (2005); at any look: Hendriksen, de Heide and
    Grünwald, Bayesian Analysis 16 (2021); Wang and Ramdas, Sequential Analysis 44 (2025).

    Args:
        t: the statistic √n · mean/sd, sd with n − 1.
        n: values, 2 at least.
        tau: spread of the effects that the test has most power against.
    """
    from scipy.special import stdtr

    w = t / np.sqrt(t**2 + n - 1)
    r = n * tau**2 / (1 + n * tau**2)
    unexplained = 1 - r * w**2
    below = stdtr(n, np.sqrt(n * r / unexplained) * w)
    return float(np.log(2 * below) - np.log1p(n * tau**2) / 2 - n / 2 * np.log(unexplained))


@lru_cache(maxsize=4096)
def critical_t(n: int, alpha: float, tau: float = EFFECT) -> float:
    """The t beyond which n values reject a mean of at most 0, at any look; inf where none do.

    Args:
        n: values.
        alpha: the chance of a false rejection at any look, one-sided.
        tau: as in `log_evidence`.
    """
    from scipy.optimize import brentq

    highest_t = 1e6
    if n < 2 or log_evidence(highest_t, n, tau) < -np.log(alpha):  # one has no spread
        return float("inf")
    return float(brentq(lambda t: log_evidence(t, n, tau) + np.log(alpha), 0.0, highest_t))


def one_look_level(n: int, alpha: float, tau: float = EFFECT) -> float:
    """The level of a single look by Student's t with the same bound: P(T(n − 1) > `critical_t`).

    What is computed for a single look, such as an interval or its power, holds at any look when it
    is computed at this level.
    """
    from scipy.special import stdtr

    return float(stdtr(n - 1, -critical_t(n, alpha, tau))) if n > 1 else 0.0


def needed_at_any_look(delta: float, sd: float, alpha: float, target_power: float) -> float:
    """The number of queries that show a difference of this size at one of any number of looks.

    Args:
        delta: the true mean difference.
        sd: standard deviation of the differences.
        alpha: the chance of a false rejection at any look, one-sided.
        target_power: of the test.

    Returns:
        queries; infinity where more than 10⁸ are needed.
    """
    from rankgate.measurement.stats.planning.power import power

    def enough(n: int) -> bool:
        level = one_look_level(n, alpha)
        return level > 0 and power(abs(delta), sd, n, level, 1) >= target_power

    if not delta:
        return float("inf")
    low, high = 2, 4
    while not enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)
