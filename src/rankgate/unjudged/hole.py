"""What unjudged documents could make of one metric's difference."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hole:
    """What the unjudged documents could make of one metric's difference.

    Attributes:
        worst, best: the mean difference with every unjudged document against the candidate, and
            for it.
        flip: the probability that judging them would turn the sign or leave the margin; None
            where it was not estimated.
        judge: how many documents to judge first.
    """

    worst: float
    best: float
    flip: float | None = None
    judge: int = 0
