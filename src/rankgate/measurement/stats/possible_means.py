"""Check if a mean of n values is possible, if each value is one of a few.

A function that cannot be exact accepts more means: a mean that is not possible here is never
possible.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import ceil, floor, lcm, log2

_EXACT_RANKS = 10
_MOST = 400  # values for which sums are listed; with more values only the ends are exact
_SLACK = 1e-9


def multiples_possible(step: Fraction, n: int, low: float, high: float) -> bool:
    """True if a mean within [low, high] is possible for n multiples of a step between 0 and 1.

    A sum of n such values is a multiple of the step, so that a mean is a multiple of step / n.

    >>> multiples_possible(Fraction(1, 10), 50, 0.4515, 0.4525)  # 226 of 500 documents
    True
    >>> multiples_possible(Fraction(1, 10), 50, 0.4525, 0.4535)
    False
    """
    unit = float(step) / n
    highest = floor(min(high, 1.0) / unit + _SLACK)
    return high >= -_SLACK and low <= 1 + _SLACK and highest * unit >= low - _SLACK


def ends_possible(smallest: float, gap: float, n: int, low: float, high: float) -> bool:
    """True if a mean within [low, high] is possible for n values that are 0, 1, or between.

    Args:
        smallest: the smallest possible value above 0.
        gap: 1 − gap is the largest possible value below 1.
        n: the number of values.
        low: the lowest mean.
        high: the highest mean.

    >>> ends_possible(0.1, 0.1, 5, 0.985, 0.995)  # one value of 0.9 makes it 0.98
    False
    """
    first, last = n * low - _SLACK, n * high + _SLACK
    top = max(1 - gap, smallest)
    for ones in range(min(n, floor(last)) + 1):
        other_count = n - ones
        lowest_count = max(0, -floor(-(first - ones) / top)) if top > 0 else 0
        highest_count = other_count if smallest <= 0 else min(other_count, floor((last - ones) / smallest))
        if lowest_count <= highest_count:
            return True
    return False


def reciprocal_ranks_possible(depth: int | None, n: int, low: float, high: float) -> bool:
    """True if a mean within [low, high] is possible for n reciprocal ranks down to a depth.

    Sums of 1, 1/2, …, 1/10 are listed as multiples of 1/2520; reciprocals of deeper ranks may be
    any number between 1/depth and 1/11. For more than 400 values the sums near 0 and n are listed,
    and all sums between are accepted.

    >>> reciprocal_ranks_possible(10, 2, 0.74, 0.76)  # 1 and 1/2
    True
    >>> reciprocal_ranks_possible(10, 2, 0.76, 0.99)
    False
    """
    unit = lcm(*range(1, min(depth or _EXACT_RANKS, _EXACT_RANKS) + 1))
    first, last = ceil((n * low - _SLACK) * unit), floor((n * high + _SLACK) * unit)
    if depth is None or depth > _EXACT_RANKS:  # sums between two multiples are possible
        first, last = floor((n * low - _SLACK) * unit), ceil((n * high + _SLACK) * unit)
    if last < max(first, 0) or first > n * unit:
        return False
    count = min(n, _MOST)
    if n > count:
        low_end = count * unit // (depth or 10**9)  # no more values make such sums
        high_start = n * unit - count * unit // 2
        if last > low_end and first < high_start:
            return True
        if first >= high_start:
            first, last = first - (n - count) * unit, last - (n - count) * unit
    first = max(first, 0)
    return bool((_sums(depth, count) >> first) & ((1 << (last - first + 1)) - 1))


@cache
def _sums(depth: int | None, n: int) -> int:
    """The sums of n reciprocal ranks, with a bit for each multiple of 1/lcm(1, …, 10)."""
    exact = min(depth or _EXACT_RANKS, _EXACT_RANKS)
    unit = lcm(*range(1, exact + 1))
    shifts = [0, *(unit // rank for rank in range(1, exact + 1))]
    deep = depth is None or depth > _EXACT_RANKS
    sums = 1
    for _ in range(n):
        next_sums = 0
        for shift in shifts:
            next_sums |= sums << shift
        if deep:
            smallest = unit // depth if depth else 0
            next_sums |= _spread_bits(sums, unit // (_EXACT_RANKS + 1) + 1 - smallest) << smallest
        sums = next_sums
    return sums


def _spread_bits(bits: int, places: int) -> int:
    """Spread every set bit to a number of positions above it."""
    covered = 0
    while covered < places:
        step = min(covered + 1, places - covered)
        bits |= bits << step
        covered += step
    return bits


def discounted_gap(grades: int, depth: int, relevant: int | None) -> tuple[float, float]:
    """The smallest distances of nDCG from 0 and from 1 other than 0, with linear gains.

    The smallest value has one document of grade 1 at the last rank; the largest below 1 differs
    from the ideal list by one grade at the last ranks. Gains of 2^g − 1 are between, as no gain
    is smaller than 1 and none larger.

    Args:
        grades: the highest grade.
        depth: the cutoff.
        relevant: the number of relevant documents of each query, if known.
    """
    gain = float(2**grades - 1)
    discounts = [1 / log2(rank + 1) for rank in range(1, depth + 2)]
    ideal = gain * sum(discounts[: min(depth, relevant or depth)])
    last = min(discounts[rank] - discounts[rank + 1] for rank in range(depth))
    return discounts[depth - 1] / ideal, last / ideal
