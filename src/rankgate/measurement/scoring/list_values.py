"""What metrics on lists measure: blocks of lists, and values that merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import places
from rankgate.measurement.metrics.lists.accumulate import part_of
from rankgate.measurement.metrics.lists.listed import Sums
from rankgate.measurement.scoring.mean import NOTHING_RETRIEVED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.scores import Scores
    from rankgate.measurement.metrics.lists.accumulate import Part
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Floats, Listed


@dataclass(frozen=True, eq=False)
class ListBlock:
    """The lists of whole users, as metrics on lists see them.

    Attributes:
        listed: the lists, and what is known of items and users.
        users: ``(T,)``, whose lists they are; may be empty where only numbers are wanted.
    """

    listed: Listed
    users: pl.Series

    def measure(self, metrics: Mapping[str, ListMetric]) -> ListValues:
        """What some metrics measure on the lists; sums that several depend on are made once.

        Raises:
            UsageError: something is needed that is not there.
        """
        sums: dict[object, Sums] = {}
        found: dict[str, Sums | Floats] = {}
        for label, metric in metrics.items():
            if metric.merge != "items":
                found[label] = metric.values(self.listed)
                continue
            metric.refuse_lacking(self.listed)
            if metric.counted not in sums:
                sums[metric.counted] = metric.sums(self.listed)
            found[label] = sums[metric.counted]
        return ListValues(metrics, self.users, self.listed.lengths == 0, found)


@dataclass(frozen=True, eq=False)
class ListValues:
    """What metrics on lists measured; the users of two that are merged differ.

    Attributes:
        metrics: by label.
        users: ``(T,)``, as of `ListBlock`.
        empty: ``(T,)``, whose lists hold nothing.
        found: by label, as the metric merges: ``(T,)`` values of lists (``mean``), sums over lists
            (``items``), or ``(T, M)`` terms that are added (``ratio``).
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    empty: NDArray[np.bool_]
    found: Mapping[str, Sums | Floats]

    def merge(self, other: ListValues) -> ListValues:
        """Both together."""
        return ListValues(
            self.metrics,
            pl.concat([self.users, other.users]),
            np.concatenate([self.empty, other.empty]),
            {label: _both(own, other.found[label]) for label, own in self.found.items()},
        )

    @cached_property
    def values(self) -> dict[str, Floats]:
        """The values of single lists, of metrics that have them."""
        return {
            label: each
            for label, each in self.found.items()
            if self.metrics[label].merge == "mean" and not isinstance(each, Sums)
        }

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The number of each metric for all lists; NaN if there is none."""
        return {label: metric.number(self.found[label]) for label, metric in self.metrics.items()}

    @property
    def parts(self) -> list[Part]:
        """What numbers are made of, for batches to add up; in the order of the metrics."""
        return [part_of(metric, self.found[label]) for label, metric in self.metrics.items()]

    def added_to(self, scores: Scores) -> Scores:
        """Scores of rankings with what metrics measured on the lists of the same users.

        A metric that is about all lists together has a mean and no values of single users.
        """
        rows = places(scores.query_ids, self.users)
        values, why = dict(scores.values), dict(scores.why)
        for label, found in self.values.items():
            values[label] = found[rows]
            empty = np.isnan(values[label]) & self.empty[rows]
            why[label] = np.where(empty, NOTHING_RETRIEVED, 0).astype(np.int8)
        return replace(scores, values=values, why=why, means={**scores.means, **self.numbers})


def _both(one: Sums | Floats, other: Sums | Floats) -> Sums | Floats:
    if isinstance(one, Sums) and isinstance(other, Sums):
        return one + other
    assert not isinstance(one, Sums)
    assert not isinstance(other, Sums)
    return np.concatenate([one, other])
