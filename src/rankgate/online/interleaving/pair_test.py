"""Tests of interleaving: who wins more units, and by how much."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.interval import t_interval
from rankgate.measurement.stats.paired import sign_test, student_test

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairTest:
    """One system against another, from the differences of their credits.

    Attributes:
        wins_one, wins_other, ties: units.
        preference: (wins_other + ties / 2) / all - 1/2 (Chapelle, Joachims, Radlinski and Yue,
            TOIS 2012); with the t-test the mean difference of credits; NaN without units.
        low, high: its interval, which leaves out 0 just where the test's p is below 1 - level.
        p_sign: exact binomial, ties left out.
        credit: the mean difference.
        spread: the standard deviation of the differences.
        credit_low, credit_high, p_t: by Student's t over units; NaN for fewer than two.
    """

    wins_one: int
    wins_other: int
    ties: int
    preference: float
    low: float
    high: float
    p_sign: float
    credit: float
    spread: float
    credit_low: float
    credit_high: float
    p_t: float


def pair_test(delta: Floats, level: float, test: Literal["sign", "t"]) -> PairTest:
    """Test the differences of credits of one system and another.

    Args:
        delta: (n,) credit of the other less that of the one, a number for each unit with a click.
        level: of intervals.
        test: the one that keeps its level, whose estimate is the preference.
    """
    wins, losses = int((delta > 0).sum()), int((delta < 0).sum())
    ties = len(delta) - wins - losses
    column = delta[:, None]
    mean, deviation, low_t, high_t, p_t = (math.nan,) * 5
    if len(delta):
        interval = t_interval(column, level)
        mean, low_t, high_t = (
            float(interval.mean[0]),
            float(interval.low[0]),
            float(interval.high[0]),
        )
        deviation = float(delta.std(ddof=1)) if len(delta) > 1 else math.nan
        p_t = float(student_test(column).p_value[0])
    p_sign = float(sign_test(column).p_value[0])
    if test == "t":
        value, low, high = mean, low_t, high_t
    else:
        value, low, high = wins_preference(losses, ties, wins, level)
    return PairTest(
        losses, wins, ties, value, low, high, p_sign, mean, deviation, low_t, high_t, p_t
    )


def wins_preference(losses: int, ties: int, wins: int, level: float) -> tuple[float, float, float]:
    """(wins + ties / 2) / all - 1/2, with the interval of the exact sign test.

    It is (decisive / all) (share - 1/2) of the share of wins among decisive units, whose interval
    is that of Clopper and Pearson (Biometrika 26, 1934).
    """
    from scipy.stats import beta

    total, decisive = losses + ties + wins, losses + wins
    if not total:
        return math.nan, math.nan, math.nan
    value = (wins + ties / 2) / total - 0.5
    if not decisive:
        return value, math.nan, math.nan
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, wins, losses + 1)) if wins else 0.0
    high = float(beta.ppf(1 - tail, wins + 1, losses)) if losses else 1.0
    scale = decisive / total
    return value, scale * (low - 0.5), scale * (high - 0.5)


def needed_units(win_rate: float, level: float = 0.95, power: float = 0.8) -> int | None:
    """Units with a winner that the sign test needs; None at a rate of one half.

    ((z(1 - alpha/2) / 2 + z(power) sqrt(p (1 - p))) / (p - 1/2))², the normal approximation.

    >>> [needed_units(rate) for rate in (0.51, 0.52, 0.55, 0.6)]
    [19620, 4904, 783, 194]
    """
    from scipy.special import ndtri

    if win_rate == 0.5 or not 0 <= win_rate <= 1:
        return None
    deviation = math.sqrt(win_rate * (1 - win_rate))
    z_sum = float(ndtri((1 + level) / 2)) / 2 + float(ndtri(power)) * deviation
    return math.ceil((z_sum / (win_rate - 0.5)) ** 2)


def needed_credits(
    mean: float, deviation: float, level: float = 0.95, power: float = 0.8
) -> int | None:
    """Units that the t-test of credits needs, ((z(1 - alpha/2) + z(power)) deviation / mean)²."""
    from scipy.special import ndtri

    if not mean or not math.isfinite(deviation):
        return None
    z_sum = float(ndtri((1 + level) / 2)) + float(ndtri(power))
    return math.ceil((z_sum * deviation / mean) ** 2)
