"""Item and user data as codes and arrays, for metrics on lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import places
from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.metrics.lists.ragged import Ragged, padded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.user_items import Meetings
    from rankgate.measurement.metrics.lists.listed import Codes, Flags, Floats


_BLOCK = 1 << 22  # codes that are counted at one time

__all__ = ["Catalogue", "by_row", "counted", "grouped", "numbers", "one_hot", "places"]


@dataclass(frozen=True)
class Catalogue:
    """Items with their codes, and tables over them; the same for every system.

    Attributes:
        items: ``(I,)``, the catalogue, each id once, in byte order; its place is its code.
        queries: ``(T,)``, the users or queries whose lists are looked at, in byte order.
        seen: ``(I,)``, people who had each item in training.
        people: how many there are.
        features: ``(I, F)``.
        categories: ``(I, G)``, shares.
        groups: ``(I,)``, codes of groups.
        relevant: ``(T, ·)``, codes of the relevant items of each user.
        history: ``(T, ·)``, of those that each had in training.
        baseline: ``(T, ·)``, of the lists of a simple system.
        judged: ``(T,)``, whether each user has judgments; None is all of them.
    """

    items: pl.Series
    queries: pl.Series
    seen: Codes | None = None
    people: int = 0
    features: Floats | None = None
    categories: Floats | None = None
    groups: Codes | None = None
    relevant: Ragged | None = None
    history: Ragged | None = None
    baseline: Codes | None = None
    judged: Flags | None = None

    def matrix(self, pairs: pl.DataFrame) -> Codes:
        """The items of each user as codes, in the order of the rows, padded behind, ``(T, ·)``.

        Args:
            pairs: ``query_id`` and ``doc_id``; other users and items are left out.
        """
        row = places(pairs["query_id"], self.queries)
        known = np.flatnonzero(row != NONE)
        code = places(pairs["doc_id"].gather(known), self.items)
        row, code = row[known][code != NONE], code[code != NONE]
        if (row[1:] < row[:-1]).any():
            by = np.argsort(row, kind="stable")
            row, code = row[by], code[by]
        return by_row(row, code, len(self.queries))

    def learned(self, train: Meetings, *, history: bool = True) -> Catalogue:
        """The same with what training says: how many had each item, and what each user had.

        Args:
            train: who met which item.
            history: whether what users had is wanted.
        """
        place = places(train.items, self.items).astype(np.int32)
        known = place != NONE
        seen = np.zeros(len(self.items), np.int64)
        seen[place[known]] = counted(train.item, len(place))[known]
        result = replace(self, seen=seen, people=train.people)
        if not history:
            return result
        had = Ragged.of(train.item, train.starts).mapped(place)
        return replace(result, history=had.at(places(self.queries, train.users)))

    def with_items(self, ids: pl.Series) -> Catalogue:
        """The same with more items, of which nothing else is known; no users yet.

        Args:
            ids: of the items; those that are in the catalogue already change nothing.
        """
        items = pl.concat([self.items, ids.alias(self.items.name)]).unique().sort()
        place = places(self.items, items)

        def moved(values: NDArray[Any] | None, fill: int = 0) -> Any:  # noqa: ANN401 - an array
            if values is None:
                return None
            found = np.full((len(items), *values.shape[1:]), fill, values.dtype)
            found[place] = values
            return found

        return replace(
            self, items=items, seen=moved(self.seen), features=moved(self.features),
            categories=moved(self.categories), groups=moved(self.groups, NONE),
        )  # fmt: skip

    def listed(
        self,
        lists: pl.DataFrame,
        earlier: pl.DataFrame | None = None,
        drawn: Sequence[pl.DataFrame] = (),
    ) -> Listed:
        """What metrics see of one system.

        Args:
            lists: ``query_id`` and ``doc_id``, the best first.
            earlier: those of the same system at an earlier time.
            drawn: others that it may show just as well.
        """
        return Listed(
            self.matrix(lists), len(self.items), self.seen, self.people, self.relevant,
            self.history, self.baseline, None if earlier is None else self.matrix(earlier),
            self.features, self.categories, self.groups,
            drawn=_stacked([self.matrix(each) for each in drawn]), judged=self.judged,
        )  # fmt: skip


def by_row(owner: NDArray[Any], codes: NDArray[Any], T: int) -> Codes:
    """Codes by row, padded behind, ``(T, ·)``, in 32 bits.

    Args:
        owner: ``(n,)``, the row of each, rising.
        codes: ``(n,)``.
        T: rows.
    """
    return padded(codes, counted(owner, T))


def counted(codes: NDArray[Any], size: int) -> Codes:
    """How often each code appears, ``(size,)``; block by block, as counting copies to 64 bits."""
    out = np.zeros(size, np.int64)
    for begin in range(0, len(codes), _BLOCK):
        out += np.bincount(codes[begin : begin + _BLOCK], minlength=size)
    return out


def rows_at(codes: NDArray[Any], row: Codes) -> Codes:
    """Rows of a matrix of codes; an empty one for `NONE`.

    Args:
        codes: ``(T, ·)``.
        row: ``(t,)``, places among the rows.
    """
    if np.array_equal(row, np.arange(len(codes))):
        return codes
    found = codes.take(row, axis=0, mode="wrap") if len(codes) else _empty(len(row), codes)
    found[row == NONE] = NONE
    return found


def _empty(rows: int, codes: NDArray[Any]) -> NDArray[Any]:
    return np.full((rows, codes.shape[1]), NONE, codes.dtype)


def _stacked(matrices: list[Codes]) -> Codes | None:
    """Matrices of codes over one another, the narrow ones padded, ``(T, R, ·)``; None of none."""
    if not matrices:
        return None
    width = max(each.shape[1] for each in matrices)
    padded = [
        np.pad(each, ((0, 0), (0, width - each.shape[1])), constant_values=NONE)
        for each in matrices
    ]
    return np.stack(padded, axis=1)


def one_hot(items: pl.Series, doc_ids: pl.Series, words: pl.Series) -> tuple[Floats, list[str]]:
    """The share of each word in each item, ``(I, G)``, and the words in byte order.

    Args:
        items: the catalogue.
        doc_ids: items, each once.
        words: for each of them its words between bars, as MovieLens writes genres, or null.
    """
    rows = pl.DataFrame({"row": places(doc_ids, items), "word": words.cast(pl.String)})
    apart = rows.with_columns(pl.col("word").str.split("|")).explode("word")
    apart = apart.with_columns(pl.col("word").str.strip_chars()).filter(
        (pl.col("row") >= 0) & (pl.col("word") != "")
    )
    names = apart["word"].unique().sort()
    shares = np.zeros((len(items), len(names)))
    shares[apart["row"].to_numpy(), places(apart["word"], names)] = 1
    total = shares.sum(axis=1, keepdims=True)
    out: Floats = np.divide(shares, total, out=np.zeros(shares.shape), where=total > 0)
    return out, names.to_list()


def grouped(items: pl.Series, doc_ids: pl.Series, names: pl.Series) -> tuple[Codes, list[str]]:
    """The code of each item's group, ``(I,)``, and the groups in byte order."""
    known = names.cast(pl.String)
    groups = known.drop_nulls().unique().sort()
    of = dict(zip(doc_ids.to_list(), places(known, groups).tolist(), strict=True))
    codes: Codes = np.array([of.get(item, NONE) for item in items.to_list()], np.int64)
    return codes, groups.to_list()


def numbers(items: pl.Series, doc_ids: pl.Series, columns: Mapping[str, pl.Series]) -> Floats:
    """Columns of numbers, a row for each item of the catalogue, 0 where nothing is known."""
    out = np.zeros((len(items), len(columns)))
    rows = places(doc_ids, items)
    valid = rows >= 0
    for at, values in enumerate(columns.values()):
        out[rows[valid], at] = values.fill_null(0).to_numpy()[valid]
    return out
