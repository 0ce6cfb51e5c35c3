"""What estimates from a sample see: pools in strata, with the part of each that is judged.

Shapes: P documents of the pool of a query, judged or (negative grade) not.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.metrics.judged import Counts, Flags, Floats

_APART = 0.02
"""How far a probability may be from the share of its stratum that was judged."""


@dataclass(frozen=True, eq=False)
class SampledPool:
    """The pool of one query.

    Attributes:
        rank: ``(P,)`` ranks, infinite where a document is not retrieved.
        grade: ``(P,)``; negative is in the pool and not drawn.
        stratum: ``(P,)`` from 0.
        given: ``(P,)`` probabilities of being drawn as the judgments say, NaN where they do not.
    """

    rank: Floats
    grade: Floats
    stratum: Counts
    given: Floats

    @cached_property
    def drawn(self) -> Flags:
        """``(P,)``, which documents are judged."""
        return self.grade >= 0

    @cached_property
    def judged(self) -> Floats:
        """Documents judged in each stratum, ``(S,)``."""
        return np.bincount(self.stratum, self.drawn).astype(np.float64)

    @cached_property
    def size(self) -> Floats:
        """Documents in each stratum, ``(S,)``; by probabilities where the rest is not listed."""
        listed = np.bincount(self.stratum).astype(np.float64)
        for s in np.flatnonzero(listed == self.judged):
            known = self.given[(self.stratum == s) & ~np.isnan(self.given)]
            if len(known) and known.mean() > 0:
                listed[s] = self.judged[s] / known.mean()
        return listed

    @cached_property
    def weight(self) -> Floats:
        """``(P,)``, how many documents each one that was drawn represents: size / judged."""
        rate = np.divide(
            self.size, self.judged, out=np.zeros_like(self.size), where=self.judged > 0
        )
        return np.where(self.drawn, rate[self.stratum], 0)

    def refuse_unfit(self, name: str) -> None:
        """Check that probabilities are the share of their stratum that was judged.

        Raises:
            InputError: one is not.
        """
        known = self.drawn & ~np.isnan(self.given)
        share = (self.judged / self.size)[self.stratum]
        wrong = known & (np.abs(self.given - share) > _APART)
        if wrong.any():
            at = int(wrong.argmax())
            raise InputError(
                f"query '{name}': a document has probability {self.given[at]:g}, and "
                f"{share[at]:.3g} of its stratum is judged; list the documents that were not "
                "drawn with grade -1, or correct the strata.",
                code="unfit-probability",
            )
