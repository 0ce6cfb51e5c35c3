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
from rankgate.recommenders.scorecard_parts import GAPS, SLICES, corrected

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.accumulate import Accumulator
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.exact import ExactMean

    Floats = NDArray[np.float64]
    Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Pooled:
    """One system's numbers over some users: of all groups together, and of resamples of groups.

    Attributes:
        name: of the system.
        groups: what was seen of each group.
        values: by metric, of all groups.
        drawn: by metric ``(B,)``, of the resamples.
        users: how many judged ones there are.
        valued: by metric, how many users have a value, or a list that it is about.
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
    def of(cls, name: str, groups: Sequence[Accumulator], weights: NDArray[np.int64]) -> Pooled:
        """The numbers of groups, and of ``(B, G)`` resamples of them."""
        whole = groups[0].pooled(groups, [1] * len(groups))
        again = [groups[0].pooled(groups, row).result() for row in weights.tolist()]
        drawn = {label: np.array([each[label] for each in again]) for label in whole.metrics}
        counts = whole.counts
        return cls(
            name, groups, whole.result(), drawn, counts.queries, _valued(whole), counts.cautions
        )


def _valued(whole: Accumulator) -> dict[str, int]:
    """By metric how many users have a value, or a list, of metrics of all lists together.

    Ratios of sums over lists do not keep how many lists are empty: all judged users count.
    """
    found = dict.fromkeys(whole.metrics, whole.counts.queries)
    state, metrics = whole.state(), metrics_of(whole)
    lists = [label for label, each in metrics.items() if each.view == LISTS]
    for label, part in zip(lists, state["lists"] or (), strict=False):
        if isinstance(part, Mapping):
            found[label] = int(part["filled"])
    for label, metric in metrics.items():
        mean = whole.mean_of(label)
        if mean is not None and metric.aggregate != "weighted":
            found[label] = int(mean.count) - mean.undefined
    return found


def metrics_of(empty: Accumulator) -> dict[str, Metric]:
    """The metrics of an accumulator by their labels."""
    return {name: parse(name, (*FACET_METRICS, *LIST_METRICS)) for name in empty.metrics}


def figure_rows(
    systems: Sequence[Pooled], metrics: Mapping[str, Metric], level: float
) -> tuple[Rows, Rows]:
    """Rows of `FIGURES` and, for systems but the first, of `DIFFERENCES` without correction."""
    from scipy.special import ndtr, ndtri

    z = float(ndtri((1 + level) / 2))
    rows: Rows = []
    apart: Rows = []
    first = systems[0]
    for label, metric in metrics.items():
        about = "lists" if metric.view == LISTS else "accuracy"
        top = np.inf if metric.high is None else metric.high
        for each in systems:
            value, own = each.values[label], each.drawn[label]
            reach = z * own.std()
            low, high = np.clip((value - reach, value + reach), metric.low, top)
            better = metric.higher_is_better
            rows.append((each.name, label, about, value, low, high, each.valued[label], better))
            if each is not first:
                delta, error = value - first.values[label], float((own - first.drawn[label]).std())
                p = float(2 * ndtr(-abs(delta) / error)) if error else float(delta == 0)
                ends = (delta - z * error, delta + z * error)
                apart.append((each.name, label, delta, *ends, p, p, (delta > 0) == better))
    return rows, apart


@dataclass(frozen=True)
class PooledPart:
    """A part of a slice.

    Attributes:
        slice: its name.
        of: users, items or pairs.
        value: which part it is.
        size: how many users, items or pairs it has.
        metrics: what is measured there, by label.
        systems: every system's numbers.
    """

    slice: str
    of: str
    value: str
    size: int
    metrics: Mapping[str, Metric]
    systems: Sequence[Pooled]


def slice_table(parts: Sequence[PooledPart], level: float) -> pl.DataFrame:
    """The columns of `SLICES`; p is corrected over each slice (Benjamini-Hochberg)."""
    rows: Rows = []
    for part in parts:
        found, apart = figure_rows(part.systems, part.metrics, level)
        differences = {each[:2]: each for each in apart}
        nothing = (None,) * 8
        for row in found:
            _, _, delta, low, high, p, _, better = differences.get(row[:2], nothing)
            head = (part.slice, part.of, part.value, part.size)
            rows.append((*head, *row, delta, low, high, p, None, better))
    return _corrected(rows, SLICES)


def gap_table(
    parts: Sequence[PooledPart],
    systems: Sequence[Pooled],
    metrics: Mapping[str, Metric],
    weights: NDArray[np.int64],
    level: float,
) -> pl.DataFrame:
    """The columns of `GAPS`: the mean of each part's users less that of all others."""
    from scipy.special import ndtr, ndtri

    z = float(ndtri((1 + level) / 2))
    rows: Rows = []
    for part in (each for each in parts if each.of == "users"):
        for inside, every in zip(part.systems, systems, strict=True):
            for label, metric in metrics.items():
                pairs = [
                    (one.mean_of(label), all_.mean_of(label))
                    for one, all_ in zip(inside.groups, every.groups, strict=True)
                ]
                if all(all_ is None for _, all_ in pairs):  # about all lists together
                    continue
                gap, drawn = _gap(pairs, weights)
                error = float(drawn.std())
                p = float(2 * ndtr(-abs(gap) / error)) if error else float(gap == 0)
                ends = (gap - z * error, gap + z * error)
                better = (gap > 0) == metric.higher_is_better
                rows.append(
                    (part.slice, part.value, every.name, label, gap, *ends, p, None, better)
                )
    return _corrected(rows, GAPS)


def _gap(
    pairs: Sequence[tuple[ExactMean | None, ExactMean | None]], weights: NDArray[np.int64]
) -> tuple[float, Floats]:
    """The gap of the users inside from all others, and that of each resample of the groups."""
    from rankgate.measurement.metrics.exact import ExactMean

    some = [(one or ExactMean(), all_ or ExactMean()) for one, all_ in pairs]
    table = np.array(
        [(one.sum, one.count, all_.sum - one.sum, all_.count - one.count) for one, all_ in some]
    )
    inside = sum((one for one, _ in some), ExactMean())
    every = sum((all_ for _, all_ in some), ExactMean())
    others = ExactMean(every.total - inside.total, every.weight - inside.weight)
    sums = weights @ table
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return inside.value - others.value, drawn


def _corrected(rows: Rows, schema: Mapping[str, Any]) -> pl.DataFrame:
    """Rows as a table, p corrected over each slice."""
    whole = pl.DataFrame(rows, schema=dict(schema), orient="row").fill_nan(None)
    slices = whole.partition_by("slice", maintain_order=True)
    return pl.concat([pl.DataFrame(schema=dict(schema)), *map(corrected, slices)])
