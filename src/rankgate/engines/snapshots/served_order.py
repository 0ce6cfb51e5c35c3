"""Scores that keep the order in which an engine served documents of equal scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def untied(scores: Floats) -> Floats:
    """Lower equal scores by the least steps, in the order in which they were served.

    Steps are those of 32-bit numbers, so that tools that read scores as such see no ties either.
    The order of different scores does not change, and scores without an equal one stay as they
    are, unless lowered ones reach them.

    Args:
        scores: (n,) of a list, in the order in which it was served.

    >>> untied(np.array([2.0, 1.0, 1.0, 0.5])).round(7).tolist()
    [2.0, 1.0, 0.9999999, 0.5]
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    large = np.abs(ordered).max(initial=0.0) >= np.finfo(np.float32).max
    steps = _steps(ordered.astype(np.float64 if large else np.float32))
    places = np.arange(len(ordered))
    lowered = np.minimum.accumulate(steps + places) - places
    result = np.empty(len(scores))
    result[order] = np.where(lowered == steps, ordered, _floats(lowered, large=large))
    return result


def _steps(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Integers in the order of the values; neighbouring numbers are 1 apart."""
    bits = values.view(f"i{values.itemsize}").astype(np.int64)
    return np.where(bits < 0, np.iinfo(f"i{values.itemsize}").min - bits, bits)


def _floats(steps: NDArray[np.int64], *, large: bool) -> Floats:
    """The numbers of such integers."""
    size = 8 if large else 4
    bits = np.where(steps < 0, np.iinfo(f"i{size}").min - steps, steps)
    return bits.astype(f"i{size}").view(f"f{size}").astype(np.float64)
