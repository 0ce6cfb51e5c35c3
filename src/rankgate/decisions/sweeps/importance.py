"""The importance of each dial, and of each pair of dials, for the quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.dials import value_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.sweeps.dials import Dial, Point

    Floats = NDArray[np.float64]

BINS = 6
"""Parts of a range whose values are all different."""

_ROUNDING = 1e-12  # smaller differences of means are rounding


@dataclass(frozen=True)
class Importance:
    """The share of the variance of the mean over points that dials explain.

    Attributes:
        dials: one dial, or two for their combined effect beyond both single ones.
        share: from 0 to 1; None where the means do not differ.
    """

    dials: tuple[str, ...]
    share: float | None


@dataclass(frozen=True)
class Levels:
    """The levels of the points on one dial.

    Attributes:
        names: the levels, in order.
        codes: ``(P,)``, the level of each point.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]


def importances(
    dials: Sequence[Dial], points: Sequence[Point], means: Floats
) -> tuple[Importance, ...]:
    """The importance of each dial, then of pairs of dials, each the largest first.

    The share of a dial is what a model of additive effects loses of R² without it; that of two
    dials is what R² gains if their combinations have effects of their own. On a whole grid these
    are the first and second terms of functional analysis of variance, every value with the same
    weight. Where points are missing, or were proposed by a search, dials overlap, and each share
    is what only this dial explains.

    Source: Hutter, Hoos and Leyton-Brown, ICML 2014.
    """
    if float(np.ptp(means)) <= _ROUNDING * float(np.abs(means).max(initial=0.0)):
        all_dial_names = [
            *((dial.name,) for dial in dials),
            *combinations([d.name for d in dials], 2),
        ]
        return tuple(Importance(dial_names, None) for dial_names in all_dial_names)
    codes = {dial.name: point_levels(dial, points).codes for dial in dials}
    total_share = _explained_share([*codes.values()], means)
    single_dials = [
        Importance(
            (name,),
            total_share - _explained_share([c for n, c in codes.items() if n != name], means),
        )
        for name in codes
    ]
    pairs = [
        Importance(
            pair,
            _explained_share([*codes.values(), _crossed_codes(codes, pair)], means) - total_share,
        )
        for pair in combinations(codes, 2)
    ]
    return tuple(
        Importance(importance.dials, min(max(importance.share or 0.0, 0.0), 1.0))
        for group in (single_dials, pairs)
        for importance in sorted(group, key=lambda importance: -(importance.share or 0.0))
    )


def point_levels(dial: Dial, points: Sequence[Point]) -> Levels:
    """The level of each point: its value, or a part of the range if there are too many values."""
    values = [point[dial.name] for point in points]
    if dial.low is None:
        dial_values = list(dict.fromkeys([*dial.values, *values]))
        if all(isinstance(dial_value, int | float) for dial_value in dial_values):
            dial_values.sort()
        return _by_name(values, dial_values)
    dial_values = sorted(set(values))
    if len(dial_values) <= max(len(dial.values) + 1, BINS):
        return _by_name(values, dial_values)
    array = np.array(values, float)
    edges = np.quantile(array, np.linspace(0, 1, BINS + 1))
    codes = np.clip(np.searchsorted(edges, array, side="right") - 1, 0, BINS - 1)
    names = tuple(f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges))
    return Levels(names, codes.astype(np.int64))


def _by_name(values: Sequence[Any], dial_values: Sequence[Any]) -> Levels:
    used_values = [dial_value for dial_value in dial_values if dial_value in values]
    codes = np.array([used_values.index(value) for value in values], np.int64)
    return Levels(tuple(value_text(dial_value) for dial_value in used_values), codes)


def _explained_share(factors: Sequence[NDArray[np.int64]], means: Floats) -> float:
    """R² of a linear model with an effect for each level of each factor."""
    columns = [np.ones((len(means), 1))]
    columns += [np.equal.outer(codes, np.unique(codes)[1:]).astype(float) for codes in factors]
    design = np.hstack(columns)
    fitted_means = design @ np.linalg.lstsq(design, means, rcond=None)[0]
    return 1 - float(((means - fitted_means) ** 2).sum() / ((means - means.mean()) ** 2).sum())


def _crossed_codes(
    codes: Mapping[str, NDArray[np.int64]], pair: tuple[str, str]
) -> NDArray[np.int64]:
    """A level for each combination of two dials."""
    first_codes, second_codes = (codes[name] for name in pair)
    return first_codes * (int(second_codes.max(initial=0)) + 1) + second_codes
