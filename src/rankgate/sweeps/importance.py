"""How much each dial, and each pair of dials, decides the quality."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.sweeps.dials import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.sweeps.dials import Dial, Point

    Floats = NDArray[np.float64]

BINS = 6
"""Parts of a range whose values are all different."""


@dataclass(frozen=True)
class Importance:
    """The share of the variance of the mean over points that dials explain.

    Attributes:
        dials: one, or two for what they do together beyond what each does.
        share: from 0 to 1; None where the means do not differ.
    """

    dials: tuple[str, ...]
    share: float | None


@dataclass(frozen=True)
class Levels:
    """Where the points are on one dial.

    Attributes:
        names: the levels, in order.
        codes: ``(P,)``, the level of each point.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]


def importances(
    dials: Sequence[Dial], points: Sequence[Point], means: Floats
) -> tuple[Importance, ...]:
    """Main effects, then interactions of two dials, each the largest first.

    The main effect of a dial is the variance of the means of its levels over the variance of all
    points; an interaction is the variance of the means of all pairs of levels, less both main
    effects. On a whole grid these are the terms of functional analysis of variance, every value
    with the same weight, and add up to 1 over all orders. Points that a search proposed are not
    spread evenly: a share is then what the levels explain, other dials not kept equal.

    Source: Hutter, Hoos and Leyton-Brown, ICML 2014.
    """
    total = float(means.var())
    codes = {dial.name: levels(dial, points).codes for dial in dials}
    flat = total <= np.finfo(float).eps * max(1.0, float(np.abs(means).max(initial=0.0)))
    alone = {name: None if flat else _between(code, means) / total for name, code in codes.items()}
    pairs = {
        pair: None
        if flat
        else max(
            _together(codes, pair, means) / total - sum(alone[each] or 0 for each in pair), 0.0
        )
        for pair in combinations(codes, 2)
    }
    singles = [Importance((name,), share) for name, share in alone.items()]
    both = [Importance(pair, share) for pair, share in pairs.items()]
    return tuple(
        each
        for group in (singles, both)
        for each in sorted(group, key=lambda one: -(one.share or 0.0))
    )


def levels(dial: Dial, points: Sequence[Point]) -> Levels:
    """The level of each point: its value, or a part of the range if there are too many values."""
    values = [point[dial.name] for point in points]
    if dial.low is None:
        known = list(dict.fromkeys([*dial.values, *values]))
        if all(isinstance(each, int | float) for each in known):
            known.sort()
        return _by_name(values, known)
    known = sorted(set(values))
    if len(known) <= max(len(dial.values) + 1, BINS):
        return _by_name(values, known)
    array = np.array(values, float)
    edges = np.quantile(array, np.linspace(0, 1, BINS + 1))
    codes = np.clip(np.searchsorted(edges, array, side="right") - 1, 0, BINS - 1)
    names = tuple(f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges))
    return Levels(names, codes.astype(np.int64))


def _by_name(values: Sequence[Any], known: Sequence[Any]) -> Levels:
    used = [each for each in known if each in values]
    codes = np.array([used.index(value) for value in values], np.int64)
    return Levels(tuple(shown(each) for each in used), codes)


def _between(codes: NDArray[np.int64], means: Floats) -> float:
    """The variance of the means of levels, each with the number of its points."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    own = np.bincount(place, means) / counts
    return float((counts * (own - means.mean()) ** 2).sum() / len(means))


def _together(codes: dict[str, NDArray[np.int64]], pair: tuple[str, str], means: Floats) -> float:
    one, other = (codes[name] for name in pair)
    return _between(one * (int(other.max(initial=0)) + 1) + other, means)
