"""What rankgate's scorecard has for a world; the tests of the values that are kept ask it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.collection import Collection, Items
from rankgate.recommenders.scorecard import scorecard

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worlds import World


def carded(case: World, names: list[str], convention: str) -> Mapping[str, float | None]:
    """The figures of the scorecard, by the names that the peer has for them."""
    run = [
        (user, item, -float(rank))
        for user, items in case["lists"].items()
        for rank, item in enumerate(items)
    ]
    qrels = {user: dict.fromkeys(items, 1) for user, items in case["relevant"].items()}
    pairs = [(user, item) for user, items in case["train"].items() for item in items]
    items = [(item, *numbers, _words(numbers)) for item, numbers in case["features"].items()]
    frame = pl.DataFrame(run, schema=["query_id", "doc_id", "score"], orient="row")
    table = pl.DataFrame(items, schema=["item_id", "x", "y", "z", "kind"], orient="row")
    collection = Collection(
        qrels,
        training=pl.DataFrame(pairs, schema=["user", "item"], orient="row"),
        items=Items(table, features=("x", "y", "z"), category="kind"),
    )
    figures = scorecard(collection, frame, names, convention, resamples=1).figures
    return dict(zip(figures["metric"], figures["value"], strict=True))


def _words(numbers: list[float]) -> str:
    """An item's categories: the numbers of it that are above 0."""
    return "|".join(name for name, number in zip("xyz", numbers, strict=True) if number > 0)
