"""Metrics of all lists together, such as coverage: one value for a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.measurement.stats.resampling.resampled import ResampledValues


@dataclass(frozen=True)
class ResampledValue:
    """A value, with its values for resampled users.

    Attributes:
        users: whose lists it is about.
        value: the number.
        redrawn: the number for users drawn again, and without some of them.
    """

    users: int
    value: float
    redrawn: ResampledValues

    def __neg__(self) -> ResampledValue:
        return ResampledValue(self.users, -self.value, -self.redrawn)


@dataclass(frozen=True)
class ListTotal:
    """A metric of all lists together, for both systems.

    Attributes:
        users: whose lists it is about.
        baseline, candidate: the number of each.
        redrawn: both for other users, ``(2, ·)``; the same users for both.
    """

    users: int
    baseline: float
    candidate: float
    redrawn: ResampledValues

    def gain(self, *, lower: bool = False) -> ResampledValue:
        """The gain of the candidate, by the direction of improvement."""
        difference = ResampledValue(
            self.users, self.candidate - self.baseline, self.redrawn[1] - self.redrawn[0]
        )
        return -difference if lower else difference

    @property
    def own(self) -> ResampledValue:
        """The candidate's value."""
        return ResampledValue(self.users, self.candidate, self.redrawn[1])
