"""Numbers about all lists together, for users drawn again and for users left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.measurement.metrics.lists.listed import Sums, firsts_of
from rankgate.measurement.scoring.lists import measured_lists
from rankgate.measurement.stats.resampling.resampled import Redrawn, added, draws, left_out

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Floats, Listed

_BUDGET = 10_000_000_000  # places of lists that are counted again for resamples
_LEAST = 100


def redrawn(
    lists: Sequence[Listed], together: Mapping[str, ListMetric], resamples: int, seed: int
) -> tuple[dict[str, Redrawn], int]:
    """Each metric of every system, ``(S, ·)``, under the same users for all systems.

    Args:
        lists: of S systems, with the same users.
        together: metrics about all lists together, by label.
        resamples: of the users; fewer where there are very many lists.
        seed: of the drawing.

    Returns:
        the numbers by label, and how many resamples were taken.
    """
    users = len(lists[0].items)
    visits = sum(each.items.size for each in lists)
    items = any(metric.merge == "items" for metric in together.values())
    count = min(resamples, max(_LEAST, _BUDGET // max(1, visits))) if items else resamples
    if not together or not users:
        empty = np.full((len(lists), 0), np.nan)
        return {label: Redrawn(empty, empty) for label in together}, count
    ratios = {label: each for label, each in together.items() if each.merge == "ratio"}
    terms = [measured_lists(ratios, each).found for each in lists]
    parts = [_weighted(lists, together, terms, weights) for weights in draws(users, count, seed)]
    apart = [_weighted(lists, together, terms, weights) for weights in left_out(users, seed)]
    return {
        label: Redrawn(
            *(np.concatenate([each[label] for each in them], axis=1) for them in (parts, apart))
        )
        for label in together
    }, count


def _weighted(
    lists: Sequence[Listed],
    together: Mapping[str, ListMetric],
    terms: Sequence[Mapping[str, Any]],
    weights: Floats,
) -> dict[str, Floats]:
    """Each metric of every system under many weightings of the users, ``(S, B)``.

    Args:
        lists: of S systems.
        together: metrics by label.
        terms: of each system, ``(T, M)`` of every metric that is a function of sums of them.
        weights: ``(T, B)``.
    """
    out = {label: np.full((len(lists), weights.shape[1]), np.nan) for label in together}
    for at, listed in enumerate(lists):
        counted: dict[object, list[Sums]] = {}
        for label, metric in together.items():
            sums: Sequence[Sums | Floats]
            if metric.merge == "ratio":
                sums = list(weights.T @ terms[at][label])
            else:
                if metric.counted not in counted:
                    cut = listed.first(metric.cutoff)
                    looked = metric.looked(cut.items.shape[1])
                    counted[metric.counted] = _sums(cut, weights, looked)
                sums = counted[metric.counted]
            out[label][at] = [metric.of_sums(each) for each in sums]
    return out


def _sums(listed: Listed, weights: Floats, looked: Floats | None) -> list[Sums]:
    """What `Listed.sums` gives under each of many weightings of the users, ``(T, B)``."""
    shown, first = listed.shown, firsts_of(listed.items)
    codes, lengths = listed.items[shown], np.count_nonzero(shown, axis=-1)
    repeated = not np.array_equal(first, shown)

    def worths() -> Iterator[Floats]:
        once = first[shown]
        yield np.ones(len(codes))
        yield np.repeat(1 / np.sqrt(np.maximum(first.sum(axis=-1), 1)), lengths) * once
        if looked is not None:
            yield np.broadcast_to(looked, shown.shape)[shown]
        if repeated:
            yield once.astype(np.float64)

    counts, scaled, *rest = (
        np.ascontiguousarray(added(codes, lengths, worth, weights, listed.catalogue).T)
        for worth in worths()
    )
    distinct = rest.pop() if repeated else counts
    exposure = rest[0][:, None] if rest else [None] * weights.shape[1]
    full = weights[lengths > 0]
    totals = (weights.sum(axis=0), full.sum(axis=0), (full**2).sum(axis=0))
    every, filled, squares = (each.tolist() for each in totals)
    return [
        Sums(
            counts[b],
            distinct[b],
            scaled[b, None],
            exposure[b],
            every[b],
            filled[b],
            squares[b],
            listed.known,
        )
        for b in range(weights.shape[1])
    ]
