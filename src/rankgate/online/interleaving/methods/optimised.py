"""Optimised interleaving: of all mixed lists those that tell systems apart without bias."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import accumulate
from random import Random

from rankgate.core.errors import UsageError
from rankgate.online.interleaving.assignment import Assignment, Credits
from rankgate.online.interleaving.method import Drawn, Interleaving, Lists, additive

Worth = Callable[[int, int], float]
"""What a click is worth to the first system, from the ranks in both lists."""

LONGEST = 10
"""Slots at most: there are up to 2^(slots - 1) lists whose probabilities are sought."""

_KEPT = 4096
_LEAST = 1e-12  # a probability


def inverse(one: int, other: int) -> float:
    """The difference of reciprocal ranks."""
    return 1 / one - 1 / other


def linear(one: int, other: int) -> float:
    """The difference of ranks."""
    return float(other - one)


def allowed(one: tuple[str, ...], other: tuple[str, ...], length: int) -> list[tuple[str, ...]]:
    """All lists whose next document is always the best left of one of both lists."""
    found: list[tuple[str, ...]] = [()]
    for _ in range(length):
        longer = [
            (*head, doc)
            for head in found
            for doc in dict.fromkeys((_best_left(one, head), _best_left(other, head)))
            if doc is not None
        ]
        if not longer:
            break
        found = longer
    return found


def _best_left(ranked: tuple[str, ...], head: tuple[str, ...]) -> str | None:
    return next((each for each in ranked if each not in head), None)


@lru_cache(maxsize=_KEPT)
def probabilities(
    one: tuple[str, ...], other: tuple[str, ...], length: int, worth: Worth
) -> tuple[tuple[tuple[str, ...], ...], tuple[float, ...], int]:
    """Lists, their probabilities, and how many slots count.

    For every k up to that many slots, a user who clicks on any of the top k at random must give
    both systems the same expected credit; of such probabilities those with the largest expected
    squared credit of a random click, which tells systems apart best, are taken. All slots count
    where probabilities satisfy every k; else, as with lists of unequal length, the first ones.
    """
    import numpy as np
    from scipy.optimize import linprog

    lists = allowed(one, other, length)
    last = min(length, max(len(one), len(other))) + 1
    firsts, seconds = _ranks(one, last), _ranks(other, last)
    credit = np.array(
        [[worth(firsts.get(doc, last), seconds.get(doc, last)) for doc in each] for each in lists]
    ).reshape(len(lists), -1)
    bias = np.cumsum(credit, axis=1).T
    for depth in range(len(bias), 0, -1):
        found = linprog(
            -(credit[:, :depth] ** 2).sum(axis=1),
            A_eq=np.vstack([np.ones((1, len(lists))), bias[:depth]]),
            b_eq=np.r_[1.0, np.zeros(depth)],
            method="highs",
        )
        if found.status == 0:
            shares = np.clip(found.x, 0, None)
            kept = np.nonzero(shares > _LEAST)[0]
            chosen = tuple((shares[kept] / shares[kept].sum()).tolist())
            return tuple(lists[at] for at in kept), chosen, depth
    return (lists[0],), (1.0,), 0


def _ranks(ranked: tuple[str, ...], last: int) -> dict[str, int]:
    return {doc: min(rank, last) for rank, doc in enumerate(ranked, 1)}


def _draw(lists: Lists, length: int, random: Random, worth: Worth) -> Drawn:
    """One of the lists by their probabilities, which are kept for the next request.

    Raises:
        UsageError: more slots than probabilities can be sought for.
    """
    if length > LONGEST:
        problem = f"optimised interleaving takes at most {LONGEST} slots, not {length}."
        raise UsageError(problem, code="too-many-slots")
    one, other = (tuple(each) for each in lists)
    found, shares, depth = probabilities(one, other, length, worth)
    at = bisect(list(accumulate(shares)), random.random())
    docs = found[min(at, len(found) - 1)]
    firsts, seconds = _ranks(one, LONGEST + 1), _ranks(other, LONGEST + 1)
    teams = [
        int(seconds.get(doc, LONGEST + 1) < firsts.get(doc, LONGEST + 1)) if slot < depth else None
        for slot, doc in enumerate(docs)
    ]
    return list(docs), teams


def _credits(assignment: Assignment, worth: Worth) -> Credits:
    last = min(len(assignment.docs), max(assignment.lengths)) + 1
    rows = []
    for (one, other), team in zip(assignment.ranks, assignment.teams, strict=True):
        value = 0.0 if team is None else worth(min(one or last, last), min(other or last, last))
        rows.append((max(value, 0.0), max(-value, 0.0)))
    return tuple(rows)


def _method(name: str, worth: Worth, words: str) -> Interleaving:
    return Interleaving(
        name,
        title=f"Optimised, for two systems, credit by {words}",
        formula="of all lists whose next document is the best left of either system, probabilities "
        "that give a random click at any depth no preference, and the largest squared credit; a "
        f"click is worth the difference of {words}",
        source="Radlinski and Craswell 2013",
        bias="a page must be drawn whole: a longer list is not the shorter one continued",
        most=2,
        draw=partial(_draw, worth=worth),
        score=additive(partial(_credits, worth=worth)),
        test="t",
        teams=False,
    )


METHOD = _method("optimised", inverse, "reciprocal ranks")
LINEAR = _method("optimised_linear", linear, "ranks")
