"""An interleaving method: the mixing of lists, and the credit of a click.

An `Assignment` is one mixed list with the data to credit its clicks; a service logs it as one line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from random import Random
from typing import Any, Literal

from rankgate.core.declare import Declared
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

Credits = tuple[tuple[float, ...], ...]
"""By slot, the credit that a click gives each system."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A mixed list, with all data that scoring needs.

    Attributes:
        request: the id of the request; the draw depends only on this id and the seed.
        method: the interleaving method.
        systems: names of the systems, in the order of their lists.
        docs: ids of the documents by slot.
        teams: by slot, the index of the system whose turn filled the slot (in optimised
            interleaving: that ranks the document higher); None if the slot counts for no system.
        ranks: by slot, the document's rank from 1 in the list of each system; None if the list
            lacks the document.
        lengths: the number of documents that each system returned.
        seed: the seed of the draws.
        query: the words or id of the query; may be empty.
    """

    request: str
    method: str
    systems: tuple[str, ...]
    docs: tuple[str, ...]
    teams: tuple[int | None, ...]
    ranks: tuple[tuple[int | None, ...], ...]
    lengths: tuple[int, ...]
    seed: int = 0
    query: str = ""

    def page(self, number: int, size: int) -> tuple[str, ...]:
        """The documents of one page, from 1; clicks keep their slots in the whole list."""
        return self.docs[(number - 1) * size : number * size]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a line of JSON in the log."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "", line: int | None = None) -> Assignment:
        """The assignment from the values of ``to_dict``; other keys are ignored.

        Raises:
            InputError: a key is missing, or the parts do not fit together.
        """
        try:
            assignment = cls(
                str(values["request"]),
                str(values["method"]),
                tuple(map(str, values["systems"])),
                tuple(map(str, values["docs"])),
                tuple(None if team is None else int(team) for team in values["teams"]),
                tuple(
                    tuple(None if rank is None else int(rank) for rank in slot) for slot in values["ranks"]
                ),
                tuple(map(int, values["lengths"])),
                int(values.get("seed", 0)),
                str(values.get("query", "")),
            )
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            problem = f"not an assignment of interleaving ({type(error).__name__}: {error})."
            raise InputError(problem, source=source, line=line, code="invalid-assignment") from None
        if problem := assignment.fault:
            raise InputError(problem, source=source, line=line, code="invalid-assignment")
        return assignment

    @property
    def fault(self) -> str:
        """The reason why the parts do not fit together; empty if they do."""
        systems, slots = len(self.systems), len(self.docs)
        if systems < 2 or len(set(self.systems)) != systems:
            return "an assignment needs two systems or more, with different names."
        if len(self.teams) != slots or len(self.ranks) != slots:
            return f"docs, teams and ranks must have equal lengths; docs has {slots}."
        if len(self.lengths) != systems or any(len(ranks) != systems for ranks in self.ranks):
            return f"lengths and the ranks of each slot must be of {systems} systems."
        if any(team is not None and not 0 <= team < systems for team in self.teams):
            return f"a team must be from 0 to {systems - 1}, or null."
        if len(set(self.docs)) != slots:
            return "a document is in the list twice."
        return ""


def refuse_lists(lists: Sequence[Sequence[str]], max_lists: int | None, method: str) -> None:
    """Refuse lists that cannot be mixed.

    Raises:
        InputError: fewer than two lists, too many lists for the method, a duplicate document in a
            list.
    """
    if len(lists) < 2 or (max_lists is not None and len(lists) > max_lists):
        takes = "two lists" if max_lists == 2 else "two lists or more"
        problem = f"{method} takes {takes}, not {len(lists)}."
        raise InputError(problem, code="wrong-list-count")
    for number, ranked in enumerate(lists, 1):
        if len(set(ranked)) != len(ranked):
            repeated = next(doc for index, doc in enumerate(ranked) if doc in ranked[:index])
            problem = f"list {number} has the document {repeated!r} twice; leave repetitions out."
            raise InputError(problem, code="duplicate-document")


Lists = Sequence[Sequence[str]]
Drawn = tuple[list[str], list[int | None]]
"""Documents by slot, and the system that filled each slot."""


@dataclass(frozen=True, kw_only=True)
class Interleaving(Declared):
    """An interleaving method.

    Attributes:
        draw: from lists, a length and random numbers a mixed list with the team of each slot.
        score: from an assignment and the clicked slots (from 0) the credit of each system.
        most: the largest number of lists; None is any number.
        formula: the method, in words.
        bias: its known bias; empty if none is known.
        test: the test that keeps its level: the sign test, where a user who clicks at random gives
            either system more credit equally often; Student's t, where only the mean credits are
            equal.
        centred: True if credits are taken less the mean of the same clicked slots in all requests
            of the query, as random clicks would otherwise prefer a system.
        teams: True if each slot is drawn for one system, so that their shares can be checked.
    """

    draw: Callable[[Lists, int, Random], Drawn]
    score: Callable[[Assignment, Sequence[int]], tuple[float, ...]]
    most: int | None = None
    formula: str = ""
    bias: str = ""
    test: Literal["sign", "t"] = "sign"
    centred: bool = False
    teams: bool = True


def additive_score(
    credits_of: Callable[[Assignment], Credits],
) -> Callable[[Assignment, Sequence[int]], tuple[float, ...]]:
    """Make a score function that sums the credits of clicked slots."""

    def score(assignment: Assignment, clicked: Sequence[int]) -> tuple[float, ...]:
        slot_credits = credits_of(assignment)
        return tuple(
            sum(slot_credits[slot][system] for slot in clicked) for system in range(len(assignment.systems))
        )

    return score


def team_credits(assignment: Assignment) -> Credits:
    """Give credit 1 for each click to the system whose turn filled the slot."""
    systems = range(len(assignment.systems))
    return tuple(tuple(float(team == system) for system in systems) for team in assignment.teams)
