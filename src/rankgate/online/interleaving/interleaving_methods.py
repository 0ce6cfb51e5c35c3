"""All interleaving methods: those of rankgate, then those of installed plug-ins.

Team draft: in each round every system, in random order, adds its best document left. Balanced
interleaving: the top k of the mixed list are the tops of both lists. Optimised interleaving:
mixed lists that distinguish systems without bias. Probabilistic interleaving:
systems draw documents, low ranks rarely.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate, permutations
from math import prod
from random import Random

from rankgate.core.declare import Registry, find_declared
from rankgate.core.errors import UsageError
from rankgate.online.interleaving.interleaving_method import (
    Assignment,
    Credits,
    Drawn,
    Interleaving,
    Lists,
    additive_score,
    team_credits,
)


def draw_team_draft(lists: Lists, length: int, random: Random) -> Drawn:
    """Mix the lists; a round that is unfair because a list ends counts for no system.

    Without that rule a user who clicks at random would prefer the longer list.
    """
    docs: list[str] = []
    teams: list[int | None] = []
    mixed_docs: set[str] = set()
    positions = [0] * len(lists)
    order = list(range(len(lists)))
    while len(docs) < length:
        docs_before = len(docs)
        is_fair = _is_fair_round(lists, mixed_docs)
        random.shuffle(order)
        for system in order:
            ranked, position = lists[system], positions[system]
            while position < len(ranked) and ranked[position] in mixed_docs:
                position += 1
            if position < len(ranked) and len(docs) < length:
                docs.append(ranked[position])
                mixed_docs.add(ranked[position])
                teams.append(system if is_fair else None)
            positions[system] = position
        if len(docs) == docs_before:
            break
    return docs, teams


def _is_fair_round(lists: Lists, mixed_docs: set[str]) -> bool:
    """True if every system adds equally often in the next round, over all orders.

    This holds if each system can always add a document, or if all have the same documents left.
    """
    count = len(lists)
    if all(len(ranked) - len(mixed_docs) >= count for ranked in lists):
        return True
    remaining = [[doc for doc in ranked if doc not in mixed_docs] for ranked in lists]
    if len({frozenset(docs) for docs in remaining}) == 1:
        return True
    tops = [set(docs[: count - 1]) for docs in remaining]
    return all(
        len(docs) >= count
        or set(docs)
        - set().union(*(top_docs for other_system, top_docs in enumerate(tops) if other_system != system))
        for system, docs in enumerate(remaining)
    )


TEAM_DRAFT = Interleaving(
    "team_draft",
    title="Team draft, for two systems or more",
    formula="every round each system, in random order, adds its best document that is not yet in the list; a "
    "click counts for the system that added it",
    source="Radlinski, Kurup and Joachims 2008; Schuth and others 2014",
    bias="cannot see some differences: with a b c against b c a and clicks on c alone, both systems are "
    "credited equally often",
    draw=draw_team_draft,
    score=additive_score(team_credits),
)


def draw_balanced(lists: Lists, length: int, random: Random) -> Drawn:
    """Draw the first system; the system with the smaller next rank adds its document if new.

    The mixed list ends where a list ends, as in the paper.
    """
    first_list, second_list = lists
    first = random.getrandbits(1)
    docs: list[str] = []
    teams: list[int | None] = []
    mixed_docs: set[str] = set()
    first_position = second_position = 0
    while len(docs) < length and first_position < len(first_list) and second_position < len(second_list):
        is_first_turn = first_position < second_position or (first_position == second_position and first == 0)
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
    """Credit clicks in the top k of each list; k is the depth that covers the shown documents.

    k is the better rank of the lowest clicked document, as defined by Joachims.
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


BALANCED = Interleaving(
    "balanced",
    title="Balanced, for two systems",
    formula="the system that has the turn adds its next rank; clicks are counted in the top k of both lists, "
    "k being the better rank of the lowest click, less the mean count of the same slots in all requests of "
    "the query; the list ends where one ends",
    source="Joachims 2003",
    bias="counts of clicks at random prefer one system where its list is the other's moved up, so that only "
    "differences between requests of the same query count: a query with one request adds nothing",
    most=2,
    draw=draw_balanced,
    score=score,
    test="t",
    centred=True,
    teams=False,
)


ClickWorth = Callable[[int, int], float]
"""The worth of a click to the first system, from the ranks in both lists."""

MAX_SLOTS = 10
"""Slots at most: up to 2^(slots - 1) lists need a probability."""

_CACHE_SIZE = 4096
_MIN_PROBABILITY = 1e-12  # a probability


def reciprocal_rank_difference(first_rank: int, second_rank: int) -> float:
    """The difference of reciprocal ranks."""
    return 1 / first_rank - 1 / second_rank


def rank_difference(first_rank: int, second_rank: int) -> float:
    """The difference of ranks."""
    return float(second_rank - first_rank)


def allowed_lists(
    first_list: tuple[str, ...], second_list: tuple[str, ...], length: int
) -> list[tuple[str, ...]]:
    """All mixed lists in which each document is the best remaining document of a list."""
    prefixes: list[tuple[str, ...]] = [()]
    for _ in range(length):
        longer_prefixes = [
            (*prefix, doc)
            for prefix in prefixes
            for doc in dict.fromkeys(
                (_next_document(first_list, prefix), _next_document(second_list, prefix))
            )
            if doc is not None
        ]
        if not longer_prefixes:
            break
        prefixes = longer_prefixes
    return prefixes


def _next_document(ranked: tuple[str, ...], prefix: tuple[str, ...]) -> str | None:
    return next((doc for doc in ranked if doc not in prefix), None)


@lru_cache(maxsize=_CACHE_SIZE)
def mixed_list_probabilities(
    first_list: tuple[str, ...], second_list: tuple[str, ...], length: int, worth: ClickWorth
) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...], int]:
    """The mixed lists, their probabilities, and the number of slots that count.

    For every k up to this number, a user who clicks at random on one of the top k must give both
    systems the same expected credit. Among such probabilities, those with the largest expected
    squared credit of a random click are used, as they distinguish systems best. All slots count if
    probabilities exist for every k; else, as with lists of unequal length, only the first slots.
    """
    import numpy as np
    from scipy.optimize import linprog

    lists = allowed_lists(first_list, second_list, length)
    last_rank = min(length, max(len(first_list), len(second_list))) + 1
    firsts, seconds = _ranks(first_list, last_rank), _ranks(second_list, last_rank)
    credit = np.array(
        [[worth(firsts.get(doc, last_rank), seconds.get(doc, last_rank)) for doc in docs] for docs in lists]
    ).reshape(len(lists), -1)
    bias = np.cumsum(credit, axis=1).T
    for depth in range(len(bias), 0, -1):
        solution = linprog(
            -(credit[:, :depth] ** 2).sum(axis=1),
            A_eq=np.vstack([np.ones((1, len(lists))), bias[:depth]]),
            b_eq=np.r_[1.0, np.zeros(depth)],
            method="highs",
        )
        if solution.status == 0:
            probability = np.clip(solution.x, 0, None)
            positive = np.nonzero(probability > _MIN_PROBABILITY)[0]
            normalised = tuple((probability[positive] / probability[positive].sum()).tolist())
            return tuple(lists[index] for index in positive), normalised, depth
    return (lists[0],), (1.0,), 0


def _ranks(ranked: tuple[str, ...], last_rank: int) -> dict[str, int]:
    return {doc: min(rank, last_rank) for rank, doc in enumerate(ranked, 1)}


def _draw(lists: Lists, length: int, random: Random, worth: ClickWorth) -> Drawn:
    """Draw one of the lists by probability; the probabilities are cached for the next request.

    Raises:
        UsageError: too many slots to compute probabilities.
    """
    if length > MAX_SLOTS:
        problem = f"optimised interleaving takes at most {MAX_SLOTS} slots, not {length}."
        raise UsageError(problem, code="too-many-slots")
    first_list, second_list = (tuple(ranked) for ranked in lists)
    mixed_lists, list_probabilities, depth = mixed_list_probabilities(first_list, second_list, length, worth)
    list_index = bisect(list(accumulate(list_probabilities)), random.random())
    docs = mixed_lists[min(list_index, len(mixed_lists) - 1)]
    firsts, seconds = _ranks(first_list, MAX_SLOTS + 1), _ranks(second_list, MAX_SLOTS + 1)
    teams = [
        int(seconds.get(doc, MAX_SLOTS + 1) < firsts.get(doc, MAX_SLOTS + 1)) if slot < depth else None
        for slot, doc in enumerate(docs)
    ]
    return list(docs), teams


def _credits(assignment: Assignment, worth: ClickWorth) -> Credits:
    last_rank = min(len(assignment.docs), max(assignment.lengths)) + 1
    rows = []
    for (first_rank, second_rank), team in zip(assignment.ranks, assignment.teams, strict=True):
        value = (
            0.0
            if team is None
            else worth(min(first_rank or last_rank, last_rank), min(second_rank or last_rank, last_rank))
        )
        rows.append((max(value, 0.0), max(-value, 0.0)))
    return tuple(rows)


def _optimised_method(name: str, worth: ClickWorth, credit_name: str) -> Interleaving:
    return Interleaving(
        name,
        title=f"Optimised, for two systems, credit by {credit_name}",
        formula="of all lists whose next document is the best left of either system, probabilities that give "
        "a random click at any depth no preference, and the largest squared credit; a click is worth the "
        f"difference of {credit_name}",
        source="Radlinski and Craswell 2013",
        bias="a page must be drawn whole: a longer list is not the shorter one continued",
        most=2,
        draw=partial(_draw, worth=worth),
        score=additive_score(partial(_credits, worth=worth)),
        test="t",
        teams=False,
    )


OPTIMISED = _optimised_method("optimised", reciprocal_rank_difference, "reciprocal ranks")
LINEAR = _optimised_method("optimised_linear", rank_difference, "ranks")


TAU = 3.0
"""P(rank) is in proportion to 1 / rank^TAU."""


@lru_cache(maxsize=64)
def rank_weights(length: int) -> tuple[float, ...]:
    """The weights of the ranks of a list, from rank 1."""
    return tuple(rank**-TAU for rank in range(1, length + 1))


def draw_probabilistic(lists: Lists, length: int, random: Random, *, rounds: bool = False) -> Drawn:
    """For each slot draw a system, then one of its remaining documents.

    If a list is exhausted, documents that other systems add count for no system. With rounds, so do
    those of a round in which a list could end before its turn: who drew first would decide if it counts.

    Args:
        lists: documents by system.
        length: the number of slots.
        random: the source of random numbers.
        rounds: True if every system has one turn before any system has a second turn.
    """
    weights = [list(rank_weights(len(ranked))) for ranked in lists]
    positions = [{doc: position for position, doc in enumerate(ranked)} for ranked in lists]
    docs: list[str] = []
    teams: list[int | None] = []
    turns: list[int] = []
    is_fair = True
    while len(docs) < length:
        systems_left = [system for system, remaining in enumerate(weights) if any(remaining)]
        if not systems_left:
            break
        if rounds and len(docs) % len(lists) == 0:  # whoever draws first, no list ends in the round
            is_fair = is_fair and all(sum(map(bool, remaining)) >= len(lists) for remaining in weights)
        turns = [system for system in turns if system in systems_left] or list(systems_left)
        system = turns[int(random.random() * len(turns))]
        if rounds:
            turns.remove(system)
        else:
            turns = []
        doc = lists[system][_draw_position(weights[system], random)]
        docs.append(doc)
        teams.append(system if is_fair and len(systems_left) == len(lists) else None)
        for position_of, system_weights in zip(positions, weights, strict=True):
            if doc in position_of:
                system_weights[position_of[doc]] = 0.0
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
    """The probability of each system to draw the document, by slot, given the documents above it."""
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
    """P(system filled the slot | list), over all possible assignments of systems to slots.

    The expectation over assignments is exact, and has less variance than the drawn assignment.
    Given the list, slots are independent of each other; with rounds, slots of different rounds are.
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
        slot_credits += [tuple(share / total if is_drawn else 0.0 for share in row) for row in round_credits]
    return tuple(slot_credits)


def _probabilistic_method(name: str, rule: str, source: str, *, rounds: bool) -> Interleaving:
    return Interleaving(
        name,
        title=f"Probabilistic, {rule.rstrip(',')}, for two systems or more",
        formula=f"{rule} draws, and of its list a document with P in proportion to 1 / rank^3; a click "
        "counts for each system with the probability that it drew the document",
        source=source,
        bias="shows documents far from their ranks, which costs users more than other methods do",
        draw=partial(draw_probabilistic, rounds=rounds),
        score=additive_score(partial(expected_credits, rounds=rounds)),
        test="t",
    )


PROBABILISTIC = _probabilistic_method(
    "probabilistic",
    "for each slot a system",
    "Hofmann, Whiteson and de Rijke 2011; Schuth and others 2015",
    rounds=False,
)
ROUNDS = _probabilistic_method(
    "probabilistic_rounds",
    "every round each system, in random order,",
    "Hofmann, Whiteson and de Rijke 2011, with systems drawn without replacement",
    rounds=True,
)


METHODS = Registry(
    Interleaving,
    "interleaving method",
    partial(find_declared, __name__, Interleaving),
    "rankgate.interleavings",
)
"""Interleaving methods by name."""
