"""Tables in addition to judgments and runs: training data, items, users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.items import read_candidates, read_described_table
from rankgate.measurement.scoring.catalogue import group_codes, label_shares, number_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.collection import Collection
    from rankgate.data.logs.items import DescribedTable
    from rankgate.measurement.scoring.catalogue import Catalogue

DEPTH = 10
"""The depth of lists where a metric has no cutoff."""


@dataclass(frozen=True)
class ItemInput:
    """An input of metrics of lists, from columns of the table of items.

    Attributes:
        field: of `Items`, which names the column or the columns.
        needs: its names as of `NEEDS`.
        read: the ids of the catalogue, the table, and the field, to an array ``(I, ·)``; codes of
            items that the table lacks are `NONE`, numbers 0.
    """

    field: str
    needs: tuple[str, ...]
    read: Callable[[pl.Series, DescribedTable, Any], NDArray[Any]]


ITEM_INPUTS = (
    ItemInput(
        "category",
        ("categories", "features"),
        lambda ids, item_table, column: label_shares(ids, item_table.ids, item_table.words(column))[
            0
        ],
    ),
    ItemInput(
        "features",
        ("features",),
        lambda ids, item_table, columns: number_columns(
            ids, item_table.ids, {name: item_table.numbers(name) for name in columns}
        ),
    ),
    ItemInput(
        "group",
        ("groups",),
        lambda ids, item_table, column: group_codes(ids, item_table.ids, item_table.words(column))[
            0
        ],
    ),
)
"""All inputs; of two that fill one need the later goes before."""

INPUT_OF_NEED: Mapping[str, str] = {
    "seen": "train",
    "relevant": "judgments",
    "history": "train",
    "baseline": "obvious",
    "earlier": "earlier",
    **{
        need: f"items and {item_input.field}"
        for item_input in ITEM_INPUTS
        for need in item_input.needs
    },
    "similarities": "it to Listed",
}
"""The input for each need, by the names of the scorecard's options."""


@dataclass(frozen=True)
class Tables:
    """Tables besides judgments and runs, after reading.

    Attributes:
        items: the table of items, or None.
        users: the table of users, or None.
        candidates: the pairs that lists may hold, or None.
        mark: of figures on sampled candidates, else empty.
    """

    items: DescribedTable | None
    users: DescribedTable | None
    candidates: pl.DataFrame | None
    mark: str

    @classmethod
    def of(cls, collection: Collection) -> Tables:
        """Read the tables of a collection.

        Args:
            collection: the collection, with data on items and users.

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
            None
            if collection.items.table is None
            else read_described_table(collection.items.table),
            None if collection.users is None else read_described_table(collection.users, "users"),
            pairs,
            mark,
        )

    def described(self, catalogue: Catalogue, collection: Collection) -> Catalogue:
        """Add the columns of the table of items to a catalogue.

        Raises:
            InputError: a cell that is not a number.
            UsageError: a column that is not there.
        """
        item_table = self.items
        given_columns = {
            item_input: value
            for item_input in ITEM_INPUTS
            if (value := getattr(collection.items, item_input.field))
        }
        if item_table is None:
            if given_columns:
                raise UsageError(
                    "features, categories and groups are columns of items; give items.",
                    code="missing-input",
                )
            return catalogue
        tables = dict(catalogue.tables)
        for item_input, value in given_columns.items():
            tables |= dict.fromkeys(
                item_input.needs, item_input.read(catalogue.items, item_table, value)
            )
        return replace(catalogue, tables=tables)


def catalogue_ids(catalogue: int | Iterable[object] | None) -> pl.Series:
    """The items of a catalogue: a number of them, called 0, 1, …, or the given names."""
    if catalogue is None:
        return pl.Series([], dtype=pl.String)
    if isinstance(catalogue, pl.Series):
        return catalogue.cast(pl.String)
    if isinstance(catalogue, int):
        return pl.int_range(catalogue, eager=True).cast(pl.String)
    return pl.Series([str(name) for name in catalogue], dtype=pl.String)
