"""Numbers of an arm that tests of means need: units, means and covariances of a few columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rankgate.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl

COLUMNS = ("value", "per", "before", "before_per")
"""What is known of a unit: numerator and denominator, and both before the experiment."""


@dataclass(frozen=True)
class Moments:
    """Sums over the units of one arm.

    Attributes:
        n: units.
        mean: by column.
        cov: by two columns, with n − 1.
        binary: whether every value is 0 or 1, and every unit has one.
    """

    n: int
    mean: Mapping[str, float]
    cov: Mapping[tuple[str, str], float]
    binary: bool = False

    @property
    def var(self) -> Mapping[str, float]:
        """The variance of each column."""
        return {a: value for (a, b), value in self.cov.items() if a == b}

    @property
    def cross(self) -> Mapping[tuple[str, str], float]:
        """The covariances of two different columns."""
        return {pair: value for pair, value in self.cov.items() if pair[0] != pair[1]}

    @property
    def ratio(self) -> float:
        """The sum of values over that of denominators; the mean where there are none."""
        below = self.mean.get("per", 1.0)
        return self.mean["value"] / below if below else np.nan

    @property
    def se(self) -> float:
        """The standard error of `ratio`, by the delta method (Deng, Knoblich and Lu, KDD 2018).

        √((s_x² − 2 R s_xy + R² s_y²) / n) / mean of y
        """
        if self.n < 2:
            return np.nan
        variance = self.cov["value", "value"]
        if "per" in self.mean:
            r, below = self.ratio, self.mean["per"]
            variance += -2 * r * self.cov["per", "value"] + r**2 * self.cov["per", "per"]
            variance /= below**2
        return float(np.sqrt(max(variance, 0.0) / self.n))


def moments(units: pl.DataFrame) -> Moments:
    """The moments of units, of those of `COLUMNS` that the table has."""
    names = [each for each in COLUMNS if each in units.columns]
    n = len(units)
    if not n:
        return Moments(0, dict.fromkeys(names, np.nan), {})
    rows = units.select(names).to_numpy().astype(float)
    middle = rows.mean(axis=0)
    centred = rows - middle
    spread = centred.T @ centred / max(n - 1, 1)
    mean = dict(zip(names, middle.tolist(), strict=True))
    cov = {
        tuple(sorted((a, b))): float(spread[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    }
    binary = "per" not in names and bool(np.isin(rows[:, 0], (0.0, 1.0)).all())
    return Moments(n, mean, cov, binary)  # type: ignore[arg-type]
