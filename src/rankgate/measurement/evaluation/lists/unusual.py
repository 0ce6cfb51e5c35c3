"""Warnings about unusual lists of a system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.metrics.lists.listed import shared

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.listed import Listed
    from rankgate.measurement.scoring.catalogue import Catalogue


def odd_lists(catalogue: Catalogue, listed: Listed) -> Iterator[str]:
    """What is odd about one system's lists, a sentence each."""
    empty = int((listed.lengths == 0).sum())
    if empty:
        verb = "gets" if empty == 1 else "get"
        yield f"{empty:,} of {len(catalogue.queries):,} users {verb} no item."
    if catalogue.seen is not None:
        shown = np.unique(listed.items[listed.shown])
        fresh = int(np.count_nonzero(catalogue.seen[shown] == 0))
        if fresh:
            yield f"{are(fresh, 'item')} shown and not in training."
    if listed.history is not None:
        again = shared(listed.items, listed.history)
        if again:
            what = "1 place shows" if again == 1 else f"{again:,} places show"
            yield f"{what} what the user had in training."


def are(count: int, one: str) -> str:
    """A number of something, and its verb.

    >>> are(1, "user"), are(2000, "item")
    ('1 user is', '2,000 items are')
    """
    return f"1 {one} is" if count == 1 else f"{count:,} {one}s are"
