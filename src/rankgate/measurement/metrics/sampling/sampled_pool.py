"""The input of estimates from a sample: pools in strata, and the judged part of each.

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

_MAX_DIFFERENCE = 0.02
"""The largest difference of a probability from the share of its stratum that was judged."""


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
        sizes = np.bincount(self.stratum).astype(np.float64)
        for s in np.flatnonzero(sizes == self.judged):
            probabilities = self.given[(self.stratum == s) & ~np.isnan(self.given)]
            if len(probabilities) and probabilities.mean() > 0:
                sizes[s] = self.judged[s] / probabilities.mean()
        return sizes

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
        has_probability = self.drawn & ~np.isnan(self.given)
        share = (self.judged / self.size)[self.stratum]
        wrong = has_probability & (np.abs(self.given - share) > _MAX_DIFFERENCE)
        if wrong.any():
            row = int(wrong.argmax())
            raise InputError(
                f"query '{name}': a document has probability {self.given[row]:g}, and "
                f"{share[row]:.3g} of its stratum is judged; list the documents that were not "
                "drawn with grade -1, or correct the strata.",
                code="unfit-probability",
            )
