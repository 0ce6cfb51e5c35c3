"""Metrics on lists that come in batches, on several machines, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.errors import UsageError
from rankgate.metrics.exact import ExactMean
from rankgate.metrics.lists.listed import Listed, Sums

if TYPE_CHECKING:
    from rankgate.metrics.lists.declare import ListMetric

Part = Sums | tuple[ExactMean, ...]


@dataclass(eq=False)
class ListAccumulator:
    """What batches of lists add up to: the same bits in any order, since all sums are exact.

    Attributes:
        metrics: what is computed.
        parts: for each metric what is known so far; None before the first batch.

    >>> from rankgate.metrics.lists import Coverage
    >>> answer = ListAccumulator((Coverage,))
    >>> answer.update(Listed(np.array([[0, 1]]), 4))
    >>> answer.merge(answer)
    >>> answer.result()
    {'Coverage': 0.5}
    """

    metrics: Sequence[ListMetric]
    parts: list[Part] | None = None

    def update(self, listed: Listed) -> None:
        """Add a batch of lists; every batch has the same catalogue.

        Raises:
            UsageError: something is needed that is not there.
        """
        counted: dict[object, Sums] = {}
        fresh: list[Part] = []
        for metric in self.metrics:
            if metric.merge == "items":
                if metric.counted not in counted:
                    counted[metric.counted] = metric.sums(listed)
                fresh.append(counted[metric.counted])
                continue
            values = metric.values(listed)
            if metric.merge == "ratio":
                fresh.append(tuple(ExactMean.of(column) for column in values.T))
            else:
                fresh.append((ExactMean.of(values[~np.isnan(values)]),))
        self._add(fresh)

    def merge(self, other: ListAccumulator) -> None:
        """Add what another accumulator of the same metrics has seen.

        Raises:
            UsageError: it is of other metrics.
        """
        if list(map(str, self.metrics)) != list(map(str, other.metrics)):
            raise UsageError(
                "accumulators of other metrics; merge those of the same.",
                code="accumulators-differ",
            )
        if other.parts is not None:
            self._add(other.parts)

    def result(self) -> dict[str, float]:
        """The number of each metric; NaN where nothing was seen that has one."""
        if self.parts is None:
            return {str(metric): float("nan") for metric in self.metrics}
        return {
            str(metric): _number(metric, part)
            for metric, part in zip(self.metrics, self.parts, strict=True)
        }

    def _add(self, fresh: list[Part]) -> None:
        if self.parts is None:
            self.parts = list(fresh)
        else:
            self.parts = [add_parts(*each) for each in zip(self.parts, fresh, strict=True)]


def add_parts(one: Part, other: Part) -> Part:
    """What two batches add up to."""
    if isinstance(one, Sums) and isinstance(other, Sums):
        return one + other
    assert not isinstance(one, Sums)
    assert not isinstance(other, Sums)
    return tuple(mine + more for mine, more in zip(one, other, strict=True))


def _number(metric: ListMetric, part: Part) -> float:
    """The number that all batches make."""
    if isinstance(part, Sums):
        return metric.of_sums(part)
    if metric.merge == "mean":
        return part[0].value
    return metric.of_sums(np.array([each.sum for each in part]))
