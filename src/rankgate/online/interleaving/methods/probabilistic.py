"""Probabilistic interleaving: systems draw documents, low ranks rarely."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import permutations
from math import prod
from random import Random

from rankgate.online.interleaving.assignment import Assignment, Credits
from rankgate.online.interleaving.method import Drawn, Interleaving, Lists, additive_score

TAU = 3.0
"""P(rank) is in proportion to 1 / rank^TAU."""


@lru_cache(maxsize=64)
def rank_weights(length: int) -> tuple[float, ...]:
    """Weights of the ranks of a list, from the first."""
    return tuple(rank**-TAU for rank in range(1, length + 1))


def draw(lists: Lists, length: int, random: Random, *, rounds: bool = False) -> Drawn:
    """For each slot a system is drawn, then one of its documents that are left.

    Where a list has run out, what others add counts for nobody.

    Args:
        lists: documents by system.
        length: slots.
        random: the draws.
        rounds: whether every system has a turn before one has a second.
    """
    weights = [list(rank_weights(len(ranked))) for ranked in lists]
    positions = [{doc: position for position, doc in enumerate(ranked)} for ranked in lists]
    docs: list[str] = []
    teams: list[int | None] = []
    turns: list[int] = []
    while len(docs) < length:
        systems_left = [system for system, remaining in enumerate(weights) if any(remaining)]
        if not systems_left:
            break
        turns = [system for system in turns if system in systems_left] or list(systems_left)
        system = turns[int(random.random() * len(turns))]
        if rounds:
            turns.remove(system)
        else:
            turns = []
        doc = lists[system][_draw_position(weights[system], random)]
        docs.append(doc)
        teams.append(system if len(systems_left) == len(lists) else None)
        for position_of, system_weights in zip(positions, weights, strict=True):
            if doc in position_of:
                system_weights[position_of[doc]] = 0.0
    if rounds and None in teams:  # the whole round in which a list ran out
        first_slot = teams.index(None) // len(lists) * len(lists)
        teams[first_slot:] = [None] * (len(docs) - first_slot)
    return docs, teams


def _draw_position(weights: list[float], random: Random) -> int:
    """Draw a position, in proportion to the weights."""
    point = random.random() * sum(weights)
    last = 0
    for position, weight in enumerate(weights):
        if weight:
            last = position
            point -= weight
            if point < 0:
                break
    return last


def draw_probabilities(assignment: Assignment) -> list[list[float]]:
    """By slot, the chance of each system to draw the document, given those above it."""
    remaining = [sum(rank_weights(length)) for length in assignment.lengths]
    rows = []
    for ranks in assignment.ranks:
        rows.append(
            [
                rank**-TAU / weight if rank is not None and weight > 0 else 0.0
                for rank, weight in zip(ranks, remaining, strict=True)
            ]
        )
        remaining = [
            weight if rank is None else weight - rank**-TAU
            for rank, weight in zip(ranks, remaining, strict=True)
        ]
    return rows


def expected_credits(assignment: Assignment, *, rounds: bool = False) -> Credits:
    """P(system drew the slot | the list): assignments that were not drawn count as well.

    The expectation over assignments is exact, and has less variance than the one that was drawn.
    Slots are independent of each other given the list; with rounds, those of different rounds.
    """
    systems = len(assignment.systems)
    size = systems if rounds else 1
    rows = draw_probabilities(assignment)
    slot_credits: list[tuple[float, ...]] = []
    for first_slot in range(0, len(rows), size):
        round_rows = rows[first_slot : first_slot + size]
        round_credits = [[0.0] * systems for _ in round_rows]
        total = 0.0
        for turns in permutations(range(systems), len(round_rows)):
            chance = prod(row[system] for row, system in zip(round_rows, turns, strict=True))
            total += chance
            for row, system in zip(round_credits, turns, strict=True):
                row[system] += chance
        is_drawn = None not in assignment.teams[first_slot : first_slot + size] and total > 0
        slot_credits += [
            tuple(share / total if is_drawn else 0.0 for share in row) for row in round_credits
        ]
    return tuple(slot_credits)


def _method(name: str, rule: str, source: str, *, rounds: bool) -> Interleaving:
    return Interleaving(
        name,
        title=f"Probabilistic, {rule.rstrip(',')}, for two systems or more",
        formula=f"{rule} draws, and of its list a document with P in proportion to 1 / rank^3; a "
        "click counts for each system as probable as it is that it drew the document",
        source=source,
        bias="shows documents far from their ranks, which costs users more than other methods do",
        draw=partial(draw, rounds=rounds),
        score=additive_score(partial(expected_credits, rounds=rounds)),
        test="t",
    )


METHOD = _method(
    "probabilistic",
    "for each slot a system",
    "Hofmann, Whiteson and de Rijke 2011; Schuth and others 2015",
    rounds=False,
)
ROUNDS = _method(
    "probabilistic_rounds",
    "every round each system, in random order,",
    "Hofmann, Whiteson and de Rijke 2011, with systems drawn without replacement",
    rounds=True,
)
