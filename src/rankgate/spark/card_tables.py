"""Tables of scorecards from groups of users: figures, differences, slices and gaps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.metrics.subtopics import FACET_METRICS
from rankgate.measurement.metrics.views import LISTS
from rankgate.recommenders.scorecard_parts import GAPS, SLICES, correct_p_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.exact import ExactMean

    Floats = NDArray[np.float64]
    Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class PooledSystem:
    """The numbers of one system over some users: of all groups, and of resamples of groups.

    Attributes:
        name: of the system.
        groups: the accumulator of each group.
        values: by metric, of all groups.
        drawn: by metric ``(B,)``, of the resamples.
        users: the number of judged users.
        valued: by metric, the number of users with a value, or of lists that it is about.
        cautions: as of `Counts`.
    """

    name: str
    groups: Sequence[Accumulator]
    values: Mapping[str, float]
    drawn: Mapping[str, Floats]
    users: int
    valued: Mapping[str, int]
    cautions: Mapping[str, str]

    @classmethod
    def of(
        cls, name: str, groups: Sequence[Accumulator], weights: NDArray[np.int64]
    ) -> PooledSystem:
        """The numbers of groups, and of ``(B, G)`` resamples of them."""
        all_users = groups[0].pooled(groups, [1] * len(groups))
        resampled = [groups[0].pooled(groups, row).result() for row in weights.tolist()]
        resampled_values = {
            label: np.array([metric_values[label] for metric_values in resampled])
            for label in all_users.metrics
        }
        counts = all_users.counts
        return cls(
            name,
            groups,
            all_users.result(),
            resampled_values,
            counts.queries,
            _count_users(all_users),
            counts.cautions,
        )


def _count_users(accumulator: Accumulator) -> dict[str, int]:
    """The number of users with a value, or a list for metrics of all lists together, by metric.

    Ratios of sums over lists do not count empty lists: all judged users count.
    """
    user_counts = dict.fromkeys(accumulator.metrics, accumulator.counts.queries)
    state, metrics = accumulator.state(), metrics_of(accumulator)
    lists = [label for label, metric in metrics.items() if metric.view == LISTS]
    for label, list_state in zip(lists, state["lists"] or (), strict=False):
        if isinstance(list_state, Mapping):
            user_counts[label] = int(list_state["filled"])
    for label, metric in metrics.items():
        mean = accumulator.mean_of(label)
        if mean is not None and metric.aggregate != "weighted":
            user_counts[label] = int(mean.count) - mean.undefined
    return user_counts


def metrics_of(empty: Accumulator) -> dict[str, Metric]:
    """The metrics of an accumulator by their labels."""
    return {name: parse(name, (*FACET_METRICS, *LIST_METRICS)) for name in empty.metrics}


def figure_rows(
    systems: Sequence[PooledSystem], metrics: Mapping[str, Metric], level: float
) -> tuple[Rows, Rows]:
    """Rows of `FIGURES` and, for systems but the first, of `DIFFERENCES` without correction."""
    from scipy.special import ndtr, ndtri

    z_level = float(ndtri((1 + level) / 2))
    rows: Rows = []
    differences: Rows = []
    first = systems[0]
    for label, metric in metrics.items():
        view = "lists" if metric.view == LISTS else "accuracy"
        highest = np.inf if metric.high is None else metric.high
        for system in systems:
            value, resampled_values = system.values[label], system.drawn[label]
            half_width = z_level * resampled_values.std()
            low, high = np.clip((value - half_width, value + half_width), metric.low, highest)
            better = metric.higher_is_better
            rows.append((system.name, label, view, value, low, high, system.valued[label], better))
            if system is not first:
                delta, error = (
                    value - first.values[label],
                    float((resampled_values - first.drawn[label]).std()),
                )
                p = float(2 * ndtr(-abs(delta) / error)) if error else float(delta == 0)
                ends = (delta - z_level * error, delta + z_level * error)
                differences.append((system.name, label, delta, *ends, p, p, (delta > 0) == better))
    return rows, differences


@dataclass(frozen=True)
class PooledPart:
    """A part of a slice.

    Attributes:
        slice: its name.
        of: users, items or pairs.
        value: the value of the slice.
        size: the number of users, items or pairs.
        metrics: the metrics of the part, by label.
        systems: the numbers of every system.
    """

    slice: str
    of: str
    value: str
    size: int
    metrics: Mapping[str, Metric]
    systems: Sequence[PooledSystem]


def slice_table(parts: Sequence[PooledPart], level: float) -> pl.DataFrame:
    """The columns of `SLICES`; p is corrected over each slice (Benjamini-Hochberg)."""
    rows: Rows = []
    for slice_part in parts:
        figures, difference_rows = figure_rows(slice_part.systems, slice_part.metrics, level)
        differences = {row[:2]: row for row in difference_rows}
        no_difference = (None,) * 8
        for row in figures:
            _, _, delta, low, high, p, _, better = differences.get(row[:2], no_difference)
            part_columns = (slice_part.slice, slice_part.of, slice_part.value, slice_part.size)
            rows.append((*part_columns, *row, delta, low, high, p, None, better))
    return _correct_table(rows, SLICES)


def gap_table(
    parts: Sequence[PooledPart],
    systems: Sequence[PooledSystem],
    metrics: Mapping[str, Metric],
    weights: NDArray[np.int64],
    level: float,
) -> pl.DataFrame:
    """The columns of `GAPS`: the mean of each part's users less that of all others."""
    from scipy.special import ndtr, ndtri

    z_level = float(ndtri((1 + level) / 2))
    rows: Rows = []
    for user_part in (candidate for candidate in parts if candidate.of == "users"):
        for part_users, all_users in zip(user_part.systems, systems, strict=True):
            for label, metric in metrics.items():
                pairs = [
                    (part_mean.mean_of(label), overall_mean.mean_of(label))
                    for part_mean, overall_mean in zip(
                        part_users.groups, all_users.groups, strict=True
                    )
                ]
                if all(
                    overall_mean is None for _, overall_mean in pairs
                ):  # about all lists together
                    continue
                gap, resampled_gaps = _compute_gap(pairs, weights)
                error = float(resampled_gaps.std())
                p = float(2 * ndtr(-abs(gap) / error)) if error else float(gap == 0)
                ends = (gap - z_level * error, gap + z_level * error)
                better = (gap > 0) == metric.higher_is_better
                rows.append(
                    (
                        user_part.slice,
                        user_part.value,
                        all_users.name,
                        label,
                        gap,
                        *ends,
                        p,
                        None,
                        better,
                    )
                )
    return _correct_table(rows, GAPS)


def _compute_gap(
    pairs: Sequence[tuple[ExactMean | None, ExactMean | None]], weights: NDArray[np.int64]
) -> tuple[float, Floats]:
    """The gap of a part's users from all others, and that of each resample of the groups."""
    from rankgate.measurement.metrics.exact import ExactMean

    means = [
        (part_mean or ExactMean(), overall_mean or ExactMean()) for part_mean, overall_mean in pairs
    ]
    table = np.array(
        [
            (
                part_mean.sum,
                part_mean.count,
                overall_mean.sum - part_mean.sum,
                overall_mean.count - part_mean.count,
            )
            for part_mean, overall_mean in means
        ]
    )
    part_users = sum((part_mean for part_mean, _ in means), ExactMean())
    all_users = sum((overall_mean for _, overall_mean in means), ExactMean())
    other_users = ExactMean(
        all_users.total - part_users.total, all_users.weight - part_users.weight
    )
    sums = weights @ table
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled_gaps = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return part_users.value - other_users.value, resampled_gaps


def _correct_table(rows: Rows, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a table, p corrected over each slice."""
    corrected_rows = pl.DataFrame(rows, schema=dict(schema), orient="row").fill_nan(None)
    slices = corrected_rows.partition_by("slice", maintain_order=True)
    return pl.concat([pl.DataFrame(schema=dict(schema)), *map(correct_p_values, slices)])
