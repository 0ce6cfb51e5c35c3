"""Rank-biased overlap: top-weighted similarity of two orderings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.ranks.order import levels

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
        """How much the unseen items decide: high − low."""
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
    short, long = sorted((list(map(list, first)), list(map(list, second))), key=_size)
    s, n = _size(short), _size(long)
    if not s:
        raise ValueError("a list without items agrees with nothing.")
    items = [[item for group in groups for item in group] for groups in (short, long)]
    if any(len(set(each)) < len(each) for each in items):
        raise ValueError("an item is listed twice.")
    place = {item: i for i, item in enumerate(dict.fromkeys(items[0] + items[1]))}
    one, two = (_known(groups, place, n, whole=ties == "w") for groups in (short, long))
    depth = np.arange(1, n + 1)
    seen = (one * two).sum(axis=0)
    over = _norm(one, two, s, ties)
    agreed = float(seen[s - 1] / over[s - 1])
    rest = two[s:]  # items that the shorter list may hold below its end
    beyond = np.maximum(depth - s, 0)
    most = np.array([rest[:count, d].sum() for d, count in enumerate(beyond)])
    listed = np.maximum((rest > 0).sum(axis=0), 1)
    likely = beyond * agreed * rest.sum(axis=0) / listed
    weight = (1 - p) / p * p**depth
    shared = float(seen[-1])
    tails = _tail_low(shared, n, p), _tail_high(shared, s, n, p)
    tail = (shared + (n - s) * agreed) / n * p**n
    return RankBiasedOverlap(
        float((weight * (seen + likely) / over).sum() + tail),
        float((weight * seen / over).sum() + tails[0]),
        float((weight * (seen + most) / over).sum() + tails[1]),
    )


def tied(scores: Mapping[str, float]) -> list[list[str]]:
    """Items in groups of equal score (by `levels`), the largest first."""
    names = sorted(scores)
    level = dict(zip(names, levels(np.array([scores[name] for name in names])), strict=True))
    groups: dict[float, list[str]] = {}
    for item in sorted(names, key=lambda name: (-level[name], name)):
        groups.setdefault(level[item], []).append(item)
    return list(groups.values())


def _size(groups: Sequence[Sequence[str]]) -> int:
    return sum(map(len, groups))


def _known(
    groups: Sequence[Sequence[str]], place: Mapping[str, int], n: int, *, whole: bool
) -> Floats:
    """(items, n): how far each item is known to be among the first d."""
    result = np.zeros((len(place), n))
    top = 0
    for group in groups:
        bottom = top + len(group)
        climb = np.ones(len(group)) if whole else np.arange(1, len(group) + 1) / len(group)
        for item in group:
            result[place[item], top:bottom] = climb
            result[place[item], bottom:] = 1
        top = bottom
    return result


def _norm(one: Floats, two: Floats, s: int, ties: Ties) -> Floats:
    """(n,) what the overlap at each depth is divided by; the shorter list is full below its end."""
    depth = np.arange(1, one.shape[1] + 1, dtype=np.float64)
    if ties == "a":
        return depth
    power = 1 if ties == "w" else 2
    sums = [(each**power).sum(axis=0) for each in (one, two)]
    sums[0] = np.where(depth > s, depth, sums[0])
    return np.asarray((sums[0] + sums[1]) / 2 if ties == "w" else np.sqrt(sums[0] * sums[1]))


def _tail_low(shared: float, n: int, p: float) -> float:
    """Below both ends nothing is shared any more: Σ_{d>n} p^d · X/d, from −ln(1 − p)."""
    depth = np.arange(1, n + 1)
    return (1 - p) / p * shared * float(np.log(1 / (1 - p)) - (p**depth / depth).sum())


def _tail_high(shared: float, s: int, n: int, p: float) -> float:
    """Below both ends everything is shared, until all is."""
    full = int(np.floor(n + s - shared + 1e-9))  # ties leave sums of shares
    depth = np.arange(n + 1, full + 1)
    climb = ((2 * depth - n - s + shared) / depth * p**depth).sum()
    return (1 - p) / p * float(climb + p ** (full + 1) / (1 - p))
