"""Tables in addition to judgments and runs: training data, items, users."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.items import read_candidates, read_described
from rankgate.measurement.scoring.catalogue import grouped, numbers, one_hot

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.logs.items import Described
    from rankgate.measurement.metrics.lists.declare import Need
    from rankgate.measurement.scoring.catalogue import Catalogue

DEPTH = 10
"""How far lists are looked at where a metric has no cutoff."""
GIVEN: Mapping[Need, str] = {
    "seen": "train",
    "relevant": "judgments",
    "history": "train",
    "baseline": "obvious",
    "earlier": "earlier",
    "features": "items and features",
    "categories": "items and category",
    "groups": "items and group",
    "similarities": "it to Listed",
}
"""What is given for each need, as the options of the scorecard are called."""


@dataclass(frozen=True)
class Tables:
    """What was given besides judgments and runs, read.

    Attributes:
        items: the table of items, or None.
        users: the table of users, or None.
        candidates: the pairs that lists may hold, or None.
        mark: of figures on sampled candidates, else empty.
    """

    items: Described | None
    users: Described | None
    candidates: pl.DataFrame | None
    mark: str

    @classmethod
    def of(cls, collection: Collection) -> Tables:
        """Read what was given.

        Args:
            collection: what is known of items and users.

        Raises:
            InputError: a table that cannot be read.
            UsageError: seen items are to leave, and no training says which they are.
        """
        if collection.drop_seen and collection.training is None:
            raise UsageError(
                "seen items are those of training; give it with training.", code="missing-input"
            )
        pairs, mark = (
            (None, "") if collection.candidates is None else read_candidates(collection.candidates)
        )
        return cls(
            None if collection.items.table is None else read_described(collection.items.table),
            None if collection.users is None else read_described(collection.users, "users"),
            pairs,
            mark,
        )

    def described(self, catalogue: Catalogue, collection: Collection) -> Catalogue:
        """The catalogue with what the table of items says of it.

        Raises:
            InputError: a cell that is not a number.
            UsageError: a column that is not there.
        """
        items = self.items
        asked = (*collection.items.features, collection.items.category, collection.items.group)
        if items is None:
            if any(asked):
                raise UsageError(
                    "features, categories and groups are columns of items; give items.",
                    code="missing-input",
                )
            return catalogue
        if collection.items.category:
            shares, _ = one_hot(catalogue.items, items.ids, items.words(collection.items.category))
            catalogue = replace(catalogue, categories=shares, features=shares)
        if collection.items.features:
            columns = {name: items.numbers(name) for name in collection.items.features}
            catalogue = replace(catalogue, features=numbers(catalogue.items, items.ids, columns))
        if collection.items.group:
            codes, _ = grouped(catalogue.items, items.ids, items.words(collection.items.group))
            catalogue = replace(catalogue, groups=codes)
        return catalogue


def named(catalogue: int | Iterable[object] | None) -> pl.Series:
    """The items of a catalogue: so many, called 0, 1, …, or those that are named."""
    if catalogue is None:
        return pl.Series([], dtype=pl.String)
    if isinstance(catalogue, pl.Series):
        return catalogue.cast(pl.String)
    if isinstance(catalogue, int):
        return pl.int_range(catalogue, eager=True).cast(pl.String)
    return pl.Series([str(each) for each in catalogue], dtype=pl.String)
