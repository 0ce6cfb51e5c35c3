"""Some of the times of a log by their rank, where all of them would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POINTS = 256  # times of some users


@dataclass(frozen=True)
class TimeOrder:
    """Every ``step``-th time of some rows, in rising order.

    Attributes:
        rows: the number of times.
        step: the distance between two points, in times; the first point is the first time.
        points: these times.
    """

    rows: int
    step: int
    points: tuple[int, ...]

    @classmethod
    def of(cls, times: NDArray[np.int64]) -> TimeOrder:
        """The order of some times."""
        step = max(len(times) // _POINTS, 1)
        return cls(len(times), step, tuple(np.sort(times)[::step].tolist()))

    def to_list(self) -> list[Any]:
        """Plain values, for the driver."""
        return [self.rows, self.step, self.points]

    def before(self, values: NDArray[np.int64]) -> tuple[Any, Any]:
        """Bounds of the number of times less than each value: at least, and at most."""
        less = np.searchsorted(np.array(self.points), values)
        lower_bound = np.maximum((less - 1) * self.step + 1, 0)
        upper_bound = np.where(less == len(self.points), self.rows, less * self.step)
        return lower_bound, upper_bound


def time_range_at(orders: Sequence[TimeOrder], rank: int) -> tuple[int, int, int]:
    """The times between which the time at a rank lies, and the number of times between them.

    Args:
        orders: of all times, with at least one time.
        rank: in ascending order, from 0.

    Returns:
        the lowest and the highest time that it can be, and the largest number of times there.

    >>> orders = [TimeOrder(4, 2, (10, 30)), TimeOrder(2, 1, (25, 50))]  # 10 20 30 40, 25 50
    >>> time_range_at(orders, 2)
    (25, 49, 4)
    """
    values = np.unique([time for order in orders for time in order.points])
    counts = [order.before(values) for order in orders]
    lower_bounds = np.sum([low for low, _ in counts], axis=0)
    upper_bounds = np.sum([high for _, high in counts], axis=0)
    low = int(np.flatnonzero(upper_bounds <= rank)[-1])
    ranks_above = np.flatnonzero(lower_bounds > rank)
    if len(ranks_above):
        return (
            int(values[low]),
            int(values[ranks_above[0]]) - 1,
            int(upper_bounds[ranks_above[0]] - lower_bounds[low]),
        )
    row_count = sum(order.rows for order in orders)
    return int(values[low]), np.iinfo(np.int64).max, row_count - int(lower_bounds[low])
