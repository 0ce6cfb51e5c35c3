"""Normalisations: scores of different systems on one scale, list by list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared, Registry
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.fusion.candidates import Candidates

_SMALLEST_RANGE = 1e-9  # of a range, so that equal scores do not divide by 0; ranx has the same
_MAD = 1.4826  # the standard deviation of a normal distribution in units of its MAD


@dataclass(frozen=True)
class ScoredLists:
    """The scores of one run, list after list, best first; no list is empty.

    Attributes:
        scores: ``(m,)``.
        starts: ``(T,)``, where each list begins.
        counts: ``(T,)``, how many documents it has.
    """

    scores: NDArray[np.float64]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def each(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Repeat a value of each list, ``(T,)``, for each of its documents, ``(m,)``."""
        return np.repeat(values, self.counts)

    @property
    def lowest(self) -> NDArray[np.float64]:
        """``(T,)``, the last score of each list."""
        return self.scores[self.starts + self.counts - 1]

    @property
    def highest(self) -> NDArray[np.float64]:
        """``(T,)``, the first score of each list."""
        return self.scores[self.starts]

    @property
    def sums(self) -> NDArray[np.float64]:
        """``(T,)``, the sum of each list."""
        return np.add.reduceat(self.scores, self.starts)

    def medians(self) -> NDArray[np.float64]:
        """``(T,)``, the median of each list."""
        low = self.scores[self.starts + (self.counts - 1) // 2]
        return (low + self.scores[self.starts + self.counts // 2]) / 2

    @property
    def places(self) -> NDArray[np.int64]:
        """``(m,)``, the place of each document in its list, from 0."""
        return np.arange(len(self.scores)) - np.repeat(self.starts, self.counts)


@dataclass(frozen=True)
class Normalisation(Declared):
    """A method that brings scores to one scale before they are fused.

    Attributes:
        function: from the lists of one run to their normalised scores, ``(m,)``.
        finish: what depends on the candidates of all runs; None needs nothing.
    """

    function: Callable[[ScoredLists], NDArray[np.float64]]
    finish: Callable[[Candidates], Candidates] | None = None

    def apply(
        self, scores: NDArray[np.float64], starts: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Normalise the scores of one run.

        Args:
            scores: ``(m,)``, list after list, best first.
            starts: ``(T,)``, where each list begins.
            counts: ``(T,)``, how long each is.

        Raises:
            UsageError: scores that this normalisation is not defined for.
        """
        filled = counts > 0
        if not filled.any():
            return scores
        return self.function(ScoredLists(scores, starts[filled], counts[filled]))


def _unchanged(lists: ScoredLists) -> NDArray[np.float64]:
    return lists.scores


def _min_max(lists: ScoredLists) -> NDArray[np.float64]:
    score_range = np.maximum(lists.highest - lists.lowest, _SMALLEST_RANGE)
    return (lists.scores - lists.each(lists.lowest)) / lists.each(score_range)


def _min_max_inverted(lists: ScoredLists) -> NDArray[np.float64]:
    score_range = np.maximum(lists.highest - lists.lowest, _SMALLEST_RANGE)
    return (lists.each(lists.highest) - lists.scores) / lists.each(score_range)


def _max(lists: ScoredLists) -> NDArray[np.float64]:
    if (lists.highest <= 0).any():
        raise UsageError(
            "the normalisation max divides by the highest score of a list, and one is not above "
            "0; use min-max.",
            code="invalid-scores",
        )
    return lists.scores / lists.each(lists.highest)


def _sum(lists: ScoredLists) -> NDArray[np.float64]:
    total = np.maximum(lists.sums - lists.lowest * lists.counts, _SMALLEST_RANGE)
    return (lists.scores - lists.each(lists.lowest)) / lists.each(total)


def _z_score(lists: ScoredLists) -> NDArray[np.float64]:
    from_mean = lists.scores - lists.each(lists.sums / lists.counts)
    squares = np.add.reduceat(from_mean**2, lists.starts)
    return from_mean / lists.each(np.maximum(np.sqrt(squares / lists.counts), _SMALLEST_RANGE))


def _tanh(lists: ScoredLists) -> NDArray[np.float64]:
    return (np.tanh(_z_score(lists) / 100) + 1) / 2


def _robust(lists: ScoredLists) -> NDArray[np.float64]:
    from_median = lists.scores - lists.each(lists.medians())
    owner = np.repeat(np.arange(len(lists.counts)), lists.counts)
    distances = np.abs(from_median)
    sorted_distances = distances[np.lexsort((-distances, owner))]
    mad = ScoredLists(sorted_distances, lists.starts, lists.counts).medians()
    return from_median / lists.each(np.maximum(mad * _MAD, _SMALLEST_RANGE))


def _rank(lists: ScoredLists) -> NDArray[np.float64]:
    return 1 - lists.places / lists.each(lists.counts.astype(np.float64))


def _borda(candidates: Candidates) -> Candidates:
    """Points by rank among all candidates; documents that a run lacks share its other points."""
    sizes = candidates.sizes[candidates.owner]
    lengths = candidates.lengths[:, candidates.owner]
    present = candidates.present
    shared = 0.5 - (lengths - 1) / (2 * sizes)
    return replace(
        candidates,
        scores=np.where(present, 1 - (candidates.ranks - 1) / sizes, shared),
        ranks=np.where(present, candidates.ranks, lengths + 1),  # one rank for all the others
    )


_LEE = "Lee, SIGIR 1997"
_MONTAGUE = "Montague and Aslam, CIKM 2001"
_RENDA = "Renda and Straccia, SAC 2003"

NORMALISATIONS = Registry(
    Normalisation,
    "normalisation",
    (
        Normalisation("none", _unchanged, title="scores as they are"),
        Normalisation(
            "min-max",
            _min_max,
            source=_LEE,
            aliases=("min_max",),
            title="(score - lowest) / (highest - lowest) of the list",
        ),
        Normalisation(
            "min-max-inverted",
            _min_max_inverted,
            aliases=("min_max_inverted",),
            title="(highest - score) / (highest - lowest) of the list; for distances",
            source="ranx",
        ),
        Normalisation("max", _max, source=_LEE, title="score / highest of the list"),
        Normalisation(
            "sum",
            _sum,
            source=_MONTAGUE,
            title="(score - lowest) / sum of (score - lowest) over the list",
        ),
        Normalisation(
            "z-score",
            _z_score,
            source=_MONTAGUE,
            aliases=("zmuv",),
            title="(score - mean) / standard deviation of the list; mean 0, variance 1",
        ),
        Normalisation(
            "robust",
            _robust,
            source="Jain, Nandakumar and Ross, Pattern Recognition 2005",
            title="(score - median) / (1.4826 x median absolute deviation); outliers matter little",
        ),
        Normalisation(
            "tanh",
            _tanh,
            source="Jain, Nandakumar and Ross, Pattern Recognition 2005",
            title="(tanh(0.01 x z-score) + 1) / 2; between 0 and 1",
        ),
        Normalisation("rank", _rank, source=_RENDA, title="1 - (rank - 1) / length of the list"),
        Normalisation(
            "borda",
            _unchanged,
            _borda,
            source=_RENDA,
            title="1 - (rank - 1) / candidates; documents missing from a run share the rest",
        ),
    ),
)
"""The normalisations, by name."""
