"""Item and user data as codes and arrays, for metrics on lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import find_positions
from rankgate.measurement.metrics.lists import NONE, Listed
from rankgate.measurement.metrics.lists.list_input import Ragged, pad_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags, Floats
    from rankgate.data.logs.large_logs import UserItems
    from rankgate.measurement.metrics.lists.list_input import Codes


_BLOCK = 1 << 22  # codes to count at one time

__all__ = [
    "Catalogue",
    "count_codes",
    "find_positions",
    "group_codes",
    "label_shares",
    "number_columns",
    "pad_by_row",
]


@dataclass(frozen=True)
class Catalogue:
    """Items with their codes, and tables about them; the same for every system.

    Attributes:
        items: ``(I,)``, the ids of the catalogue, each once, in byte order; the position is the
            code.
        queries: ``(T,)``, the users or queries with lists, in byte order.
        seen: ``(I,)``, the number of people who had each item in training.
        people: the number of people.
        tables: data on items by the need of metrics, ``(I, ·)``: features, shares of
          categories, codes of groups.
        relevant: ``(T, ·)``, codes of the relevant items of each user.
        history: ``(T, ·)``, codes of the items that each user had in training.
        baseline: ``(T, ·)``, codes of the lists of a simple system.
        judged: ``(T,)``, True for users with judgments; None means all users.
    """

    items: pl.Series
    queries: pl.Series
    seen: Codes | None = None
    people: int = 0
    tables: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    relevant: Ragged | None = None
    history: Ragged | None = None
    baseline: Codes | None = None
    judged: Flags | None = None

    def matrix(self, pairs: pl.DataFrame) -> Codes:
        """The items of each user as codes, in the order of the rows, padded at the end, ``(T, ·)``.

        Args:
            pairs: ``query_id`` and ``doc_id``; other users are left out, and the places of other
                items hold `NONE`.
        """
        row = find_positions(pairs["query_id"], self.queries)
        known_rows = np.flatnonzero(row != NONE)
        code = find_positions(pairs["doc_id"].gather(known_rows), self.items)
        row = row[known_rows]
        if (row[1:] < row[:-1]).any():
            row_order = np.argsort(row, kind="stable")
            row, code = row[row_order], code[row_order]
        return pad_by_row(row, code, len(self.queries))

    def learned(self, train: UserItems, *, history: bool = True) -> Catalogue:
        """Add training data: the number of users of each item, and the items of each user.

        Args:
            train: pairs of users and items.
            history: True to add the items that users had.
        """
        catalogue_code = find_positions(train.items, self.items).astype(np.int32)
        is_known = catalogue_code != NONE
        seen_counts = np.zeros(len(self.items), np.int64)
        seen_counts[catalogue_code[is_known]] = count_codes(train.item, len(catalogue_code))[is_known]
        result = replace(self, seen=seen_counts, people=train.people)
        if not history:
            return result
        had = Ragged.from_offsets(train.item, train.starts).mapped(catalogue_code)
        return replace(result, history=had.rows(find_positions(self.queries, train.users)))

    def with_items(self, ids: pl.Series) -> Catalogue:
        """Add items without data; the catalogue must not have users yet.

        Args:
            ids: the ids of the items; ids that are already in the catalogue are ignored.
        """
        items = pl.concat([self.items, ids.alias(self.items.name)]).unique().sort()
        new_code = find_positions(self.items, items)

        def moved(values: NDArray[Any]) -> NDArray[Any]:
            codes = values.ndim == 1 and values.dtype.kind == "i" and values is not self.seen
            wider = np.full((len(items), *values.shape[1:]), NONE if codes else 0, values.dtype)
            wider[new_code] = values
            return wider

        return replace(
            self,
            items=items,
            seen=None if self.seen is None else moved(self.seen),
            tables={need: moved(values) for need, values in self.tables.items()},
        )

    def listed(
        self, lists: pl.DataFrame, earlier: pl.DataFrame | None = None, drawn: Sequence[pl.DataFrame] = ()
    ) -> Listed:
        """The lists of one system, with the data that metrics need.

        Args:
            lists: ``query_id`` and ``doc_id``, best first.
            earlier: the lists of the same system at an earlier time.
            drawn: other lists that the system may show with equal probability.
        """
        return Listed(
            self.matrix(lists),
            len(self.items),
            self.seen,
            self.people,
            self.relevant,
            self.history,
            self.baseline,
            None if earlier is None else self.matrix(earlier),
            self.tables.get("features"),
            self.tables.get("categories"),
            self.tables.get("groups"),
            drawn=_stack([self.matrix(sample) for sample in drawn]),
            judged=self.judged,
            tables=self.tables,
        )


def pad_by_row(owner: NDArray[Any], codes: NDArray[Any], T: int) -> Codes:
    """Codes by row, padded at the end, ``(T, ·)``, in 32 bits.

    Args:
        owner: ``(n,)``, the row of each code, rising.
        codes: ``(n,)``, the codes.
        T: the number of rows.
    """
    return pad_rows(codes, count_codes(owner, T))


def count_codes(codes: NDArray[Any], size: int) -> Codes:
    """Count each code, ``(size,)``; in blocks, because counting copies to 64 bits."""
    out = np.zeros(size, np.int64)
    for begin in range(0, len(codes), _BLOCK):
        out += np.bincount(codes[begin : begin + _BLOCK], minlength=size)
    return out


def rows_at(codes: NDArray[Any], row: Codes) -> Codes:
    """Rows of a matrix of codes; an empty row for `NONE`.

    Args:
        codes: ``(T, ·)``.
        row: ``(t,)``, the positions of rows; `NONE` for an empty row.
    """
    if np.array_equal(row, np.arange(len(codes))):
        return codes
    selected_rows = (
        codes.take(row, axis=0, mode="wrap")
        if len(codes)
        else np.full((len(row), codes.shape[1]), NONE, codes.dtype)
    )
    selected_rows[row == NONE] = NONE
    return selected_rows


def _stack(matrices: list[Codes]) -> Codes | None:
    """Stack matrices of codes, padding narrow ones, ``(T, R, ·)``; None without matrices."""
    if not matrices:
        return None
    width = max(matrix.shape[1] for matrix in matrices)
    padded = [
        np.pad(matrix, ((0, 0), (0, width - matrix.shape[1])), constant_values=NONE) for matrix in matrices
    ]
    return np.stack(padded, axis=1)


def label_shares(items: pl.Series, doc_ids: pl.Series, labels: pl.Series) -> tuple[Floats, list[str]]:
    """The share of each label in each item, ``(I, G)``, and the labels in byte order.

    Args:
        items: the catalogue.
        doc_ids: the ids of items, each once.
        labels: for each item its labels, separated by bars as in MovieLens, or null.
    """
    rows = pl.DataFrame({"row": find_positions(doc_ids, items), "word": labels.cast(pl.String)})
    item_labels = rows.with_columns(pl.col("word").str.split("|")).explode("word")
    item_labels = item_labels.with_columns(pl.col("word").str.strip_chars()).filter(
        (pl.col("row") >= 0) & (pl.col("word") != "")
    )
    names = item_labels["word"].unique().sort()
    shares = np.zeros((len(items), len(names)))
    shares[item_labels["row"].to_numpy(), find_positions(item_labels["word"], names)] = 1
    total = shares.sum(axis=1, keepdims=True)
    out: Floats = np.divide(shares, total, out=np.zeros(shares.shape), where=total > 0)
    return out, names.to_list()


def group_codes(items: pl.Series, doc_ids: pl.Series, names: pl.Series) -> tuple[Codes, list[str]]:
    """The code of each item's group, ``(I,)``, and the groups in byte order."""
    group_names = names.cast(pl.String)
    groups = group_names.drop_nulls().unique().sort()
    code_of_item = dict(zip(doc_ids.to_list(), find_positions(group_names, groups).tolist(), strict=True))
    codes: Codes = np.array([code_of_item.get(item, NONE) for item in items.to_list()], np.int64)
    return codes, groups.to_list()


def number_columns(items: pl.Series, doc_ids: pl.Series, columns: Mapping[str, pl.Series]) -> Floats:
    """Columns of numbers, a row for each item of the catalogue, 0 where unknown."""
    out = np.zeros((len(items), len(columns)))
    rows = find_positions(doc_ids, items)
    valid = rows >= 0
    for column, values in enumerate(columns.values()):
        out[rows[valid], column] = values.fill_null(0).to_numpy()[valid]
    return out
