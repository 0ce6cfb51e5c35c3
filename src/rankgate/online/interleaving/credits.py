"""Credits of requests from their clicks, centred where random clicks would prefer a system."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.interleaving.catalogue import METHODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.interleaving.assignment import Assignment

    Floats = NDArray[np.float64]


def credits_of_requests(
    assignments: Sequence[Assignment], clicked: Sequence[Sequence[int]]
) -> Floats:
    """(n, systems) the credit of each system in each request.

    Centred credits are those less the mean that the same clicked slots have in all requests of the
    same query. Where users click at random, the slots do not depend on which of the lists was
    shown, so that their mean is 0; a request that is the only one of its query has 0.

    Args:
        assignments: (n,) mixed lists of one method.
        clicked: (n,) the clicked slots of each, from 0.
    """
    method = METHODS.named(assignments[0].method)
    width = len(assignments[0].systems)
    credit = np.array(
        [
            method.score(assignment, slots) if slots else (0.0,) * width
            for assignment, slots in zip(assignments, clicked, strict=True)
        ]
    )
    if not method.centred:
        return credit
    of_query: dict[str, list[int]] = defaultdict(list)
    for row, assignment in enumerate(assignments):
        of_query[assignment.query].append(row)
    for rows in of_query.values():
        variants = Counter(assignments[row].ranks for row in rows)
        examples = {assignments[row].ranks: assignments[row] for row in rows}
        means: dict[tuple[int, ...], Floats] = {}
        for row in rows:
            if slots := tuple(clicked[row]):
                if slots not in means:
                    means[slots] = _mean_credit(variants, examples, slots)
                credit[row] -= means[slots]
    return np.round(credit, _DIGITS)


_DIGITS = 12  # so that equal credits less their mean are 0


def _mean_credit(
    variants: Counter[tuple[tuple[int | None, ...], ...]],
    examples: dict[tuple[tuple[int | None, ...], ...], Assignment],
    slots: tuple[int, ...],
) -> Floats:
    """The mean credit of clicks on the slots, in all lists that have them."""
    total, count = np.zeros(0), 0
    for ranks, times in variants.items():
        if max(slots) < len(ranks):
            assignment = examples[ranks]
            score = METHODS.named(assignment.method).score(assignment, slots)
            total = times * np.array(score) + (total if count else 0.0)
            count += times
    return total / count
