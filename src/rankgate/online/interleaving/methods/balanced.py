"""Balanced interleaving: the top k of the mixed list are the tops of both lists."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from rankgate.online.interleaving.assignment import Assignment
from rankgate.online.interleaving.method import Drawn, Interleaving, Lists


def draw(lists: Lists, length: int, random: Random) -> Drawn:
    """One coin says who is first; the one whose next rank is lower adds, if it is not there yet.

    The mixed list ends where a list ends, as in the paper.
    """
    first_list, second_list = lists
    first = random.getrandbits(1)
    docs: list[str] = []
    teams: list[int | None] = []
    mixed_docs: set[str] = set()
    first_position = second_position = 0
    while (
        len(docs) < length
        and first_position < len(first_list)
        and second_position < len(second_list)
    ):
        is_first_turn = first_position < second_position or (
            first_position == second_position and first == 0
        )
        doc = first_list[first_position] if is_first_turn else second_list[second_position]
        first_position, second_position = (
            first_position + is_first_turn,
            second_position + (not is_first_turn),
        )
        if doc not in mixed_docs:
            mixed_docs.add(doc)
            docs.append(doc)
            teams.append(0 if is_first_turn else 1)
    return docs, teams


def score(assignment: Assignment, clicked: Sequence[int]) -> tuple[float, ...]:
    """Clicks among the top k of each list; k is the depth at which one has all shown until then.

    k is the better rank of the lowest clicked document, as Joachims has it.
    """
    if not clicked:
        return (0.0, 0.0)
    clicked_ranks = [rank for rank in assignment.ranks[max(clicked)] if rank is not None]
    k = min(clicked_ranks) if clicked_ranks else 0
    counts = [0.0, 0.0]
    for slot in clicked:
        for system, rank in enumerate(assignment.ranks[slot]):
            counts[system] += rank is not None and rank <= k
    return counts[0], counts[1]


METHOD = Interleaving(
    "balanced",
    title="Balanced, for two systems",
    formula="the system whose turn it is adds its next rank; clicks are counted in the top k of "
    "both lists, k being the better rank of the lowest click, less the mean count of the same "
    "slots in all requests of the query; the list ends where one ends",
    source="Joachims 2003",
    bias="counts of clicks at random prefer one system where its list is the other's moved up, so "
    "that only differences between requests of the same query count: a query with one request "
    "says nothing",
    most=2,
    draw=draw,
    score=score,
    test="t",
    centred=True,
    teams=False,
)
