"""Warnings about metrics on lists: catalogue, users, relevance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl


def catalogue_facts(items: pl.Series, stated: Sequence[pl.Series]) -> Mapping[str, Any]:
    """Count the items of a catalogue, stated and not.

    Args:
        items: all items that count: those stated, and those of training, judgments and lists.
        stated: the items that the user states, from each place where some are stated.

    Returns:
        ``items``, how many there are; ``stated``, whether the user states any; ``outside``, how
        many are not among the stated ones.

    >>> catalogue_facts(pl.Series(["a", "b"]), [pl.Series(["a"])])
    {'items': 2, 'stated': True, 'outside': 1}
    """
    stated_ids = pl.concat([pl.Series([], dtype=pl.String), *stated])
    outside = int((~items.is_in(stated_ids.implode())).sum()) if len(stated_ids) else 0
    return {"items": len(items), "stated": not stated_ids.is_empty(), "outside": outside}


def catalogue_notice(facts: Mapping[str, Any]) -> Iterator[str]:
    """Warn that a catalogue is guessed, or has more items than the user states."""
    if not facts["stated"]:
        yield (
            f"catalogue of {facts['items']:,} items, guessed from what training, judgments and "
            "lists name; state it with --items (in Python also catalogue=)"
        )
    elif facts["outside"]:
        yield (
            f"catalogue of {facts['items']:,} items: {facts['outside']:,} of them are not in the "
            "stated catalogue, and known from training, judgments or lists only"
        )


def unjudged_users_notice(users: int) -> str:
    """The warning that users without judgments count in metrics of lists."""
    return (
        f"metrics of lists count {users:,} served users without judgments; "
        "--judged-users-only leaves them out"
    )


def zero_grades_notice(count: int, convention: str) -> str:
    """The warning that judgments of grade 0 count as relevant."""
    return (
        f"{count:,} judgments of grade 0 count as relevant, as every judged item does in "
        f"{convention}; remove them, or set for each metric what is relevant, "
        "such as --override P.rel=1 and --override nDCG.gain=binary"
    )
