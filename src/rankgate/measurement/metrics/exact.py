"""Exact sums of floats, independent of order and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNIT = 1074 + 53  # a sum is a whole number of 2^-1127: that of no float is finer
_HALF = 26
_LOW = (1 << _HALF) - 1


def exact_sum(values: NDArray[np.float64]) -> int:
    """The sum of finite values as a whole number of units; such sums add up exactly.

    >>> one, two = (exact_sum(np.array(each)) for each in ([0.1, 0.2], [0.3]))
    >>> nearest_float(one + two) == nearest_float(two + one) == 0.6
    True
    """
    fraction, exponent = np.frexp(values)
    integers = np.ldexp(fraction, 53).astype(np.int64)  # value = whole · 2^(exponent − 53)
    total = 0
    for power in np.unique(exponent).tolist():
        same_exponent = integers[exponent == power]
        high, low = (
            int((same_exponent >> _HALF).sum()),
            int((same_exponent & _LOW).sum()),
        )  # neither overflows
        total += ((high << _HALF) + low) << (power - 53 + _UNIT)
    return total


def nearest_float(total: int) -> float:
    """The float nearest to a sum.

    >>> nearest_float(exact_sum(np.array([1e16, 1.0, -1e16])))
    1.0
    """
    return total / (1 << _UNIT)


@dataclass(frozen=True)
class ExactMean:
    """A mean over values that come in batches: two of them add up to the same, to the bit.

    Attributes:
        total: the sum of the values, each by its weight, in units.
        weight: the sum of the weights, in units.
        undefined: how many values are not finite; they make the sum undefined.
    """

    total: int = 0
    weight: int = 0
    undefined: int = 0

    @classmethod
    def of(
        cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> ExactMean:
        """The mean of values that have weights, or all the same.

        Args:
            values: ``(n,)``.
            weights: ``(n,)``.
        """
        is_finite = np.isfinite(values)
        all_weights = np.ones(len(values)) if weights is None else weights
        weighted_values = values if weights is None else values * weights
        undefined = len(values) - int(np.count_nonzero(is_finite))
        return cls(exact_sum(weighted_values[is_finite]), exact_sum(all_weights), undefined)

    def __add__(self, other: ExactMean) -> ExactMean:
        """The mean over both."""
        return ExactMean(
            self.total + other.total, self.weight + other.weight, self.undefined + other.undefined
        )

    @property
    def sum(self) -> float:
        """The sum of the values; NaN where one is not finite."""
        return float("nan") if self.undefined else nearest_float(self.total)

    @property
    def count(self) -> float:
        """The sum of the weights: how many values, where all weigh the same."""
        return nearest_float(self.weight)

    @property
    def value(self) -> float:
        """The mean; NaN of nothing."""
        return self.sum / self.count if self.weight else float("nan")
