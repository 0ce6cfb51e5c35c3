"""The figures of a scorecard: values with intervals, differences with tests, who dominates whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.metrics.lists.declare import ListMetric
from rankgate.metrics.lists.listed import Sums
from rankgate.services.dominance import dominators
from rankgate.stats.resampled import added, draws

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Floats, Listed

FIGURES = {
    "system": pl.String, "metric": pl.String, "about": pl.String, "value": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "users": pl.Int64, "higher_is_better": pl.Boolean,
}  # fmt: skip
DIFFERENCES = {
    "system": pl.String, "metric": pl.String, "delta": pl.Float64, "low": pl.Float64,
    "high": pl.Float64, "p_raw": pl.Float64, "p_value": pl.Float64, "better": pl.Boolean,
}  # fmt: skip
"""The columns of both tables; a difference is with the first system."""

_BUDGET = 10_000_000_000  # places of lists that are counted again for resamples
_LEAST = 100


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

    The interval of a mean is Student's t; that of a number about all lists together takes its
    width from the same users drawn again, for every system alike, and stands around the value
    itself: users who are drawn twice show no item more, so that resamples lie beside it.

    Returns:
        the columns of `FIGURES`, those of `DIFFERENCES` (p corrected over all by Holm), and how
        many resamples were taken.
    """
    together = {
        label: metric for label, metric in metrics.items()
        if isinstance(metric, ListMetric) and metric.merge != "mean"
    }  # fmt: skip
    drawn, taken = _drawn(cards, together, resamples, seed)
    rows: list[tuple[object, ...]] = []
    differences: list[tuple[object, ...]] = []
    for label, metric in metrics.items():
        for at, card in enumerate(cards):
            value = float(card.means[label])
            delta = value - cards[0].means[label]
            if label in together:
                ends = _around(drawn[label][at], value, level)
                apart = _around(drawn[label][at] - drawn[label][0], delta, level)
                users = int((card.listed.lengths > 0).sum())
            else:
                ends = _of_mean(card.values[label], level)
                apart = _of_mean(card.values[label] - cards[0].values[label], level)
                users = int((~np.isnan(card.values[label])).sum())
            if metric.aggregate != "mean":  # its own way to one number has no interval here
                ends = apart = (np.nan, np.nan, np.nan)
            about = "lists" if isinstance(metric, ListMetric) else "accuracy"
            wanted = metric.higher_is_better
            rows.append((card.name, label, about, value, *ends[:2], users, wanted))
            if at:
                differences.append((card.name, label, delta, *apart, (delta > 0) == wanted))
    return _frame(rows, FIGURES), _corrected(differences), taken


def dominated(cards: Sequence[Card], metrics: Mapping[str, Metric]) -> tuple[tuple[str, str], ...]:
    """Systems that another is as good as everywhere and better somewhere, each with one such."""
    means = {card.name: [card.means[label] for label in metrics] for card in cards}
    found = dominators(means, [metric.higher_is_better for metric in metrics.values()])
    return tuple((name, by) for name, by in found.items() if by is not None)


def _drawn(
    cards: Sequence[Card], together: Mapping[str, ListMetric], resamples: int, seed: int
) -> tuple[dict[str, Floats], int]:
    """For each metric about all lists its number in each resample of the users, ``(S, B)``."""
    users = len(cards[0].listed.items)
    visits = sum(card.listed.items.size for card in cards)
    items = any(metric.merge == "items" for metric in together.values())
    count = min(resamples, max(_LEAST, _BUDGET // max(1, visits))) if items else resamples
    out = {label: np.full((len(cards), count), np.nan) for label in together}
    if not together or not users:
        return out, count
    begin = 0
    for weights in draws(users, count, seed):
        block = slice(begin, begin + weights.shape[1])
        begin = block.stop
        for at, card in enumerate(cards):
            by_cut: dict[int | None, list[Sums]] = {}
            for label, metric in together.items():
                sums: Sequence[Sums | Floats]
                if metric.merge == "ratio":
                    sums = list(weights.T @ metric.values(card.listed))
                else:
                    if metric.cutoff not in by_cut:
                        by_cut[metric.cutoff] = _sums(card.listed.first(metric.cutoff), weights)
                    sums = by_cut[metric.cutoff]
                out[label][at, block] = [metric.of_sums(each) for each in sums]
    return out, count


def _sums(listed: Listed, weights: Floats) -> list[Sums]:
    """What `Listed.sums` gives under each of many weightings of the users, ``(T, B)``."""
    owner, place = np.nonzero(listed.shown)
    codes = listed.items[owner, place]
    root = 1 / np.sqrt(np.maximum(listed.lengths, 1))
    worths = (np.ones(len(codes)), root[owner], 1 / np.log2(place + 2))
    counts, scaled, exposure = (
        added(codes, owner, worth, weights, listed.catalogue) for worth in worths
    )
    full = weights[listed.lengths > 0]
    totals = (weights.sum(axis=0), full.sum(axis=0), (full**2).sum(axis=0))
    return [
        Sums(counts[:, b], scaled[:, b], exposure[:, b], *(float(each[b]) for each in totals))
        for b in range(weights.shape[1])
    ]


def _around(drawn: Floats, value: float, level: float) -> tuple[float, float, float]:
    """An interval and p of a value: as far as resamples stray from their own mean."""
    if np.isnan(value) or not np.isfinite(drawn).all():
        return np.nan, np.nan, np.nan
    strayed = drawn - drawn.mean()
    low, high = value - np.quantile(strayed, [(1 + level) / 2, (1 - level) / 2])
    far = np.abs(strayed) >= abs(value) * (1 - 1e-12)
    return float(low), float(high), float((far.sum() + 1) / (len(far) + 1))


def _of_mean(values: Floats, level: float) -> tuple[float, float, float]:
    """Student's interval and p of a mean."""
    from rankgate.stats.interval import t_interval  # noqa: PLC0415 - scipy, where it is needed
    from rankgate.stats.paired import student  # noqa: PLC0415 - as above

    known = values[~np.isnan(values)]
    if len(known) < 2:  # noqa: PLR2004 - one value has no spread
        return np.nan, np.nan, np.nan
    told = t_interval(known[:, None], level)
    return float(told.low[0]), float(told.high[0]), float(student(known[:, None]).p_value[0])


def _corrected(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    """Differences with p corrected over all of them."""
    from rankgate.stats.corrections import correct  # noqa: PLC0415 - as above

    raw = np.array([row[5] for row in rows], np.float64)
    known = ~np.isnan(raw)
    p = np.full(len(raw), np.nan)
    if known.any():
        p[known] = correct(raw[known], "holm")
    told = [(*row[:6], float(each), row[6]) for row, each in zip(rows, p, strict=True)]
    return _frame(told, DIFFERENCES)


def _frame(rows: list[tuple[object, ...]], schema: Mapping[str, object]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=schema, orient="row")  # type: ignore[arg-type]
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))
