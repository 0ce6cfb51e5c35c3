"""Some of the times of a log by their place in the rising order, where all would be too many."""

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
        rows: how many times there are.
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
        """How many times are less than each value: at least, and at most."""
        less = np.searchsorted(np.array(self.points), values)
        least = np.maximum((less - 1) * self.step + 1, 0)
        most = np.where(less == len(self.points), self.rows, less * self.step)
        return least, most


def around(orders: Sequence[TimeOrder], place: int) -> tuple[int, int, int]:
    """The times between which the time at a place of the rising order lies, and how many there are.

    Args:
        orders: of all times, with at least one time.
        place: from 0 on.

    Returns:
        the lowest and the highest time that it can be, and how many times at most lie there.

    >>> orders = [TimeOrder(4, 2, (10, 30)), TimeOrder(2, 1, (25, 50))]  # 10 20 30 40, 25 50
    >>> around(orders, 2)
    (25, 49, 4)
    """
    values = np.unique([time for each in orders for time in each.points])
    counts = [each.before(values) for each in orders]
    least = np.sum([low for low, _ in counts], axis=0)
    most = np.sum([high for _, high in counts], axis=0)
    low = int(np.flatnonzero(most <= place)[-1])
    above = np.flatnonzero(least > place)
    if len(above):
        return int(values[low]), int(values[above[0]]) - 1, int(most[above[0]] - least[low])
    every = sum(each.rows for each in orders)
    return int(values[low]), np.iinfo(np.int64).max, every - int(least[low])
