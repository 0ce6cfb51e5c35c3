"""Thresholds of scores that keep a demand on questions, whatever the distribution of the scores.

A document is shown if its score is at least the threshold. A question has one score: without an
answer its highest one, which must not be shown; with an answer that of a relevant document, which
must be. The threshold is an order statistic of n independent scores, the k-th one from the end that
is given up, and k is the largest number with P(X ≤ k) ≤ alpha, X binomial in n and the largest
share of losses: a tolerance limit (Wilks, Ann. Math. Statist. 12, 1941). k depends on n alone, so
that choosing the threshold by the same scores costs nothing, and equal scores make it keep more.
"""

from __future__ import annotations

from bisect import bisect_left
from decimal import ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Subject = Literal["silent", "kept"]
"""What is demanded: questions without an answer that return nothing, or relevant documents kept."""

_MOST = 1 << 30  # questions, more than which are not asked for
_CONTEXTS = tuple(Context(prec=digits, rounding=ROUND_FLOOR) for digits in range(3, 18))
"""The numbers of digits that a threshold may have; a float has no more."""


@dataclass(frozen=True)
class Demand:
    """The smallest share of questions that must not be lost, shown by independent questions.

    Attributes:
        floor: the smallest share, between 0 and 1.
        alpha: the largest probability that a demand that does not hold is found to be kept.
    """

    floor: float
    alpha: float = 0.05

    def is_kept(self, losses: float, n: int) -> bool:
        """True if the share of all questions that are not lost is shown to be at least the floor.

        >>> Demand(0.95).is_kept(0, 58), Demand(0.95).is_kept(0, 59)
        (False, True)
        """
        from rankgate.measurement.stats.special_functions import bdtr

        return n > 0 and bool(bdtr(losses, n, 1 - self.floor) <= self.alpha)

    def allowed_losses(self, n: int) -> int:
        """The largest number of losses with which the demand is kept; −1 if n is too small.

        >>> [Demand(0.95).allowed_losses(n) for n in (58, 59, 93, 124)]
        [-1, 0, 1, 2]
        """
        return bisect_left(range(n), 1, key=lambda losses: not self.is_kept(losses, n)) - 1

    def bounds(self, losses: int, n: int) -> tuple[float, float]:
        """The bounds of the share that is not lost, each at level 1 − alpha.

        Clopper and Pearson, Biometrika 26, 1934.

        >>> [round(end, 4) for end in Demand(0.95).bounds(0, 59)]
        [0.9505, 1.0]
        """
        from rankgate.measurement.stats.special_functions import betaincinv

        low = betaincinv(n - losses, losses + 1, self.alpha) if losses < n else 0.0
        high = betaincinv(n - losses + 1, losses, 1 - self.alpha) if losses else 1.0
        return float(low), float(high)

    def missing(self, losses: int = 0, n: int = 0) -> int | None:
        """How many more questions with this share of losses would show that the demand is kept.

        None if no number would.

        >>> [Demand(floor).missing() for floor in (0.9, 0.95, 0.99)]
        [29, 59, 299]
        """
        share = losses / n if n else 0.0
        sizes = range(n, _MOST)
        more_count = bisect_left(sizes, 1, key=lambda size: self.is_kept(np.ceil(share * size), size))
        return None if share >= 1 - self.floor or more_count == len(sizes) else more_count


@dataclass(frozen=True)
class QuestionScores:
    """The score of each question that a threshold is chosen by.

    Attributes:
        tops: (U,) the highest score of questions without an answer; minus infinity where nothing
            was returned.
        relevant: (A,) the score of a relevant document of questions with an answer.
    """

    tops: Floats
    relevant: Floats

    def values(self, subject: Subject) -> Floats:
        """The scores of the questions of a subject."""
        return self.tops if subject == "silent" else self.relevant

    def losses(self, subject: Subject, threshold: float) -> int:
        """The number of questions that a threshold loses: answered without an answer, or not kept."""
        is_shown = self.values(subject) >= threshold
        return int(np.count_nonzero(is_shown == (subject == "silent")))

    @cached_property
    def ends(self) -> Floats:
        """The scores at which shares change, in order, between minus infinity and infinity."""
        return np.unique(np.concatenate([[-np.inf, np.inf], self.tops, self.relevant]))

    def choose(self, subject: Subject, demand: Demand) -> float | None:
        """The lowest threshold that keeps a demand on silence, or the highest one for documents.

        None if there are too few questions.

        >>> scores = QuestionScores(np.arange(60.0), np.arange(29.0))
        >>> scores.choose("silent", Demand(0.95)), scores.choose("kept", Demand(0.9))
        (59.1, 0.0)
        """
        scores = np.sort(self.values(subject))
        losses = demand.allowed_losses(len(scores))
        if losses < 0:
            return None
        is_silent = subject == "silent"
        end = scores[-1 - losses] if is_silent else scores[losses]
        return self.threshold(int(np.searchsorted(self.ends, end)) - (not is_silent), above=is_silent)

    def threshold(self, gap: int, *, above: bool = False) -> float:
        """A number of few digits above an end and at most the next one.

        Args:
            gap: the position of the end.
            above: True for one near the end, else it is near the next one.
        """
        low, high = (float(end) for end in self.ends[gap : gap + 2])
        is_upward = (above and np.isfinite(low)) or not np.isfinite(high)
        numbers = (
            float(context.next_plus(Decimal(repr(low))) if is_upward else context.create_decimal(repr(high)))
            for context in _CONTEXTS
        )
        end = high if np.isfinite(high) else float(np.nextafter(low, high))
        return next((number for number in numbers if low < number <= high), end)
