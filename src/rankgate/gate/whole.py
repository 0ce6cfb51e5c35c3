"""A number about all lists together, such as coverage: one for a system, none for a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Drawn:
    """A number, and what it is when users are drawn again.

    Attributes:
        users: whose lists it is about.
        value: the number.
        again: ``(B,)``, the number in each resample of the users.
    """

    users: int
    value: float
    again: NDArray[np.float64]


@dataclass(frozen=True)
class Whole:
    """A number about all lists together, of both systems.

    Attributes:
        users: whose lists it is about.
        baseline, candidate: the number of each.
        drawn: ``(2, B)``, both in each resample; the same users for both.
    """

    users: int
    baseline: float
    candidate: float
    drawn: NDArray[np.float64]

    def gain(self, *, lower: bool = False) -> Drawn:
        """What the candidate gains, by the direction of improvement."""
        sign = -1 if lower else 1
        return Drawn(
            self.users,
            sign * (self.candidate - self.baseline),
            sign * (self.drawn[1] - self.drawn[0]),
        )

    @property
    def own(self) -> Drawn:
        """The candidate's number."""
        return Drawn(self.users, self.candidate, self.drawn[1])
