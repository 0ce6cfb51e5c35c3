"""Metrics on lists that come in batches, on several machines, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgate.errors import UsageError
from rankgate.metrics.lists.listed import Floats, Listed, Sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.metrics.lists.declare import ListMetric

Part = Sums | Floats


@dataclass(eq=False)
class Accumulator:
    """What batches of lists add up to; merging in any order gives what one pass gives.

    Sums of whole numbers are exact, others are so to rounding.

    Attributes:
        metrics: what is computed.
        parts: for each metric what is known so far; None before the first batch.

    >>> from rankgate.metrics.lists import Coverage
    >>> told = Accumulator((Coverage,))
    >>> told.update(Listed(np.array([[0, 1]]), 4))
    >>> told.merge(told)
    >>> told.result()
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
                fresh.append(values.sum(axis=0))
            else:
                known = values[~np.isnan(values)]
                fresh.append(np.array([known.sum(), len(known)], np.float64))
        self._add(fresh)

    def merge(self, other: Accumulator) -> None:
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
        found = {}
        for at, metric in enumerate(self.metrics):
            part = self.parts[at] if self.parts else np.zeros(2)
            if self.parts is None or (metric.merge == "mean" and not _count(part)):
                found[str(metric)] = float("nan")
            elif metric.merge == "mean":
                assert not isinstance(part, Sums)  # noqa: S101 - as made above
                found[str(metric)] = float(part[0] / part[1])
            else:
                found[str(metric)] = metric.of_sums(part)
        return found

    def _add(self, fresh: list[Part]) -> None:
        if self.parts is None:
            self.parts = list(fresh)
        else:
            self.parts = [mine + more for mine, more in zip(self.parts, fresh, strict=True)]  # type: ignore[operator]


def _count(part: Part) -> float:
    return 0.0 if isinstance(part, Sums) else float(part[1])
