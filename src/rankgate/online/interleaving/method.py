"""An interleaving method: how lists are mixed, and what a click is worth to whom."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from random import Random
from typing import Literal

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass
from rankgate.online.interleaving.assignment import Assignment, Credits

Lists = Sequence[Sequence[str]]
Drawn = tuple[list[str], list[int | None]]
"""Documents by slot, and the system whose turn filled each slot."""


@dataclass(frozen=True)
class Interleaving(Declared):
    """An interleaving method.

    Attributes:
        draw: from lists, a length and random numbers a mixed list with the team of each slot.
        score: from an assignment and the clicked slots (from 0) the credit of each system.
        most: how many lists it takes at most; None is any number.
        formula: how it works, in words.
        bias: what it is known to get wrong; empty where nothing is known.
        test: the test that keeps its level: the sign test, where a user who clicks at random gives
            either system more credit equally often; Student's t, where only the mean credits are
            equal.
        centred: whether credits are taken less the mean of the same clicked slots in all requests
            of the query, as random clicks would otherwise prefer a system.
        teams: whether each slot is drawn for one system, so that their shares can be checked.
    """

    draw: Callable[[Lists, int, Random], Drawn] = field(kw_only=True)
    score: Callable[[Assignment, Sequence[int]], tuple[float, ...]] = field(kw_only=True)
    most: int | None = field(default=None, kw_only=True)
    formula: str = field(default="", kw_only=True)
    bias: str = field(default="", kw_only=True)
    test: Literal["sign", "t"] = field(default="sign", kw_only=True)
    centred: bool = field(default=False, kw_only=True)
    teams: bool = field(default=True, kw_only=True)


def additive_score(
    credits_of: Callable[[Assignment], Credits],
) -> Callable[[Assignment, Sequence[int]], tuple[float, ...]]:
    """A score that is the sum of the credits of clicked slots."""

    def score(assignment: Assignment, clicked: Sequence[int]) -> tuple[float, ...]:
        slot_credits = credits_of(assignment)
        return tuple(
            sum(slot_credits[slot][system] for slot in clicked)
            for system in range(len(assignment.systems))
        )

    return score


def team_credits(assignment: Assignment) -> Credits:
    """A click is worth 1 to the system whose turn filled the slot."""
    systems = range(len(assignment.systems))
    return tuple(tuple(float(team == system) for system in systems) for team in assignment.teams)
