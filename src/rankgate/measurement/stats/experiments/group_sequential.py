"""Bounds of tests at a few planned looks.

Shapes: K looks. The statistics at information t(1) < … < t(K) = 1 are those of a Brownian motion,
z(k) = B(t(k)) / √t(k); the density of B between its bounds is carried from look to look (Armitage,
McPherson and Rowe 1969) on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Spending = Literal["obrien-fleming", "pocock"]

_GRID = 401  # odd, for Simpson's rule
_FAR = 8.0  # standard deviations


def spent_alpha(times: Floats, alpha: float, spending: Spending | float) -> Floats:
    """(K,) how much of alpha is spent at each time.

    Lan and DeMets (1983): O'Brien-Fleming type, for each side 2 − 2Φ(z(1−alpha/4)/√t); Pocock
    type alpha log(1 + (e − 1) t); or the power alpha t**rho for a number rho.
    """
    from scipy.special import ndtr, ndtri

    if spending == "obrien-fleming":
        return np.asarray(4 * ndtr(-ndtri(1 - alpha / 4) / np.sqrt(times)))
    if spending == "pocock":
        return np.asarray(alpha * np.log1p((np.e - 1) * times))
    return np.asarray(alpha * times ** float(spending))


def spending_bounds(
    times: Sequence[float], alpha: float = 0.05, spending: Spending | float = "obrien-fleming"
) -> Floats:
    """(K,) two-sided bounds of z: each look rejects with the chance that it may spend.

    Args:
        times: information at the looks, ascending, the last one 1.
        alpha: the chance of a false rejection at any look.
        spending: the function, or the rho of a power.
    """
    information_times = np.asarray(times, float)
    share = np.diff(spent_alpha(information_times, alpha, spending), prepend=0.0)
    process = _BrownianProcess()
    bounds = []
    for time, alpha_step in zip(information_times, share, strict=True):
        bounds.append(process.bound(time, alpha_step))
        process = process.step(time, bounds[-1])
    return np.asarray(bounds)


def constant_bounds(
    looks: int, alpha: float = 0.05, shape: Literal["pocock", "obrien-fleming"] = "pocock"
) -> float:
    """The constant C of Pocock's bounds z = C, or of O'Brien and Fleming's z(k) = C √(K/k)."""

    def bounds(constant: float) -> Floats:
        order = np.arange(1, looks + 1)
        return constant * (np.sqrt(looks / order) if shape == "obrien-fleming" else np.ones(looks))

    return _root(lambda c: false_rejections(bounds(c)) - alpha)


def false_rejections(bounds: Sequence[float] | Floats) -> float:
    """The chance that a test without effect rejects at one of equally spaced looks."""
    looks = len(bounds)
    process, total = _BrownianProcess(), 0.0
    for look, bound in enumerate(bounds, 1):
        total += process.outside(look / looks, float(bound))
        process = process.step(look / looks, float(bound))
    return total


class _BrownianProcess:
    """The density of the motion among the paths that no look has rejected."""

    def __init__(
        self, time: float = 0.0, points: Floats | None = None, mass: Floats | None = None
    ) -> None:
        self.time = time
        self.at = np.zeros(1) if points is None else points
        self.mass = np.ones(1) if mass is None else mass  # density times the rule's weight

    def outside(self, time: float, bound: float) -> float:
        """The chance to be outside the bounds of z at a time."""
        from scipy.special import ndtr

        edge, sd = bound * np.sqrt(time), np.sqrt(time - self.time)
        tails = ndtr((-edge - self.at) / sd) + ndtr((self.at - edge) / sd)
        return float(self.mass @ tails)

    def bound(self, time: float, chance: float) -> float:
        """The bound of z that is passed with a chance."""
        return _root(lambda c: self.outside(time, c) - chance)

    def step(self, time: float, bound: float) -> _BrownianProcess:
        """The motion at a time, inside the bounds of z."""
        edge = min(bound, _FAR) * np.sqrt(time)
        grid = np.linspace(-edge, edge, _GRID)
        sd = np.sqrt(time - self.time)
        steps = (grid[:, None] - self.at[None, :]) / sd
        density = np.exp(-(steps**2) / 2) @ self.mass / (sd * np.sqrt(2 * np.pi))
        weights = np.ones(_GRID)
        weights[1:-1:2], weights[2:-1:2] = 4, 2
        return _BrownianProcess(time, grid, density * weights * (grid[1] - grid[0]) / 3)


def _root(function: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, 0.5, _FAR, xtol=1e-10))
