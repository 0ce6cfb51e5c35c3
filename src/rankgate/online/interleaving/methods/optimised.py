"""Optimised interleaving: of all mixed lists those that tell systems apart without bias."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate
from random import Random

from rankgate.core.errors import UsageError
from rankgate.online.interleaving.assignment import Assignment, Credits
from rankgate.online.interleaving.method import Drawn, Interleaving, Lists, additive_score

ClickWorth = Callable[[int, int], float]
"""The worth of a click to the first system, from the ranks in both lists."""

MAX_SLOTS = 10
"""Slots at most: there are up to 2^(slots - 1) lists whose probabilities are sought."""

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
    """All lists whose next document is always the best left of one of both lists."""
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
    """Lists, their probabilities, and how many slots count.

    For every k up to that many slots, a user who clicks on any of the top k at random must give
    both systems the same expected credit; of such probabilities those with the largest expected
    squared credit of a random click, which tells systems apart best, are taken. All slots count
    where probabilities satisfy every k; else, as with lists of unequal length, the first ones.
    """
    import numpy as np
    from scipy.optimize import linprog

    lists = allowed_lists(first_list, second_list, length)
    last_rank = min(length, max(len(first_list), len(second_list))) + 1
    firsts, seconds = _ranks(first_list, last_rank), _ranks(second_list, last_rank)
    credit = np.array(
        [
            [worth(firsts.get(doc, last_rank), seconds.get(doc, last_rank)) for doc in docs]
            for docs in lists
        ]
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
    """One of the lists by their probabilities, which are kept for the next request.

    Raises:
        UsageError: more slots than probabilities can be sought for.
    """
    if length > MAX_SLOTS:
        problem = f"optimised interleaving takes at most {MAX_SLOTS} slots, not {length}."
        raise UsageError(problem, code="too-many-slots")
    first_list, second_list = (tuple(ranked) for ranked in lists)
    mixed_lists, list_probabilities, depth = mixed_list_probabilities(
        first_list, second_list, length, worth
    )
    list_index = bisect(list(accumulate(list_probabilities)), random.random())
    docs = mixed_lists[min(list_index, len(mixed_lists) - 1)]
    firsts, seconds = _ranks(first_list, MAX_SLOTS + 1), _ranks(second_list, MAX_SLOTS + 1)
    teams = [
        int(seconds.get(doc, MAX_SLOTS + 1) < firsts.get(doc, MAX_SLOTS + 1))
        if slot < depth
        else None
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
            else worth(
                min(first_rank or last_rank, last_rank), min(second_rank or last_rank, last_rank)
            )
        )
        rows.append((max(value, 0.0), max(-value, 0.0)))
    return tuple(rows)


def _method(name: str, worth: ClickWorth, credit_name: str) -> Interleaving:
    return Interleaving(
        name,
        title=f"Optimised, for two systems, credit by {credit_name}",
        formula="of all lists whose next document is the best left of either system, probabilities "
        "that give a random click at any depth no preference, and the largest squared credit; a "
        f"click is worth the difference of {credit_name}",
        source="Radlinski and Craswell 2013",
        bias="a page must be drawn whole: a longer list is not the shorter one continued",
        most=2,
        draw=partial(_draw, worth=worth),
        score=additive_score(partial(_credits, worth=worth)),
        test="t",
        teams=False,
    )


METHOD = _method("optimised", reciprocal_rank_difference, "reciprocal ranks")
LINEAR = _method("optimised_linear", rank_difference, "ranks")
