"""Extra tables for metrics on lists, and warnings about their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.id_match import IdRules
from rankgate.data.logs.item_tables import read_candidates, read_described_table
from rankgate.measurement.metrics.lists.list_input import Listed, count_shared, is_first
from rankgate.measurement.scoring.item_catalogue import group_codes, label_shares, number_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.collection import Collection
    from rankgate.data.logs.item_tables import DescribedTable
    from rankgate.measurement.scoring.item_catalogue import Catalogue


DEPTH = 10
"""The depth of lists where a metric has no cutoff."""


@dataclass(frozen=True)
class ItemInput:
    """An input of metrics of lists that is made from columns of the table of items.

    Attributes:
        field: the field of `Items` with the name or names of the columns.
        needs: its names in `NEEDS`.
        read: a function from the ids of the catalogue, the table and the field to an array ``(I,
            ·)``; items that are not in the table have the code `NONE` or the number 0.
    """

    field: str
    needs: tuple[str, ...]
    read: Callable[[pl.Series, DescribedTable, Any], NDArray[Any]]


ITEM_INPUTS = (
    ItemInput(
        "category",
        ("categories", "features"),
        lambda ids, item_table, column: label_shares(ids, item_table.ids, item_table.description(column))[0],
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
        lambda ids, item_table, column: group_codes(ids, item_table.ids, item_table.description(column))[0],
    ),
)
"""All inputs; of two that fill one need the later goes before."""

INPUT_OF_NEED: Mapping[str, str] = {
    "seen": "train",
    "relevant": "judgments",
    "history": "train",
    "baseline": "obvious",
    "earlier": "earlier",
    **{need: f"items and {item_input.field}" for item_input in ITEM_INPUTS for need in item_input.needs},
    "similarities": "it to Listed",
}
"""The input for each need, by the names of the scorecard's options."""


@dataclass(frozen=True)
class Tables:
    """Tables other than judgments and runs, after reading.

    Attributes:
        items: the table of items, or None.
        users: the table of users, or None.
        candidates: the pairs that lists may hold, or None.
        mark: the mark for figures on sampled candidates, or empty.
    """

    items: DescribedTable | None
    users: DescribedTable | None
    candidates: pl.DataFrame | None
    mark: str

    @classmethod
    def from_collection(cls, collection: Collection) -> Tables:
        """Read the tables of a collection.

        Args:
            collection: the collection, with data on items and users.

        Raises:
            InputError: a table cannot be read.
            UsageError: seen items are to be removed, but there is no training data.
        """
        if collection.drop_seen and collection.training is None:
            raise UsageError("seen items are those of training; give it with training.", code="missing-input")
        pairs, mark = (None, "") if collection.candidates is None else read_candidates(collection.candidates)
        rules = IdRules.read(collection.ids)
        items = None if collection.items.table is None else read_described_table(collection.items.table)
        users = None if collection.users is None else read_described_table(collection.users, "users")
        return cls(
            None if items is None else replace(items, ids=rules.respelled("doc", items.ids)),
            None if users is None else replace(users, ids=rules.respelled("query", users.ids)),
            None if pairs is None else rules.table(pairs),
            mark,
        )

    def described(self, catalogue: Catalogue, collection: Collection) -> Catalogue:
        """Add the columns of the table of items to a catalogue.

        Raises:
            InputError: a cell is not a number.
            UsageError: a column does not exist.
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
                    "features, categories and groups are columns of items; give items.", code="missing-input"
                )
            return catalogue
        tables = dict(catalogue.tables)
        for item_input, value in given_columns.items():
            tables |= dict.fromkeys(item_input.needs, item_input.read(catalogue.items, item_table, value))
        return replace(catalogue, tables=tables)


def catalogue_ids(catalogue: int | Iterable[object] | None) -> pl.Series:
    """The items of a catalogue: numbered 0, 1, …, or with given names."""
    if catalogue is None:
        return pl.Series([], dtype=pl.String)
    if isinstance(catalogue, pl.Series):
        return catalogue.cast(pl.String)
    if isinstance(catalogue, int):
        return pl.int_range(catalogue, eager=True).cast(pl.String)
    return pl.Series([str(name) for name in catalogue], dtype=pl.String)


def catalogue_facts(items: pl.Series, stated: Sequence[pl.Series]) -> dict[str, Any]:
    """Count the items of a catalogue, in total and outside the stated items.

    Args:
        items: the items of the catalogue and of judgments.
        stated: the items that the user states, one entry per source that states items.

    Returns:
        ``items``, the number of items; ``stated``, true if the user states items; ``outside``, the
        number of items that are not among the stated items.

    >>> catalogue_facts(pl.Series(["a", "b"]), [pl.Series(["a"])])
    {'items': 2, 'stated': True, 'outside': 1}
    """
    stated_ids = pl.concat([pl.Series([], dtype=pl.String), *stated])
    outside = int((~items.is_in(stated_ids.implode())).sum()) if len(stated_ids) else 0
    return {"items": len(items), "stated": not stated_ids.is_empty(), "outside": outside}


def catalogue_notice(facts: Mapping[str, Any]) -> Iterator[str]:
    """Warn that the catalogue is inferred, or that judged items are outside the stated catalogue."""
    if not facts["stated"]:
        yield (
            f"catalogue of {count_noun(facts['items'], 'item')}, those of training and judgments; state it "
            "with --items (in Python also catalogue=)"
        )
    elif facts["outside"]:
        yield (
            f"{count_noun(facts['outside'], 'judged item is', 'judged items are')} outside the stated "
            f"catalogue of {count_noun(facts['items'], 'item')}; metrics of lists do not count such items"
        )


def place_facts(lists: Listed) -> dict[str, Any]:
    """Count the places of a system's lists that show an item that should not be there.

    Args:
        lists: its lists.

    Returns:
        ``places`` that show anything; of these those with an item ``invented``, which is outside the
        catalogue, with ``examples``; ``repeated``, which their list shows before; and ``seen``,
        which the user had in training (None without training data).

    >>> place_facts(Listed(np.array([[0, 0, 1]]), 2))
    {'places': 3, 'invented': 0, 'repeated': 1, 'seen': None, 'examples': []}
    """
    invented = int(lists.outside_counts.sum())
    return {
        "places": int(lists.lengths.sum()) + invented,
        "invented": invented,
        "repeated": int((lists.is_filled & ~is_first(lists.items)).sum()),
        "seen": None if lists.history is None else count_shared(lists.items, lists.history),
        "examples": list(lists.outside_examples),
    }


def add_place_facts(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The counts of `place_facts` over the lists of different users, with the first examples by id."""
    sums = {
        name: None if first[name] is None else first[name] + second[name]
        for name in ("places", "invented", "repeated", "seen")
    }
    return {**sums, "examples": sorted({*first["examples"], *second["examples"]})[:EXAMPLES]}


EXAMPLES = 3
"""Items outside the catalogue that are named."""

_PLACE_SENTENCES = (
    ("invented", "an item outside the catalogue"),
    ("repeated", "an item that their list shows before"),
    ("seen", "what the user had in training"),
)


def place_sentences(facts: Mapping[str, Any]) -> Iterator[str]:
    """The counts of `place_facts` as sentences without a full stop, except those of 0."""
    for name, description in _PLACE_SENTENCES:
        if count := facts.get(name):
            examples = f", such as {', '.join(facts['examples'])}; it counts for nothing" * (
                name == "invented"
            )
            verb = "shows" if count == 1 else "show"
            yield (
                f"{count:,} of {count_noun(facts['places'], 'place')} ({count / facts['places']:.1%}) {verb} "
                f"{description}{examples}"
            )


def unjudged_users_notice(users: int) -> str:
    """The warning that users without judgments count in metrics of lists."""
    return (
        f"metrics of lists count {count_noun(users, 'served user')} without judgments; --judged-users-only "
        "leaves them out"
    )


def zero_grades_notice(count: int, convention: str) -> str:
    """The warning that judgments of grade 0 count as relevant."""
    return (
        f"{count_noun(count, 'judgment of grade 0 counts', 'judgments of grade 0 count')} as relevant, as "
        f"every judged item does in {convention}; remove them, or set the relevant grades of each metric, "
        "such as --override P.rel=1 and --override nDCG.gain=binary"
    )


def list_warnings(catalogue: Catalogue, lists: Listed, places: Mapping[str, Any]) -> Iterator[str]:
    """Warn about unusual lists of a system, in one sentence each.

    Args:
        catalogue: users and items.
        lists: the lists of the system.
        places: the result of `place_facts`.
    """
    empty = int((lists.is_user & (lists.lengths == 0)).sum())
    if empty:
        verb = "gets" if empty == 1 else "get"
        yield f"{empty:,} of {count_noun(int(lists.is_user.sum()), 'user')} {verb} no item."
    if catalogue.seen is not None:
        shown_items = np.unique(lists.items[lists.is_filled])
        new_count = int(np.count_nonzero(catalogue.seen[shown_items] == 0))
        if new_count:
            yield f"{count_noun(new_count, 'item is', 'items are')} shown and not in training."
    yield from (f"{text}." for text in place_sentences(places))
