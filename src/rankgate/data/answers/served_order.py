"""Scores that keep the order in which an engine served documents with equal scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def break_ties(scores: Floats) -> Floats:
    """Lower equal scores by the smallest steps, in the order in which they were served.

    Steps are those of 32-bit numbers, so that tools that read 32-bit scores see no ties either.
    The order of different scores does not change, and scores without an equal one stay as they
    are, unless lowered ones reach them.

    Args:
        scores: (n,) of a list, in the order in which it was served.

    >>> break_ties(np.array([2.0, 1.0, 1.0, 0.5])).round(7).tolist()
    [2.0, 1.0, 0.9999999, 0.5]
    """
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    is_large = np.abs(sorted_scores).max(initial=0.0) >= np.finfo(np.float32).max
    steps = _to_steps(sorted_scores.astype(np.float64 if is_large else np.float32))
    ranks = np.arange(len(sorted_scores))
    lowered_steps = np.minimum.accumulate(steps + ranks) - ranks
    untied_scores = np.empty(len(scores))
    untied_scores[order] = np.where(
        lowered_steps == steps, sorted_scores, _from_steps(lowered_steps, large=is_large)
    )
    return untied_scores


def _to_steps(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Integers in the order of the values; neighbouring numbers are 1 apart."""
    bit_patterns = values.view(f"i{values.itemsize}").astype(np.int64)
    return np.where(
        bit_patterns < 0, np.iinfo(f"i{values.itemsize}").min - bit_patterns, bit_patterns
    )


def _from_steps(steps: NDArray[np.int64], *, large: bool) -> Floats:
    """The numbers that `_to_steps` turned into integers."""
    byte_count = 8 if large else 4
    bit_patterns = np.where(steps < 0, np.iinfo(f"i{byte_count}").min - steps, steps)
    return bit_patterns.astype(f"i{byte_count}").view(f"f{byte_count}").astype(np.float64)
