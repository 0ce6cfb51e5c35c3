"""How much each dial, and each pair of dials, decides the quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.dials import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.sweeps.dials import Dial, Point

    Floats = NDArray[np.float64]

BINS = 6
"""Parts of a range whose values are all different."""

_FLAT = 1e-12  # a spread of means that is rounding


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
    """What each dial explains, then what two dials do together, each the largest first.

    The share of a dial is what a model of additive effects loses of R² without it; that of two
    dials is what R² gains if their combinations have effects of their own. On a whole grid these
    are the first and second terms of functional analysis of variance, every value with the same
    weight. Where points are missing, or were proposed by a search, dials overlap, and each share
    is what only this dial explains.

    Source: Hutter, Hoos and Leyton-Brown, ICML 2014.
    """
    if float(np.ptp(means)) <= _FLAT * float(np.abs(means).max(initial=0.0)):
        nothing = [*((dial.name,) for dial in dials), *combinations([d.name for d in dials], 2)]
        return tuple(Importance(each, None) for each in nothing)
    codes = {dial.name: levels(dial, points).codes for dial in dials}
    whole = _explained([*codes.values()], means)
    alone = [
        Importance((name,), whole - _explained([c for n, c in codes.items() if n != name], means))
        for name in codes
    ]
    both = [
        Importance(pair, _explained([*codes.values(), _crossed(codes, pair)], means) - whole)
        for pair in combinations(codes, 2)
    ]
    return tuple(
        Importance(each.dials, min(max(each.share or 0.0, 0.0), 1.0))
        for group in (alone, both)
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


def _explained(factors: Sequence[NDArray[np.int64]], means: Floats) -> float:
    """R² of a linear model with an effect for each level of each factor."""
    columns = [np.ones((len(means), 1))]
    columns += [np.equal.outer(codes, np.unique(codes)[1:]).astype(float) for codes in factors]
    design = np.hstack(columns)
    fitted = design @ np.linalg.lstsq(design, means, rcond=None)[0]
    return 1 - float(((means - fitted) ** 2).sum() / ((means - means.mean()) ** 2).sum())


def _crossed(codes: Mapping[str, NDArray[np.int64]], pair: tuple[str, str]) -> NDArray[np.int64]:
    """A level for each combination of two dials."""
    one, other = (codes[name] for name in pair)
    return one * (int(other.max(initial=0)) + 1) + other
