"""Numbers of an arm that tests of means need: units, means and covariances of a few columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    import polars as pl

UNIT_COLUMNS = ("value", "per", "before", "before_per")
"""The columns of a unit: numerator and denominator, and both before the experiment."""


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
    def ratio(self) -> float:
        """The sum of values over that of denominators; the mean where there are none."""
        below = self.mean.get("per", 1.0)
        return self.mean["value"] / below if below else np.nan

    @property
    def earlier(self) -> float:
        """The same from before the experiment; 0 without a covariate."""
        if "before" not in self.mean:
            return 0.0
        below = self.mean.get("before_per", 1.0)
        return self.mean["before"] / below if below else np.nan

    @property
    def gradients(self) -> tuple[dict[str, float], dict[str, float]]:
        """The factors of columns whose sum is a unit's share in `ratio`, and in `earlier`.

        (x − R y) / mean of y, by the delta method (Deng, Knoblich and Lu, KDD 2018).
        """
        gradients: list[dict[str, float]] = []
        for numerator, denominator, ratio in (
            ("value", "per", self.ratio),
            ("before", "before_per", self.earlier),
        ):
            if numerator not in self.mean:
                gradients.append({})
            elif denominator not in self.mean:
                gradients.append({numerator: 1.0})
            else:
                scale = 1 / self.mean[denominator] if self.mean[denominator] else np.nan
                gradients.append({numerator: scale, denominator: -ratio * scale})
        return gradients[0], gradients[1]

    def covariance(
        self, left_factors: Mapping[str, float], right_factors: Mapping[str, float]
    ) -> float:
        """The covariance, among units, of two sums of columns with factors."""
        return sum(
            first * second * self.cov[min(a, b), max(a, b)]
            for a, first in left_factors.items()
            for b, second in right_factors.items()
        )

    @property
    def se(self) -> float:
        """The standard error of `ratio`, by the delta method.

        √((s_x² − 2 R s_xy + R² s_y²) / n) / mean of y
        """
        if self.n < 2:
            return np.nan
        value, _ = self.gradients
        return float(np.sqrt(max(self.covariance(value, value), 0.0) / self.n))


def compute_moments(units: pl.DataFrame) -> Moments:
    """The moments of units, of those of `UNIT_COLUMNS` that the table has."""
    names = [name for name in UNIT_COLUMNS if name in units.columns]
    n = len(units)
    if not n:
        return Moments(0, dict.fromkeys(names, np.nan), {})
    rows = units.select(names).to_numpy().astype(float)
    middle = rows.mean(axis=0)
    centred = rows - middle
    covariances = centred.T @ centred / max(n - 1, 1)
    mean = dict(zip(names, middle.tolist(), strict=True))
    cov = {
        tuple(sorted((a, b))): float(covariances[i, j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
    }
    binary = "per" not in names and bool(np.isin(rows[:, 0], (0.0, 1.0)).all())
    return Moments(n, mean, cov, binary)  # type: ignore[arg-type]
