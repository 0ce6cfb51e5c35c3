"""What numbers on lists are made of, for batches on several machines, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.lists.listed import Sums

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Floats

Part: TypeAlias = Sums | tuple[ExactMean, ...]
"""What a batch of lists adds to a metric: the same bits in any order, since all sums are exact."""


def part_of(metric: ListMetric, found: Sums | Floats) -> Part:
    """What a batch adds to a metric.

    Args:
        metric: on lists.
        found: its values, terms or sums, as of `ListMetric.number`.
    """
    if isinstance(found, Sums):
        return found
    if metric.merge == "ratio":
        return tuple(ExactMean.of(column) for column in found.T)
    return (ExactMean.of(found[~np.isnan(found)]),)


def add_parts(one: Part, other: Part) -> Part:
    """What two batches add up to."""
    if isinstance(one, Sums) and isinstance(other, Sums):
        return one + other
    assert not isinstance(one, Sums)
    assert not isinstance(other, Sums)
    return tuple(mine + more for mine, more in zip(one, other, strict=True))


def number_of(metric: ListMetric, part: Part) -> float:
    """The number that all batches make."""
    if isinstance(part, Sums):
        return metric.of_sums(part)
    if metric.merge == "mean":
        return part[0].value
    return metric.of_sums(np.array([each.sum for each in part]))
