"""A number about all lists together, such as coverage: one for a system, none for a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.stats.resampling.resampled import Redrawn


@dataclass(frozen=True)
class Drawn:
    """A number, and what it is for other users.

    Attributes:
        users: whose lists it is about.
        value: the number.
        redrawn: the number for users drawn again, and without some of them.
    """

    users: int
    value: float
    redrawn: Redrawn

    def __neg__(self) -> Drawn:
        return Drawn(self.users, -self.value, -self.redrawn)


@dataclass(frozen=True)
class Whole:
    """A number about all lists together, of both systems.

    Attributes:
        users: whose lists it is about.
        baseline, candidate: the number of each.
        redrawn: both for other users, ``(2, ·)``; the same users for both.
    """

    users: int
    baseline: float
    candidate: float
    redrawn: Redrawn

    def gain(self, *, lower: bool = False) -> Drawn:
        """What the candidate gains, by the direction of improvement."""
        risen = Drawn(self.users, self.candidate - self.baseline, self.redrawn[1] - self.redrawn[0])
        return -risen if lower else risen

    @property
    def own(self) -> Drawn:
        """The candidate's number."""
        return Drawn(self.users, self.candidate, self.redrawn[1])
