"""Partial results of metrics on lists, for batches on several machines, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.lists.listed import Sums

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Floats

PartialResult: TypeAlias = Sums | tuple[ExactMean, ...]
"""The partial result of a batch of lists; exact sums give the same bits in any order."""


def partial_result(metric: ListMetric, values: Sums | Floats) -> PartialResult:
    """The partial result of a batch for a metric.

    Args:
        metric: on lists.
        values: its values, terms or sums, as of `ListMetric.number`.
    """
    if isinstance(values, Sums):
        return values
    if metric.merge == "ratio":
        return tuple(ExactMean.of(column) for column in values.T)
    return (ExactMean.of(values[~np.isnan(values)]),)


def merge_partials(first: PartialResult, second: PartialResult) -> PartialResult:
    """Merge the partial results of two batches."""
    if isinstance(first, Sums) and isinstance(second, Sums):
        return first + second
    assert not isinstance(first, Sums)
    assert not isinstance(second, Sums)
    return tuple(
        first_mean + second_mean for first_mean, second_mean in zip(first, second, strict=True)
    )


def final_value(metric: ListMetric, partial: PartialResult) -> float:
    """The value of the metric from the merged partial results."""
    if isinstance(partial, Sums):
        return metric.of_sums(partial)
    if metric.merge == "mean":
        return partial[0].value
    return metric.of_sums(np.array([mean.sum for mean in partial]))
