"""How well offline values predict online ones, over few units with known errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_STEPS = 400  # of the search for a threshold


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
