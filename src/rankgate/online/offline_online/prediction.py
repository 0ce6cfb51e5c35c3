"""How well offline values predict online ones, over few units with known errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_STEPS = 400  # of the search for a threshold
_DRAWS = 4000  # of a covariance
_TAILS = 1.5  # times the excess of fourth moments; validity/studies/offline_agreement.py


@dataclass(frozen=True)
class Line:
    """Online values as a line of offline ones, with what the line does not explain.

    online = intercept + slope offline + noise, noise of variance ``scatter`` and the measurement's.

    Attributes:
        intercept, slope: by weighted least squares, weights 1 / (scatter + error²).
        scatter: variance of true online values around the line, by moments; at least 0.
        covariance: (2, 2) of intercept and slope.
    """

    intercept: float
    slope: float
    scatter: float
    covariance: Floats

    def at(self, offline: Floats) -> tuple[Floats, Floats]:
        """The expected true online value and its standard deviation."""
        design = np.stack([np.ones_like(offline), offline], axis=-1)
        spread = self.scatter + np.einsum("...i,ij,...j->...", design, self.covariance, design)
        return self.intercept + self.slope * offline, np.sqrt(np.maximum(spread, 0))


def fit(offline: Floats, online: Floats, error: Floats) -> Line:
    """Fit a line; needs two different offline values.

    Args:
        offline: (n,).
        online: (n,).
        error: (n,) standard errors of the online values.
    """
    design = np.stack([np.ones_like(offline), offline], axis=1)
    plain, *_ = np.linalg.lstsq(design, online, rcond=None)
    left = online - design @ plain
    freedom = max(len(online) - 2, 1)
    scatter = max(float(left @ left) / freedom - float((error**2).mean()), 0.0)
    weight = 1 / (scatter + error**2)
    covariance = np.asarray(np.linalg.pinv(design.T @ (design * weight[:, None])), np.float64)
    found = covariance @ (design.T @ (weight * online))
    return Line(float(found[0]), float(found[1]), scatter, covariance)


def threshold(line: Line, chance: float, low: float, high: float) -> float | None:
    """The least offline value at which the true online value is above 0 with this chance.

    P = Phi((intercept + slope x) / sd(x)); sought from low to high, a width more on both sides;
    None where it is nowhere so high.
    """
    from scipy.special import ndtri

    width = max(high - low, 1e-12)
    places = np.linspace(low - width, high + width, 3 * _STEPS)
    mean, spread = line.at(places)
    enough = mean >= float(ndtri(chance)) * np.maximum(spread, 1e-300)
    if line.slope <= 0 or not enough.any():
        return None
    return float(places[enough.argmax()])


def left_out(offline: Floats, online: Floats, error: Floats) -> tuple[Floats, Floats]:
    """(n,) each online value as the others predict it: by the line, and by their mean alone."""
    line, mean = np.full(len(online), np.nan), np.full(len(online), np.nan)
    for at in range(len(online)):
        others = np.arange(len(online)) != at
        weight = 1 / error[others] ** 2
        mean[at] = float(weight @ online[others] / weight.sum())
        if np.ptp(offline[others]) > 0:
            found = fit(offline[others], online[others], error[others])
            line[at] = found.intercept + found.slope * offline[at]
    return line, mean


def skill(online: Floats, predicted: Floats, mean: Floats) -> float:
    """1 - MSE of left-out predictions / MSE of the mean of the others; 1 is perfect, 0 useless."""
    base = float(((online - mean) ** 2).sum())
    return 1 - float(((online - predicted) ** 2).sum()) / base if base > 0 else float("nan")


def pearson(one: Floats, other: Floats) -> Floats:
    """(...) Pearson's correlation along the last axis; NaN without spread."""
    a = one - one.mean(axis=-1, keepdims=True)
    b = other - other.mean(axis=-1, keepdims=True)
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(size > 0, (a * b).sum(axis=-1) / size, np.nan))


def spearman(one: Floats, other: Floats) -> Floats:
    """(...) Spearman's correlation along the last axis, ties with mean ranks."""
    from scipy.stats import rankdata

    return pearson(
        np.asarray(rankdata(one, axis=-1), np.float64),
        np.asarray(rankdata(other, axis=-1), np.float64),
    )


def reliability(values: Floats, error: Floats) -> Floats:
    """(...) share of the spread that is not error of measurement, 1 - mean error² / variance.

    Errors that are not known (NaN) count as 0; never below 0.
    """
    variance = values.var(axis=-1, ddof=1)
    noise = np.nan_to_num(error**2).mean(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(variance > 0, np.maximum(1 - noise / variance, 0.0), np.nan))


def corrected(correlation: Floats, one: Floats, other: Floats) -> Floats:
    """Correlation of the true values, r / sqrt(reliability one x reliability other).

    Spearman 1904, at most 1 in size; NaN where a reliability is 0: all spread is error then.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        found = correlation / np.sqrt(one * other)
    return np.asarray(np.where(one * other > 0, np.clip(found, -1, 1), np.nan))


def corrected_interval(
    one: Floats, other: Floats, one_error: Floats, other_error: Floats, level: float, seed: int
) -> tuple[float, float]:
    """Give the ends of an interval of the correlation of the true values.

    Covariances Σ that the sample S allows are drawn as Σ = L T⁻¹ T⁻ᵀ Lᵀ with S f = L Lᵀ and T Tᵀ
    Wishart of f degrees of freedom (generalized pivotal quantities, Weerahandi 1993; for
    correlations Krishnamoorthy and Xia 2007); the known variances of measurement are subtracted
    from each, and the ends are quantiles of the correlations that remain. f is n - 1, divided by
    1 + 1.5 κ with Mardia's kurtosis b / 8 - 1 = κ, at least 0: covariances of values with long
    tails vary more than those of normal ones.

    Args:
        one: (n,) measured values.
        other: (n,) measured values of the other variable.
        one_error: (n,) standard errors of ``one``; NaN counts as 0.
        other_error: (n,) those of ``other``.
        level: of the interval.
        seed: of the draws.

    Returns:
        The ends; NaN where 1 - level or more of the draws leave no true spread: the values then
        allow every correlation.
    """
    random = np.random.default_rng(seed)
    n = len(one)
    r = float(pearson(one, other))
    freedom = max((n - 1) / (1 + _TAILS * _excess_kurtosis(one, other)), 2.0)
    if n < 3 or not np.isfinite(r):
        return float("nan"), float("nan")
    scale_one, scale_other = (
        np.sqrt(freedom * values.var(ddof=1)) for values in (one, other)
    )  # fmt: skip
    first = 1 / np.sqrt(random.chisquare(freedom, _DRAWS))
    second = 1 / np.sqrt(random.chisquare(freedom - 1, _DRAWS))
    apart = np.sqrt(max(1 - r**2, 0.0)) * second
    slope = scale_other * (r - apart * random.normal(size=_DRAWS)) * first
    spread = (scale_one * first) ** 2 - float(np.nan_to_num(one_error**2).mean())
    other_spread = slope**2 + (scale_other * apart) ** 2
    other_spread -= float(np.nan_to_num(other_error**2).mean())
    without = (spread <= 0) | (other_spread <= 0)
    if without.mean() >= 1 - level:
        return float("nan"), float("nan")
    draws = scale_one * first * slope / np.sqrt(np.where(without, 1.0, spread * other_spread))
    # without a true spread every correlation is possible: half of these draws at either end
    ends = np.where(np.arange(_DRAWS) % 2, 1.0, -1.0)
    tail = (1 - level) / 2
    low, high = np.quantile(np.where(without, ends, np.clip(draws, -1, 1)), [tail, 1 - tail])
    return float(low), float(high)


def _excess_kurtosis(one: Floats, other: Floats) -> float:
    """Mardia's (1970) kurtosis of two variables over that of normal ones, less 1; at least 0."""
    n = len(one)
    values = np.stack([one - one.mean(), other - other.mean()])
    inverse = np.linalg.pinv(values @ values.T / n)
    distance = np.einsum("in,ij,jn->n", values, inverse, values)
    return max(float((distance**2).mean()) / 8 * (n + 1) / (n - 1) - 1, 0.0)
