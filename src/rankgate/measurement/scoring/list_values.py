"""Values of metrics on lists: blocks of lists, and values that merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import find_positions
from rankgate.measurement.metrics.lists.list_input import Sums
from rankgate.measurement.metrics.lists.list_metric import partial_result
from rankgate.measurement.scoring.job_values import NOTHING_RETRIEVED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.lists.list_input import (
        Listed,
    )
    from rankgate.measurement.metrics.lists.list_metric import ListMetric, PartialResult


@dataclass(frozen=True, eq=False)
class ListBlock:
    """The lists of whole users, as metrics on lists see them.

    Attributes:
        listed: the lists, with data on items and users.
        users: ``(T,)``, the users of the lists; may be empty if only numbers are needed.
    """

    listed: Listed
    users: pl.Series

    def measure(self, metrics: Mapping[str, ListMetric]) -> ListValues:
        """Measure metrics on the lists; compute shared sums once.

        Raises:
            UsageError: a metric lacks an input.
        """
        sums: dict[object, Sums] = {}
        raw_values: dict[str, Sums | Floats] = {}
        for label, metric in metrics.items():
            if metric.merge != "items":
                raw_values[label] = metric.values(self.listed)
                continue
            metric.refuse_lacking(self.listed)
            if metric.sums_key not in sums:
                sums[metric.sums_key] = metric.sums(self.listed)
            raw_values[label] = sums[metric.sums_key]
        return ListValues(metrics, self.users, self.listed.lengths == 0, raw_values)


@dataclass(frozen=True, eq=False)
class ListValues:
    """Values of metrics on lists; merged values have different users.

    Attributes:
        metrics: the metrics by label.
        users: ``(T,)``, as of `ListBlock`.
        empty: ``(T,)``, True for empty lists.
        found: the values by label, as the metric merges: ``(T,)`` values of lists (``mean``), sums
            over lists (``items``), or ``(T, M)`` terms that are added (``ratio``).
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    empty: NDArray[np.bool_]
    found: Mapping[str, Sums | Floats]

    def merge(self, other: ListValues) -> ListValues:
        """Combine the values of two sets of users."""
        return ListValues(
            self.metrics,
            pl.concat([self.users, other.users]),
            np.concatenate([self.empty, other.empty]),
            {label: _merge_values(raw, other.found[label]) for label, raw in self.found.items()},
        )

    @cached_property
    def values(self) -> dict[str, Floats]:
        """The values of single lists, of metrics that have them."""
        return {
            label: raw
            for label, raw in self.found.items()
            if self.metrics[label].merge == "mean" and not isinstance(raw, Sums)
        }

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The number of each metric for all lists; NaN if there is none."""
        return {label: metric.number(self.found[label]) for label, metric in self.metrics.items()}

    @property
    def parts(self) -> list[PartialResult]:
        """The parts of the numbers, for batches to add up; in the order of the metrics."""
        return [partial_result(metric, self.found[label]) for label, metric in self.metrics.items()]

    def added_to(self, scores: RunScores) -> RunScores:
        """Add the values on the lists to scores of the same users' rankings.

        A metric that is about all lists together has a mean and no values of single users.
        """
        rows = find_positions(scores.query_ids, self.users)
        values, reason_codes = dict(scores.values), dict(scores.why)
        for label, user_values in self.values.items():
            values[label] = user_values[rows]
            empty = np.isnan(values[label]) & self.empty[rows]
            reason_codes[label] = np.where(empty, NOTHING_RETRIEVED, 0).astype(np.int8)
        return replace(
            scores, values=values, why=reason_codes, means={**scores.means, **self.numbers}
        )


def _merge_values(left: Sums | Floats, right: Sums | Floats) -> Sums | Floats:
    if isinstance(left, Sums) and isinstance(right, Sums):
        return left + right
    assert not isinstance(left, Sums)
    assert not isinstance(right, Sums)
    return np.concatenate([left, right])
