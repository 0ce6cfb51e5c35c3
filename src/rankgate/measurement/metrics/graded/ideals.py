"""The ideal ranking, by which a discounted gain is divided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from rankgate.core.declare import OnlyWith
from rankgate.measurement.metrics.graded.gains import ideal_gains, retrieved_gains
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, total

if TYPE_CHECKING:
    from numpy.typing import NDArray
from rankgate.measurement.metrics.graded.gains import Gain, Levels

Ideal = Literal["judged", "retrieved", "shown", "known", "counted"]
"""Of all judged documents; of those that were retrieved, or are in the first k; of all
documents judged or retrieved, which differs from the first where a gain is below 0; or of as
many gains of 1 as the grades add up to, as if each grade were 0 or 1."""

Depth = Annotated[
    Literal["cutoff", "all", "returned"],
    OnlyWith("ideal", "judged", "retrieved", "known", "counted"),
]
"""To k, through all documents, or to the length of the list if that is less than k."""

_LONGEST = 1 << 24  # gains of an ideal ranking


def ideal_ranking(
    judged: Judged,
    cutoff: int | None,
    gain: Gain,
    *,
    ideal: Ideal = "judged",
    depth: Depth = "cutoff",
    levels: Levels = "exact",
) -> tuple[Floats, NDArray[np.int64]]:
    """The gains of the ideal ranking and their ranks, ``(T, I)`` both.

    Documents without worth need no row. Gains below 0 are at the last ranks, behind
    the unjudged documents where those are part of the ideal.
    """
    end = None if depth == "all" else cutoff
    if ideal in ("judged", "known"):
        best_gains = ideal_gains(judged, gain, end, levels)
    elif ideal == "counted":
        best_gains = _ones(judged, end)
    else:
        best_gains = np.sort(_retrieved_gains(judged, cutoff, gain, ideal), axis=-1)[:, ::-1][
            :, :end
        ]
        best_gains = np.maximum(best_gains, 0)
    rank = np.broadcast_to(np.arange(1, best_gains.shape[-1] + 1), best_gains.shape)
    if gain == "signed":
        worst_gains, last = _negative_gains(judged, cutoff, ideal)
        best_gains, rank = (
            np.concatenate([best_gains, worst_gains], -1),
            np.concatenate([rank, last], -1),
        )
        best_gains = best_gains if end is None else np.where(rank > end, 0, best_gains)
    if depth == "returned":
        best_gains = np.where(rank > judged.retrieved[:, None], 0, best_gains)
    return best_gains, rank


def _ones(judged: Judged, end: int | None) -> Floats:
    """As many gains of 1 as the grades add up to, ``(T, I)``.

    Raises:
        OverflowError: more of them than memory should hold.
    """
    length = np.floor(total(np.maximum(judged.ideal, 0)))
    longest = min(length.max(initial=1), end or np.inf)
    if longest > _LONGEST:
        raise OverflowError
    ranks = np.arange(1, int(longest) + 1)
    return (ranks <= length[:, None]).astype(np.float64)


def one_if_gain_elsewhere(judged: Judged, norm: Floats, gain: Gain) -> Floats:
    """An ideal of what was retrieved, 1 where that is worth nothing and other documents are."""
    elsewhere = ideal_gains(judged, gain)[:, 0] > 0
    return np.where((norm <= 0) & elsewhere, 1, norm)


def _retrieved_gains(judged: Judged, cutoff: int | None, gain: Gain, ideal: Ideal) -> Floats:
    """The gains of the retrieved documents that the ideal is made of, ``(T, J)``."""
    gains = retrieved_gains(judged, gain)
    if ideal == "shown" and cutoff is not None:
        gains = np.where(judged.rank > cutoff, 0, gains)
    return gains


def _negative_gains(
    judged: Judged, cutoff: int | None, ideal: Ideal
) -> tuple[Floats, NDArray[np.int64]]:
    """The negative gains, the lowest first and at the last rank of the ideal ranking."""
    if ideal in ("judged", "known"):
        worst_gains = judged.below
    else:
        worst_gains = np.sort(
            np.minimum(_retrieved_gains(judged, cutoff, "signed", ideal), 0), axis=-1
        )
    rank = _ideal_length(judged, cutoff, ideal)[:, None] - np.arange(worst_gains.shape[-1])
    return worst_gains, np.maximum(rank, 1)


def _ideal_length(judged: Judged, cutoff: int | None, ideal: Ideal) -> Counts:
    """Documents of the ideal ranking, ``(T,)``."""
    retrieved = judged.retrieved
    if ideal == "shown" and cutoff is not None:
        return np.minimum(retrieved, cutoff)
    if ideal in ("retrieved", "shown"):
        return retrieved
    if ideal == "known":
        return judged.documents
    pool: Counts = judged.judged + count(judged.below < 0)
    return pool
