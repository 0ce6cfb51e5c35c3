"""Rank-biased overlap: top-weighted similarity of two orderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.ranks.order import tie_levels

if TYPE_CHECKING:
    from rankgate.measurement.stats.paired import Floats

Ties = Literal["w", "a", "b"]


@dataclass(frozen=True)
class RankBiasedOverlap:
    """Rank-biased overlap of two lists of which only the first items are known.

    Attributes:
        value: extrapolated: as alike below as above.
        low: if nothing below is shared.
        high: if as much below is shared as can be.
    """

    value: float
    low: float
    high: float

    @property
    def residual(self) -> float:
        """The uncertainty from unseen items: high − low."""
        return self.high - self.low


def rbo(
    first: Sequence[Sequence[str]],
    second: Sequence[Sequence[str]],
    p: float = 0.9,
    ties: Ties = "a",
) -> RankBiasedOverlap:
    """RBO = (1 − p)/p · Σ_d p^d · A_d, with A_d the agreement of the first d items.

    An item counts at depth d by how far it is known to be among the first d: ``w`` wholly from
    the first rank of its tie on, agreement over the mean of both counts (ties are equality);
    ``a`` by the share of orders that put it there, over d (the mean over all ways to break ties);
    ``b`` the same over the root of the product of both sums of squares, so that a list with ties
    agrees wholly with itself. Webber, Moffat and Zobel, TOIS 2010; ties: Corsi and Urbano, SIGIR
    2024.

    Args:
        first: groups of tied items, best first; a group of one is no tie.
        second: the other list.
        p: in (0, 1); the larger, the deeper it looks.
        ties: the treatment.

    Raises:
        ValueError: p outside (0, 1), an empty list, an item that is listed twice.
    """
    if not 0 < p < 1:
        raise ValueError(f"p = {p} is not between 0 and 1.")
    shorter, longer = sorted((list(map(list, first)), list(map(list, second))), key=_size)
    s, n = _size(shorter), _size(longer)
    if not s:
        raise ValueError("a list without items agrees with nothing.")
    items = [[item for group in groups for item in group] for groups in (shorter, longer)]
    if any(len(set(members)) < len(members) for members in items):
        raise ValueError("an item is listed twice.")
    position = {item: i for i, item in enumerate(dict.fromkeys(items[0] + items[1]))}
    short_membership, long_membership = (
        _membership(groups, position, n, whole=ties == "w") for groups in (shorter, longer)
    )
    depth = np.arange(1, n + 1)
    overlap = (short_membership * long_membership).sum(axis=0)
    norm = _norm(short_membership, long_membership, s, ties)
    agreement = float(overlap[s - 1] / norm[s - 1])
    unseen = long_membership[s:]  # items that the shorter list may hold below its end
    beyond = np.maximum(depth - s, 0)
    highest = np.array([unseen[:count, d].sum() for d, count in enumerate(beyond)])
    item_count = np.maximum((unseen > 0).sum(axis=0), 1)
    expected_overlap = beyond * agreement * unseen.sum(axis=0) / item_count
    weight = (1 - p) / p * p**depth
    last_overlap = float(overlap[-1])
    tails = _tail_low(last_overlap, n, p), _tail_high(last_overlap, s, n, p)
    tail = (last_overlap + (n - s) * agreement) / n * p**n
    return RankBiasedOverlap(
        float((weight * (overlap + expected_overlap) / norm).sum() + tail),
        float((weight * overlap / norm).sum() + tails[0]),
        float((weight * (overlap + highest) / norm).sum() + tails[1]),
    )


def group_ties(scores: Mapping[str, float]) -> list[list[str]]:
    """Items in groups of equal score (by `tie_levels`), the largest first."""
    names = sorted(scores)
    level = dict(zip(names, tie_levels(np.array([scores[name] for name in names])), strict=True))
    groups: dict[float, list[str]] = {}
    for item in sorted(names, key=lambda name: (-level[name], name)):
        groups.setdefault(level[item], []).append(item)
    return list(groups.values())


def _size(groups: Sequence[Sequence[str]]) -> int:
    return sum(map(len, groups))


def _membership(
    groups: Sequence[Sequence[str]], position: Mapping[str, int], n: int, *, whole: bool
) -> Floats:
    """(items, n): how far each item is known to be among the first d."""
    result = np.zeros((len(position), n))
    top = 0
    for group in groups:
        bottom = top + len(group)
        tie_shares = np.ones(len(group)) if whole else np.arange(1, len(group) + 1) / len(group)
        for item in group:
            result[position[item], top:bottom] = tie_shares
            result[position[item], bottom:] = 1
        top = bottom
    return result


def _norm(first: Floats, second: Floats, s: int, ties: Ties) -> Floats:
    """(n,) the divisor of the overlap at each depth; the shorter list is full below its end."""
    depth = np.arange(1, first.shape[1] + 1, dtype=np.float64)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    sums = [(membership**power).sum(axis=0) for membership in (first, second)]
    sums[0] = np.where(depth > s, depth, sums[0])
    return np.asarray((sums[0] + sums[1]) / 2 if ties == "w" else np.sqrt(sums[0] * sums[1]))


def _tail_low(last_overlap: float, n: int, p: float) -> float:
    """Below both ends nothing is shared any more: Σ_{d>n} p^d · X/d, from −ln(1 − p)."""
    depth = np.arange(1, n + 1)
    return (1 - p) / p * last_overlap * float(np.log(1 / (1 - p)) - (p**depth / depth).sum())


def _tail_high(last_overlap: float, s: int, n: int, p: float) -> float:
    """Below both ends everything is shared, until all is."""
    full_depth = int(np.floor(n + s - last_overlap + 1e-9))  # ties leave sums of shares
    depth = np.arange(n + 1, full_depth + 1)
    growing_part = ((2 * depth - n - s + last_overlap) / depth * p**depth).sum()
    return (1 - p) / p * float(growing_part + p ** (full_depth + 1) / (1 - p))
