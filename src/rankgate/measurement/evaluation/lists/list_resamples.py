"""Values of metrics on lists for parts of the catalogue and for resampled users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.measurement.metrics.lists.list_input import Sums, is_first
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.stats.resampled_values import (
    ResampledValues,
    draw_counts,
    leave_out_weights,
    weighted_cell_sums,
)

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data import Qrels
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.lists.list_metric import ListMetric


def relevant_judgments(judged: Qrels, items: pl.Series) -> Qrels | None:
    """Judgments of some items, for users with at least one relevant item; None if there are none.

    Args:
        judged: judgments with one grade per document.
        items: the ids of the items.
    """
    table = judged.table.filter(pl.col("doc_id").is_in(items.implode()))
    table = table.filter((pl.col("grade") >= 1).any().over("query_id"))
    return None if table.is_empty() else replace(judged, table=table, unjudged=())


_MOST_PLACES = 10_000_000_000  # positions in lists to count over all resamples
_FEWEST_RESAMPLES = 100


def resample_users(
    lists: Sequence[Listed], together: Mapping[str, ListMetric], resamples: int, seed: int
) -> tuple[dict[str, ResampledValues], int]:
    """Each metric of every system, ``(S, ·)``, for the same resampled users.

    Args:
        lists: the lists of S systems for the same users.
        together: metrics about all lists together, by label.
        resamples: the number of resamples of users; it is reduced if there are very many lists.
        seed: the seed of the random draws.

    Returns:
        the numbers by label, and the number of resamples.
    """
    users = len(lists[0].items)
    place_count = sum(system_lists.items.size for system_lists in lists)
    counts_items = any(metric.merge == "items" for metric in together.values())
    count = (
        min(resamples, max(_FEWEST_RESAMPLES, _MOST_PLACES // max(1, place_count)))
        if counts_items
        else resamples
    )
    if not together or not users:
        empty = np.full((len(lists), 0), np.nan)
        return {label: ResampledValues(empty, empty) for label in together}, count
    ratios = {label: metric for label, metric in together.items() if metric.merge == "ratio"}
    terms = [measure_lists(ratios, system_lists).found for system_lists in lists]
    parts = [
        _weighted_numbers(lists, together, terms, weights) for weights in draw_counts(users, count, seed)
    ]
    left_out_numbers = [
        _weighted_numbers(lists, together, terms, weights) for weights in leave_out_weights(users, seed)
    ]
    return {
        label: ResampledValues(
            *(
                np.concatenate([numbers[label] for numbers in batches], axis=1)
                for batches in (parts, left_out_numbers)
            )
        )
        for label in together
    }, count


def _weighted_numbers(
    lists: Sequence[Listed],
    together: Mapping[str, ListMetric],
    terms: Sequence[Mapping[str, Any]],
    weights: Floats,
) -> dict[str, Floats]:
    """Each metric of every system for many weightings of the users, ``(S, B)``.

    Args:
        lists: the lists of S systems.
        together: metrics by label.
        terms: the terms ``(T, M)`` of each system, for every metric that is a function of sums of
            terms.
        weights: ``(T, B)``.
    """
    out = {label: np.full((len(lists), weights.shape[1]), np.nan) for label in together}
    for system, system_lists in enumerate(lists):
        sums_by_key: dict[object, list[Sums]] = {}
        for label, metric in together.items():
            sums: Sequence[Sums | Floats]
            if metric.merge == "ratio":
                sums = list(weights.T @ terms[system][label])
            else:
                if metric.sums_key not in sums_by_key:
                    cut_lists = system_lists.first(metric.cutoff)
                    exposure_weights = metric.looked(cut_lists.items.shape[1])
                    sums_by_key[metric.sums_key] = _sums(cut_lists, weights, exposure_weights)
                sums = sums_by_key[metric.sums_key]
            out[label][system] = [metric.of_sums(system_sums) for system_sums in sums]
    return out


def _sums(lists: Listed, weights: Floats, exposure_weights: Floats | None) -> list[Sums]:
    """The sums of `Listed.sums` for many weightings of the users, ``(T, B)``."""
    is_shown, first = lists.is_filled, is_first(lists.items)
    codes, lengths = lists.items[is_shown], np.count_nonzero(is_shown, axis=-1)
    repeated = not np.array_equal(first, is_shown)

    def worths() -> Iterator[Floats]:
        is_first = first[is_shown]
        yield np.ones(len(codes))
        yield np.repeat(1 / np.sqrt(np.maximum(first.sum(axis=-1), 1)), lengths) * is_first
        if exposure_weights is not None:
            yield np.broadcast_to(exposure_weights, is_shown.shape)[is_shown]
        if repeated:
            yield is_first.astype(np.float64)

    counts, scaled, *more_counts = (
        np.ascontiguousarray(weighted_cell_sums(codes, lengths, worth, weights, lists.catalogue).T)
        for worth in worths()
    )
    distinct = more_counts.pop() if repeated else counts
    exposure = more_counts[0][:, None] if more_counts else [None] * weights.shape[1]
    full = weights[lengths > 0]
    totals = (weights.sum(axis=0), full.sum(axis=0), (full**2).sum(axis=0))
    user_totals, filled, squares = (total.tolist() for total in totals)
    return [
        Sums(
            counts[b],
            distinct[b],
            scaled[b, None],
            exposure[b],
            user_totals[b],
            filled[b],
            squares[b],
            lists.in_training,
        )
        for b in range(weights.shape[1])
    ]
