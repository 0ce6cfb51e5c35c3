"""Distribution-free confidence bounds for the mean of bounded values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.stats.paired import as_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.stats.paired import Floats

_BETS = 64
_STEPS = 40  # halvings of the range: a bound to 1e-12 of it
_CELLS = 4_000_000  # numbers in memory at once
_TINY = 1e-12  # a mean that can be divided by


def betting_low(values: Floats, low: float, high: float, alpha: float) -> Floats:
    """(M,) lower bounds of means by betting, each at one-sided level 1 − alpha.

    With y = (x − low)/(high − low) and a mean of y of at most m, the capital of a gambler who
    always bets the share u, Π(1 + u(yᵢ/m − 1)), is a supermartingale for u in [0, 1], and so is
    its average over several u; it reaches 1/alpha with a chance of at most alpha, at any
    number of values one looks (Ville's inequality). The bound is the smallest m at which the
    capital is below 1/alpha. Here u has `_BETS` values, the quantiles of the arcsine law, as in
    Cover's universal portfolio.

    The bound depends on no order, holds for every law on [low, high] if values are drawn
    independently, and at all sample sizes together: queries may be added and looked at again.

    Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86
    (2024), there "diversified Kelly"; Orabona and Jun, Tight concentrations and confidence
    sequences from the regret of universal portfolio, IEEE Trans. Inf. Theory 70 (2024).

    Args:
        values: (n, M), each within [low, high].
        low: the lowest possible value.
        high: the highest value there can be.
        alpha: the chance that a bound lies above its mean, allowed at most.
    """
    table = (as_columns(values) - low) / (high - low)
    lower, upper = np.zeros(table.shape[1]), np.ones(table.shape[1])
    for _ in range(_STEPS):
        middle = (lower + upper) / 2
        is_rejected = _log_capital(table, middle) >= -np.log(alpha)
        lower, upper = np.where(is_rejected, middle, lower), np.where(is_rejected, upper, middle)
    return np.asarray(low + (high - low) * lower, np.float64)


def betting_exceeds(
    values: Floats, bound: Floats | float, low: float, high: float, alpha: float
) -> NDArray[np.bool_]:
    """(M,) True where `betting_low` is above a bound, without computing it."""
    table = (as_columns(values) - low) / (high - low)
    share = (np.asarray(bound, np.float64) - low) / (high - low)
    mean = np.broadcast_to(np.clip(share, _TINY, 1.0), table.shape[1:])
    is_rejected = (share < 1) & (_log_capital(table, mean) >= -np.log(alpha))
    return np.asarray(is_rejected | (share < 0), np.bool_)


def _log_capital(table: Floats, mean: Floats) -> Floats:
    """(M,) the logarithm of the average capital, against a mean of at most `mean`."""
    bets = np.sin(np.pi * (np.arange(_BETS) + 0.5) / (2 * _BETS)) ** 2
    gain = table / mean - 1
    step = max(1, _CELLS // max(table.size, 1))
    logs = np.concatenate(
        [np.log1p(bets[i : i + step, None, None] * gain).sum(axis=1) for i in range(0, _BETS, step)]
    )
    top = logs.max(axis=0)
    return np.asarray(top + np.log(np.exp(logs - top).mean(axis=0)), np.float64)


def unseen_share(n: int, alpha: float) -> float:
    """The largest share of queries that n queries miss with a chance of alpha: 1 − α^(1/n).

    About 3/n for alpha = 0.05, the rule of three (Hanley and Lippman-Hand, JAMA 249, 1983).
    """
    return float(1 - alpha ** (1 / n))
