"""Compute a scorecard: values, intervals, tests and dominance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import make_frame
from rankgate.measurement.evaluation.dominance import dominators
from rankgate.measurement.evaluation.lists.resampled import resample_users
from rankgate.measurement.metrics.lists.declare import split_list_metrics

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.lists.listed import Floats, Listed

FIGURES = {
    "system": pl.String,
    "metric": pl.String,
    "about": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "users": pl.Int64,
    "higher_is_better": pl.Boolean,
}
DIFFERENCES = {
    "system": pl.String,
    "metric": pl.String,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "better": pl.Boolean,
}
"""The columns of both tables; a difference is with the first system."""


@dataclass(frozen=True)
class Card:
    """One system: its values by metric, and its lists.

    Attributes:
        name: the system.
        values: by label ``(T,)``, NaN where a user has none; absent for metrics that are about
            all lists together.
        means: by label, for metrics with their own aggregation.
        listed: its lists.
    """

    name: str
    values: Mapping[str, Floats]
    means: Mapping[str, float]
    listed: Listed


def compute_figures(
    cards: Sequence[Card],
    metrics: Mapping[str, Metric],
    *,
    level: float,
    resamples: int,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """The figures of every system and their differences from the first.

    The interval of a mean is Student's t; that of a number about all lists together is `Redrawn`,
    of the same users for every system alike.

    Returns:
        the columns of `FIGURES`, those of `DIFFERENCES` (p corrected over all by Holm), and how
        many resamples were taken.
    """
    _, of_lists = split_list_metrics(metrics)
    metrics_of_all_lists = {
        label: metric for label, metric in of_lists.items() if metric.merge != "mean"
    }
    lists = [card.listed for card in cards]
    resampled, resample_count = resample_users(lists, metrics_of_all_lists, resamples, seed)
    rows: list[tuple[object, ...]] = []
    differences: list[tuple[object, ...]] = []
    for label, metric in metrics.items():
        for index, card in enumerate(cards):
            value = float(card.means[label])
            delta = value - cards[0].means[label]
            if label in metrics_of_all_lists:
                ends = (*resampled[label][index].ends(value, level), np.nan)
                differences_from_first = resampled[label][index] - resampled[label][0]
                difference_ends = (
                    *differences_from_first.ends(delta, level),
                    differences_from_first.chance(delta),
                )
                users = int((card.listed.lengths > 0).sum())
            else:
                ends = _mean_interval(card.values[label], level)
                difference_ends = _mean_interval(card.values[label] - cards[0].values[label], level)
                users = int((~np.isnan(card.values[label])).sum())
            if metric.aggregate != "mean":  # other aggregations have no interval here
                ends = difference_ends = (np.nan, np.nan, np.nan)
            view = "lists" if label in of_lists else "accuracy"
            higher_is_better = metric.higher_is_better
            within = _clip_interval(metric, value, ends)
            rows.append((card.name, label, view, value, *within, users, higher_is_better))
            if index:
                differences.append(
                    (card.name, label, delta, *difference_ends, (delta > 0) == higher_is_better)
                )
    return make_frame(rows, FIGURES), _correct_differences(differences), resample_count


def _clip_interval(metric: Metric, value: float, ends: tuple[float, ...]) -> tuple[float, ...]:
    """The ends of an interval, cut at the metric's range, and around its value; NaN stays."""
    highest = np.inf if metric.high is None else metric.high
    low, high = np.clip(ends[:2], metric.low, highest).tolist()
    return (min(low, value), max(high, value)) if low <= high else (low, high)


def find_dominated(
    cards: Sequence[Card], metrics: Mapping[str, Metric]
) -> tuple[tuple[str, str], ...]:
    """Systems that another is as good as everywhere and better somewhere, each with one such."""
    means = {card.name: [card.means[label] for label in metrics] for card in cards}
    dominator_of_system = dominators(
        means, [metric.higher_is_better for metric in metrics.values()]
    )
    return tuple(
        (name, dominator)
        for name, dominator in dominator_of_system.items()
        if dominator is not None
    )


def _mean_interval(values: Floats, level: float) -> tuple[float, float, float]:
    """Student's interval and p of a mean."""
    from rankgate.measurement.stats.interval import t_interval
    from rankgate.measurement.stats.paired import student_test

    known_values = values[~np.isnan(values)]
    if len(known_values) < 2:  # one value has no variance
        return np.nan, np.nan, np.nan
    result = t_interval(known_values[:, None], level)
    return (
        float(result.low[0]),
        float(result.high[0]),
        float(student_test(known_values[:, None]).p_value[0]),
    )


def _correct_differences(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Differences with p corrected over all of them."""
    from rankgate.measurement.stats.corrections import correct

    raw = np.array([row[5] for row in rows], np.float64)
    is_known = ~np.isnan(raw)
    p = np.full(len(raw), np.nan)
    if is_known.any():
        p[is_known] = correct(raw[is_known], "holm")
    corrected_rows = [
        (*row[:6], float(p_value), row[6]) for row, p_value in zip(rows, p, strict=True)
    ]
    return make_frame(corrected_rows, DIFFERENCES)
