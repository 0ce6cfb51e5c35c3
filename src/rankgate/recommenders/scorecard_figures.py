"""Compute a scorecard: values, intervals, tests and dominance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.measurement.evaluation.dominance import dominators
from rankgate.measurement.evaluation.lists.resampled import redrawn
from rankgate.measurement.metrics.lists.declare import lists_apart

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
        means: by label, where a metric has its own way to make one number of many.
        listed: its lists.
    """

    name: str
    values: Mapping[str, Floats]
    means: Mapping[str, float]
    listed: Listed


def figures(
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
    _, of_lists = lists_apart(metrics)
    together = {label: each for label, each in of_lists.items() if each.merge != "mean"}
    lists = [card.listed for card in cards]
    drawn, taken = redrawn(lists, together, resamples, seed)
    rows: list[tuple[object, ...]] = []
    differences: list[tuple[object, ...]] = []
    for label, metric in metrics.items():
        for at, card in enumerate(cards):
            value = float(card.means[label])
            delta = value - cards[0].means[label]
            if label in together:
                ends = (*drawn[label][at].ends(value, level), np.nan)
                off = drawn[label][at] - drawn[label][0]
                apart = (*off.ends(delta, level), off.chance(delta))
                users = int((card.listed.lengths > 0).sum())
            else:
                ends = _of_mean(card.values[label], level)
                apart = _of_mean(card.values[label] - cards[0].values[label], level)
                users = int((~np.isnan(card.values[label])).sum())
            if metric.aggregate != "mean":  # its own way to one number has no interval here
                ends = apart = (np.nan, np.nan, np.nan)
            about = "lists" if label in of_lists else "accuracy"
            wanted = metric.higher_is_better
            within = _within(metric, value, ends)
            rows.append((card.name, label, about, value, *within, users, wanted))
            if at:
                differences.append((card.name, label, delta, *apart, (delta > 0) == wanted))
    return frame(rows, FIGURES), _corrected(differences), taken


def _within(metric: Metric, value: float, ends: tuple[float, ...]) -> tuple[float, ...]:
    """The ends of an interval, cut where the metric ends, and around its value; NaN stays."""
    top = np.inf if metric.high is None else metric.high
    low, high = np.clip(ends[:2], metric.low, top).tolist()
    return (min(low, value), max(high, value)) if low <= high else (low, high)


def dominated(cards: Sequence[Card], metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Systems that another is as good as everywhere and better somewhere, each with one such."""
    means = {card.name: [card.means[label] for label in metrics] for card in cards}
    found = dominators(means, [metric.higher_is_better for metric in metrics.values()])
    return tuple((name, by) for name, by in found.items() if by is not None)


def _of_mean(values: Floats, level: float) -> tuple[float, float, float]:
    """Student's interval and p of a mean."""
    from rankgate.measurement.stats.interval import t_interval
    from rankgate.measurement.stats.paired import student

    known = values[~np.isnan(values)]
    if len(known) < 2:  # one value has no spread
        return np.nan, np.nan, np.nan
    result = t_interval(known[:, None], level)
    return float(result.low[0]), float(result.high[0]), float(student(known[:, None]).p_value[0])


def _corrected(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Differences with p corrected over all of them."""
    from rankgate.measurement.stats.corrections import correct

    raw = np.array([row[5] for row in rows], np.float64)
    known = ~np.isnan(raw)
    p = np.full(len(raw), np.nan)
    if known.any():
        p[known] = correct(raw[known], "holm")
    items = [(*row[:6], float(each), row[6]) for row, each in zip(rows, p, strict=True)]
    return frame(items, DIFFERENCES)
