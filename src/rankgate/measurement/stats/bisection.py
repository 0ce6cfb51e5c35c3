"""The root of a rising function by bisection.

It takes fifty to seventy calls, which are less time than the import of `scipy.optimize`.
"""

from __future__ import annotations

from collections.abc import Callable


def root_of_rising(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of a rising function between low and high, to the last bit; an end if it has none.

    Args:
        function: a function that does not fall between low and high.
        low: the lower end of the interval.
        high: the upper end.
    """
    while low < (middle := (low + high) / 2) < high:
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return high
