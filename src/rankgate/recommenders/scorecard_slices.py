"""Slices of users and items for a scorecard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import places
from rankgate.measurement.metrics.lists.popularity import tail_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.items import Described, Whose
    from rankgate.data.logs.user_items import Meetings
    from rankgate.measurement.evaluation.lists.inputs import Tables
    from rankgate.measurement.scoring.catalogue import Catalogue

ACTIVITY, POPULARITY, HISTORY = "activity", "popularity", "history"
REPEAT, NEW = "repeat", "new"
MOST = 20
"""Values that a column may have to be a slice."""


@dataclass(frozen=True)
class Segment:
    """Some of the users, of the items, or of the judged pairs of both.

    Attributes:
        slice: what they are grouped by: activity, popularity, history, or a column.
        of: users, items or pairs.
        value: which of its values they have.
        mask: ``(T,)``, ``(I,)`` or, of judgments, ``(J,)``: who belongs to it; one may belong to
            several.
    """

    slice: str
    of: Whose | Literal["pairs"]
    value: str
    mask: NDArray[np.bool_]


def parts_of(
    name: str, catalogue: Catalogue, tables: Tables, repeated: NDArray[np.bool_] | None = None
) -> list[Segment]:
    """The parts that a slice makes.

    ``activity``: users without an item in training are new, those with at most the median number
    of the others are light, the rest heavy. ``popularity``: items of the head, the most popular
    fifth of the catalogue, and of the tail. ``history``: judged pairs of user and item that
    training has (repeat), and all others (new). Else a column of the table of users or of items,
    which may be said as ``users.COLUMN`` or ``items.COLUMN``; several values are between bars.

    Args:
        name: of the slice.
        catalogue: users and items.
        tables: of users and items.
        repeated: ``(J,)``, the judgments whose pair training has; None without training.

    Raises:
        UsageError: what is not there, or has too many values.
    """
    if name in {ACTIVITY, POPULARITY, HISTORY} and catalogue.seen is None:
        raise UsageError(
            f"the slice {name} comes from training; give it with training.", code="missing-input"
        )
    if name == ACTIVITY:
        return _activity(catalogue)
    if name == HISTORY:
        assert repeated is not None
        both = (Segment(name, "pairs", REPEAT, repeated), Segment(name, "pairs", NEW, ~repeated))
        return [part for part in both if part.mask.any()]
    if name == POPULARITY:
        assert catalogue.seen is not None
        tail = tail_of(catalogue.seen)
        return [Segment(name, "items", "head", ~tail), Segment(name, "items", "tail", tail)]
    table, column = column_of(name, tables)
    of = table.of
    ids = catalogue.queries if of == "users" else catalogue.items
    own = pl.DataFrame({"id": table.ids, "word": table.words(column).cast(pl.String)})
    words = pl.DataFrame({"id": ids}).join(own, on="id", how="left", maintain_order="left")["word"]
    return list(_valued(name, of, words))


def active(users: pl.Series, train: Meetings) -> pl.Series:
    """Whether each user is new to training, light, or heavy, as `parts_of` distinguishes them.

    Args:
        users: ids, each once.
        train: who met which item.
    """
    had = np.append(train.lengths, 0)
    words = np.full(len(users), "", object)
    for word, mask in _groups(had[places(users, train.users)]).items():
        words[mask] = word
    return pl.Series(ACTIVITY, words.tolist(), pl.String)


def _activity(catalogue: Catalogue) -> list[Segment]:
    assert catalogue.history is not None
    groups = _groups(catalogue.history.lengths).items()
    return [Segment(ACTIVITY, "users", value, mask) for value, mask in groups if mask.any()]


def _groups(had: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
    """Who is new, light and heavy by the number of items that each had."""
    median = float(np.median(had[had > 0])) if had.any() else 0.0
    return {"new": had == 0, "light": (had > 0) & (had <= median), "heavy": had > median}


def column_of(name: str, tables: Tables) -> tuple[Described, str]:
    """The table that has the column of a slice, and the column's name there.

    Raises:
        UsageError: no table has it, or both tables do.
    """
    known = [each for each in (tables.users, tables.items) if each is not None]
    whose, _, column = name.partition(".")
    for table in known:
        if column and whose == table.of:
            return table, column
    having = [table for table in known if name in table.columns.columns]
    if len(having) == 1:
        return having[0], name
    if having:
        raise UsageError(
            f"users and items both have '{name}'; say users.{name} or items.{name}.",
            code="ambiguous-input",
        )
    there = [ACTIVITY, POPULARITY, HISTORY]
    there += [f"{table.of}.{each}" for table in known for each in table.columns.columns]
    raise UsageError(
        f"no slice is called '{name}'; there are {', '.join(there)}.",
        code="unknown-slice",
    )


def split_values(name: str, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The values of a column of words, several between bars: a row each, and which there are.

    Args:
        name: of the slice.
        rows: with a column ``word``.

    Raises:
        UsageError: there are more values than a slice has.
    """
    words = pl.col("word")
    apart = rows.with_columns(words.cast(pl.String).str.split("|")).explode("word")
    apart = apart.with_columns(words.str.strip_chars()).filter(words != "")
    values = apart["word"].unique().sort().to_list()
    if len(values) > MOST:
        raise UsageError(
            f"'{name}' has {len(values):,} values, and a slice at most {MOST}; put them in groups.",
            code="out-of-range",
        )
    return apart, values


def _valued(name: str, of: Whose, words: pl.Series) -> Iterator[Segment]:
    """A part for each value, in byte order; last those without one."""
    rows = pl.DataFrame({"row": np.arange(len(words)), "word": words})
    apart, values = split_values(name, rows)
    rest = np.ones(len(words), bool)
    for value in values:
        mask = np.zeros(len(words), bool)
        mask[apart.filter(pl.col("word") == value)["row"].to_numpy()] = True
        rest &= ~mask
        yield Segment(name, of, value, mask)
    if rest.any():
        yield Segment(name, of, "(none)", rest)
