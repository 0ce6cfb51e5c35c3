"""Probabilistic interleaving: systems draw documents, low ranks rarely."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import permutations
from math import prod
from random import Random

from rankgate.online.interleaving.assignment import Assignment, Credits
from rankgate.online.interleaving.method import Drawn, Interleaving, Lists, additive

TAU = 3.0
"""P(rank) is in proportion to 1 / rank^TAU."""


@lru_cache(maxsize=64)
def chances(length: int) -> tuple[float, ...]:
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
    weights = [list(chances(len(each))) for each in lists]
    places = [{doc: place for place, doc in enumerate(each)} for each in lists]
    docs: list[str] = []
    teams: list[int | None] = []
    turns: list[int] = []
    while len(docs) < length:
        alive = [system for system, each in enumerate(weights) if any(each)]
        if not alive:
            break
        turns = [system for system in turns if system in alive] or list(alive)
        system = turns[int(random.random() * len(turns))]
        if rounds:
            turns.remove(system)
        else:
            turns = []
        doc = lists[system][_drawn(weights[system], random)]
        docs.append(doc)
        teams.append(system if len(alive) == len(lists) else None)
        for found, left in zip(places, weights, strict=True):
            if doc in found:
                left[found[doc]] = 0.0
    if rounds and None in teams:  # the whole round in which a list ran out
        begin = teams.index(None) // len(lists) * len(lists)
        teams[begin:] = [None] * (len(docs) - begin)
    return docs, teams


def _drawn(weights: list[float], random: Random) -> int:
    """A place, in proportion to the weights."""
    point = random.random() * sum(weights)
    last = 0
    for place, weight in enumerate(weights):
        if weight:
            last = place
            point -= weight
            if point < 0:
                break
    return last


def shares(assignment: Assignment) -> list[list[float]]:
    """By slot, the chance of each system to draw the document, given those above it."""
    left = [sum(chances(length)) for length in assignment.lengths]
    rows = []
    for ranks in assignment.ranks:
        rows.append(
            [rank**-TAU / rest if rank is not None and rest > 0 else 0.0
             for rank, rest in zip(ranks, left, strict=True)]
        )  # fmt: skip
        left = [
            rest if rank is None else rest - rank**-TAU
            for rank, rest in zip(ranks, left, strict=True)
        ]
    return rows


def credits_of(assignment: Assignment, *, rounds: bool = False) -> Credits:
    """P(system drew the slot | the list): assignments that were not drawn count as well.

    The expectation over assignments is exact, and has less variance than the one that was drawn.
    Slots are independent of each other given the list; with rounds, those of different rounds.
    """
    systems = len(assignment.systems)
    size = systems if rounds else 1
    rows = shares(assignment)
    found: list[tuple[float, ...]] = []
    for begin in range(0, len(rows), size):
        part = rows[begin : begin + size]
        worth = [[0.0] * systems for _ in part]
        total = 0.0
        for turns in permutations(range(systems), len(part)):
            chance = prod(row[system] for row, system in zip(part, turns, strict=True))
            total += chance
            for row, system in zip(worth, turns, strict=True):
                row[system] += chance
        known = None not in assignment.teams[begin : begin + size] and total > 0
        found += [tuple(each / total if known else 0.0 for each in row) for row in worth]
    return tuple(found)


def _method(name: str, words: str, source: str, *, rounds: bool) -> Interleaving:
    return Interleaving(
        name,
        title=f"Probabilistic, {words}, for two systems or more",
        formula=f"{words} draws, and of its list a document with P in proportion to 1 / rank^3; a "
        "click counts for each system as probable as it is that it drew the document",
        source=source,
        bias="shows documents far from their ranks, which costs users more than other methods do",
        draw=partial(draw, rounds=rounds),
        score=additive(partial(credits_of, rounds=rounds)),
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
