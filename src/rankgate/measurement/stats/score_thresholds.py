"""Thresholds of scores that keep a demand on questions, whatever the distribution of the scores.

A demand is a floor of the mean of shares between 0 and 1, one for each question. It holds for a
threshold that is chosen by the same questions, because the shares rise or fall with the threshold:
a wrong threshold keeps the demand in the sample only if the first threshold beyond the right ones
does, and that one does not depend on the sample.
"""

from __future__ import annotations

from bisect import bisect_left
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.mean_intervals import betting_exceeds, betting_low

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Subject = Literal["silent", "kept"]
"""What is demanded: questions without an answer that return nothing, or relevant documents kept."""

Keep = Literal["share", "one", "all"]
"""The share of a question's relevant documents that it keeps; or 1 if it keeps one of them, or all."""

_LARGEST_SAMPLE = 1 << 20
_DIGITS = 17  # a float has no more


@dataclass(frozen=True)
class Demand:
    """A floor of a mean share, shown by a sample of independent questions.

    Shares that are 0 or 1 have the exact bound of Clopper and Pearson (Biometrika 26, 1934): the
    mean is at least f if P(X ≤ losses) ≤ alpha, X binomial in n and 1 − f; as a bound of an order
    statistic it is the tolerance limit of Wilks (Ann. Math. Statist. 12, 1941). Other shares have
    the bound by betting (`betting_low`).

    Attributes:
        floor: the smallest mean that is allowed, between 0 and 1.
        alpha: the largest probability that a demand that does not hold is found to be kept.
        exact: True for shares that are 0 or 1.
    """

    floor: float
    alpha: float = 0.05
    exact: bool = True

    def is_kept(self, shares: Floats) -> bool:
        """True if the mean of (n,) shares is shown to be at least the floor.

        >>> Demand(0.95).is_kept(np.ones(58)), Demand(0.95).is_kept(np.ones(59))
        (False, True)
        """
        if not shares.any():
            return False
        if not self.exact:
            return bool(betting_exceeds(shares, self.floor, 0.0, 1.0, self.alpha)[0])
        from rankgate.measurement.stats.special_functions import bdtr

        return bool(bdtr((shares < 1).sum(), len(shares), 1 - self.floor) <= self.alpha)

    def bounds(self, shares: Floats) -> tuple[float, float]:
        """The lower and the upper bound of the mean of (n,) shares, each at level 1 − alpha.

        >>> [round(end, 4) for end in Demand(0.95).bounds(np.ones(59))]
        [0.9505, 1.0]
        """
        return self._low(shares), 1 - self._low(1 - shares)

    def _low(self, shares: Floats) -> float:
        if not shares.any():
            return 0.0
        if not self.exact:
            return float(betting_low(shares, 0.0, 1.0, self.alpha)[0])
        from rankgate.measurement.stats.special_functions import betaincinv

        losses = (shares < 1).sum()
        return float(betaincinv(len(shares) - losses, losses + 1, self.alpha))

    def missing(self, shares: Floats) -> int | None:
        """About how many more questions like these would show that the demand is kept.

        Without questions, all are taken to have a share of 1. None if the mean is not above the
        floor, so that no number would.

        >>> [Demand(floor).missing(np.ones(0)) for floor in (0.9, 0.95, 0.99)]
        [29, 59, 299]
        """
        ordered = np.sort(shares) if len(shares) else np.ones(1)
        n = last = len(ordered)
        if ordered.mean() <= self.floor:
            return None

        def is_enough(size: int) -> bool:
            return self.is_kept(ordered[((np.arange(size) + 0.5) * n / size).astype(np.int64)])

        while not is_enough(last):
            last *= 2
            if last > _LARGEST_SAMPLE:
                return None
        return bisect_left(range(last), 1, key=is_enough) - len(shares)


@dataclass(frozen=True)
class QuestionScores:
    """The scores that a threshold is chosen by.

    A document is shown if its score is at least the threshold.

    Attributes:
        tops: (U,) the highest score of each question without an answer; minus infinity where
            nothing was returned.
        scores: (R,) the scores of the relevant documents that were retrieved.
        owner: (R,) the question of each, from 0 to A − 1, each of which has one at least.
        keep: what a question keeps.
    """

    tops: Floats
    scores: Floats
    owner: NDArray[np.int64]
    keep: Keep = "share"

    @cached_property
    def ends(self) -> Floats:
        """The scores at which shares change, in order, between minus infinity and infinity."""
        return np.unique(np.concatenate([[-np.inf, np.inf], self.tops, self.scores]))

    def shares(self, subject: Subject, threshold: float) -> Floats:
        """The share of each question at a threshold: (U,) for silent, (A,) for kept."""
        if subject == "silent":
            return (self.tops < threshold).astype(np.float64)
        relevant = np.bincount(self.owner)
        counts = np.bincount(self.owner[self.scores >= threshold], minlength=len(relevant))
        if self.keep == "share":
            return counts / np.maximum(relevant, 1)
        return (counts >= (relevant if self.keep == "all" else 1)).astype(np.float64)

    def choose(self, subject: Subject, demand: Demand) -> float | None:
        """The lowest threshold that keeps a demand on silence, or the highest one for documents.

        None if there are too few questions.

        >>> scores = QuestionScores(np.arange(60.0), np.arange(40.0), np.arange(40))
        >>> scores.choose("silent", Demand(0.95)), scores.choose("kept", Demand(0.9))
        (60.0, 0.0)
        """
        is_lowest, gaps = subject == "silent", range(len(self.ends) - 1)

        def is_beyond(gap: int) -> bool:
            return demand.is_kept(self.shares(subject, self.ends[gap + 1])) == is_lowest

        gap = bisect_left(gaps, 1, key=is_beyond) - (not is_lowest)
        return self.threshold(gap) if gap in gaps else None

    def threshold(self, gap: int) -> float:
        """The number with the fewest digits above an end and at most the next one."""
        low, high = (float(end) for end in self.ends[gap : gap + 2])
        number, rounding = (high, ROUND_FLOOR) if np.isfinite(high) else (low, ROUND_CEILING)
        numbers = (
            float(Context(prec=digits, rounding=rounding).create_decimal(Decimal(number)))
            for digits in range(1, _DIGITS + 1)
        )
        return next((number for number in numbers if low < number <= high), float(np.nextafter(low, high)))
