"""Training and held-out queries of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Split:
    """The queries of a sweep.

    Attributes:
        training: those that choose, in random order.
        held_out: those that judge the choice; empty without a held-out share.
    """

    training: tuple[str, ...]
    held_out: tuple[str, ...] = ()


def split_queries(query_ids: Sequence[str], clusters: Mapping[str, str], share: float, seed: int) -> Split:
    """Cut queries at random; the queries of a cluster stay together.

    Args:
        query_ids: the judged queries, in any order.
        clusters: the clusters of queries, by id.
        share: the share that is held out.
        seed: the seed.
    """
    units: dict[str, list[str]] = {}
    for query_id in sorted(query_ids):
        units.setdefault(clusters.get(query_id, f"\x00{query_id}"), []).append(query_id)
    names = list(units)
    shuffled = [units[names[row]] for row in np.random.default_rng(seed).permutation(len(names))]
    held_out: list[str] = []
    while shuffled and len(held_out) < round(share * len(query_ids)):
        held_out += shuffled.pop()
    return Split(tuple(query_id for unit in shuffled for query_id in unit), tuple(held_out))
