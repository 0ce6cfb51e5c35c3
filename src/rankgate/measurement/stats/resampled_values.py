"""The interval of a number that is not a mean, from resampled and left-out units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

Places = NDArray[np.int64]

GROUPS = 100
"""Groups of units that are left out, one after the other."""

_BLOCK = 1 << 22  # numbers in a block of weights
_LARGE = 1 << 23  # rows without a group: few blocks, because each block costs a pass over all rows


@dataclass(frozen=True)
class ResampledValues:
    """A number, or several, for other sets of units.

    Some numbers, such as the number of items that are shown, vary less in a bootstrap than from
    sample to sample, because a unit that is drawn twice adds nothing: half as much if most items
    are shown once. The jackknife does not underestimate on average (Efron and Stein 1981). So the
    bootstrap gives the shape, and the larger of both standard errors the width.

    Attributes:
        again: ``(…, B)``, the number for units drawn with replacement.
        without: ``(…, G)``, the number without one of G groups of units.
    """

    again: Floats
    without: Floats

    def __getitem__(self, index: int) -> ResampledValues:
        return ResampledValues(self.again[index], self.without[index])

    def __sub__(self, other: ResampledValues) -> ResampledValues:
        return ResampledValues(self.again - other.again, self.without - other.without)

    def __neg__(self) -> ResampledValues:
        return ResampledValues(-self.again, -self.without)

    def mean_of(self, rows: Sequence[int]) -> ResampledValues:
        """The mean of some numbers."""
        return ResampledValues(self.again[rows].mean(axis=0), self.without[rows].mean(axis=0))

    def widened(self, factor: float) -> ResampledValues:
        """The same numbers, their distances from their mean multiplied; NaN for a factor of NaN."""
        resampled, left_out = (
            values.mean() + (values - values.mean()) * factor for values in (self.again, self.without)
        )
        return ResampledValues(resampled, left_out)

    @property
    def error(self) -> float:
        """The standard error: the larger of those of the bootstrap and the jackknife.

        NaN if there are fewer than two units, or if some resamples have no number.
        """
        is_finite = np.isfinite(self.again).all() and np.isfinite(self.without).all()
        if not is_finite or min(self.again.size, self.without.size) < 2:  # no spread
            return float("nan")
        return max(float(self.again.std(ddof=1)), self._jackknife)

    def ends(self, value: float, level: float) -> tuple[float, float]:
        """An interval around a value; NaN if a resample has no number.

        The resamples' distances from their own mean, widened, are turned around the value (the
        basic bootstrap): resamples lie next to it, so that they are not around it as they are.

        >>> result = ResampledValues(np.array([3.0, 5.0, 4.0]), np.array([4.0, 4.1]))
        >>> result.ends(6, 0.9)
        (5.1, 6.9)
        """
        deviations = self._strayed()
        if np.isnan(value) or np.isnan(deviations).any():
            return np.nan, np.nan
        upper_deviation, lower_deviation = np.quantile(deviations, [(1 + level) / 2, (1 - level) / 2])
        return min(value, float(value - upper_deviation)), max(value, float(value - lower_deviation))

    def chance(self, value: float) -> float:
        """The two-sided p: the share of resamples that deviate at least by the value."""
        deviations = self._strayed()
        if np.isnan(value) or np.isnan(deviations).any():
            return np.nan
        is_beyond = np.abs(deviations) >= abs(value) * (1 - 1e-12)
        return float((is_beyond.sum() + 1) / (len(is_beyond) + 1))

    @property
    def _jackknife(self) -> float:
        """√( (G − 1)/G · Σ (θ₋g − mean)² ), with every group left out once."""
        count = len(self.without)
        return float(np.sqrt((count - 1) * self.without.var()))

    def _strayed(self) -> Floats:
        if np.isnan(self.error):
            return np.array([np.nan])
        deviations = self.again - self.again.mean()
        sd = float(self.again.std(ddof=1))
        return np.asarray(deviations * (self.error / sd) if sd else deviations, np.float64)


def draw_counts(units: int, samples: int, seed: int = 0) -> Iterator[Floats]:
    """The number of draws of each unit, with replacement, block by block, ``(units, block)``.

    Args:
        units: the number of units, and the number that a draw takes.
        samples: the number of draws.
        seed: the seed of the draws, which do not depend on the blocks.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _BLOCK // max(1, units))
    for begin in range(0, samples, step):
        block = [
            np.bincount(rng.integers(0, units, units), minlength=units)
            for _ in range(min(step, samples - begin))
        ]
        yield np.stack(block, axis=1).astype(np.float64)


def leave_out_weights(units: int, seed: int = 0) -> Iterator[Floats]:
    """Weights without each of `GROUPS` groups of units, block by block, ``(units, block)``.

    Few units are left out individually.

    >>> [weights.tolist() for weights in leave_out_weights(2)]
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    groups = min(units, GROUPS)
    group_of_unit = np.random.default_rng(seed).permutation(units) % max(1, groups)
    step = max(1, _LARGE // max(1, units))
    for begin in range(0, groups, step):
        yield np.asarray(group_of_unit[:, None] != np.arange(begin, min(begin + step, groups)), np.float64)


def weighted_cell_sums(
    cells: Places, lengths: Places, row_weights: Floats, weights: Floats, size: int
) -> Floats:
    """The sum of each cell for many weightings of the owners, ``(size, B)``.

    Args:
        cells: ``(n,)``, the cell of each row, by owner.
        lengths: ``(T,)``, the number of rows of each owner.
        row_weights: ``(n,)``, the weight of each row.
        weights: ``(T, B)``, the weight of each owner in each weighting.
        size: the number of cells.

    >>> cells, lengths = np.array([0, 1, 1]), np.array([2, 1])
    >>> weighted_cell_sums(cells, lengths, np.ones(3), np.array([[1.0, 2.0], [1.0, 0.0]]), 2)
    array([[1., 2.],
           [2., 2.]])
    """
    from scipy.sparse import csc_matrix

    starts = np.append(0, np.cumsum(lengths))
    rows = csc_matrix((row_weights, cells, starts), (size, len(weights)))
    return np.asarray(rows @ weights, np.float64)
