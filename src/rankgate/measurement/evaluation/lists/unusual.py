"""Warnings about unusual lists of a system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgate.measurement.metrics.lists.listed import count_shared

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.listed import Listed
    from rankgate.measurement.scoring.catalogue import Catalogue


def list_warnings(catalogue: Catalogue, lists: Listed) -> Iterator[str]:
    """Warn about unusual lists of one system; a sentence each."""
    empty = int((lists.lengths == 0).sum())
    if empty:
        verb = "gets" if empty == 1 else "get"
        yield f"{empty:,} of {len(catalogue.queries):,} users {verb} no item."
    if catalogue.seen is not None:
        shown_items = np.unique(lists.items[lists.shown])
        new_count = int(np.count_nonzero(catalogue.seen[shown_items] == 0))
        if new_count:
            yield f"{count_with_verb(new_count, 'item')} shown and not in training."
    if lists.history is not None:
        repeat_count = count_shared(lists.items, lists.history)
        if repeat_count:
            subject = "1 place shows" if repeat_count == 1 else f"{repeat_count:,} places show"
            yield f"{subject} what the user had in training."


def count_with_verb(count: int, noun: str) -> str:
    """A number with its noun and verb.

    >>> count_with_verb(1, "user"), count_with_verb(2000, "item")
    ('1 user is', '2,000 items are')
    """
    return f"1 {noun} is" if count == 1 else f"{count:,} {noun}s are"
