"""Logs larger than memory, sorted on disk by user, and compact user-item pairs.

A sorted log is read in ranges of whole users. Metrics on lists use the compact pairs.
"""

from __future__ import annotations

import glob
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import (
    Interactions,
    fill_columns,
    kind_counts,
    order_rows,
    parse_log_rows,
    sort_by_user,
)
from rankgate.data.logs.read_logs import open_log
from rankgate.data.memory.ids import (
    NOT_FOUND,
    GrowingArray,
    GrowingIds,
    find_positions,
    unique_codes,
    unique_sorted,
)
from rankgate.data.streams.source import read_ahead
from rankgate.data.table_rows import range_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.interactions import LogLike, Unit
    from rankgate.data.logs.read_logs import RawLog
    from rankgate.data.table_rows import RowLocation


ROWS_PER_RANGE = 4_000_000
"""Rows of a range, and rows sorted at one time; a user with more has a range alone."""

_ROWS_PER_FILE = 1 << 17  # rows of a file of a sorted piece


@dataclass(frozen=True)
class SortedLog:
    """A log on disk: users in byte order, with the rows of each user as in `Interactions`.

    Attributes:
        name: the name of the log.
        place: the location of the rows.
        unit: the unit of times.
        repeated: the number of rows that equal another row, and were left out.
        items: every item once, in byte order.
        kinds: the number of rows of each kind of interaction, the most frequent first.
        lengths: the number of rows of each range.
        files: the file of each range.
    """

    name: str
    place: RowLocation
    unit: Unit
    repeated: int
    items: pl.Series
    kinds: Mapping[str, int]
    lengths: tuple[int, ...]
    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[Interactions]:
        """Yield the ranges in order."""
        for path in self.files:
            yield self._log(fill_columns(pl.scan_ipc(glob.escape(str(path))).collect()))

    def narrow(self, *, items: bool) -> Interactions:
        """The complete log as whole numbers: users and times, with `items` also items.

        Numbers have the same order as the names they represent.
        """
        user_count, tables = 0, []
        for path in self.files:
            scan = pl.scan_ipc(glob.escape(str(path)))
            has_times = "at" in scan.collect_schema()
            columns = [(pl.col("query_id").rle_id() + user_count).alias("query_id")]
            if has_times:
                columns.append(pl.col("at"))
            if items:
                item_number = pl.col("doc_id").cast(pl.Enum(self.items)).to_physical()
                columns.append(item_number.cast(pl.UInt32))
            tables.append(scan.select(columns).collect())
            user_count = int(tables[-1]["query_id"][-1]) + 1
        return self._log(pl.concat(tables, rechunk=True))

    def _log(self, table: pl.DataFrame) -> Interactions:
        return Interactions(table, self.unit, self.name, self.repeated, self.place)


def sort_log(raw: RawLog, folder: Path, same: str = "once", rows: int = ROWS_PER_RANGE) -> SortedLog:
    """Sort a log on disk and cut it into ranges of users.

    Each piece is sorted by user and written. Then the rows of one range are read from all pieces
    together, so that memory never holds more than a few pieces.

    Args:
        raw: the log; it is read once.
        folder: a folder with space for twice the log.
        same: how to count rows that are equal in every column: ``once``, or ``each``.
        rows: the number of rows in a range.

    Raises:
        InputError: see `interactions_of`.
    """
    sorted_pieces = _SortedPieces(folder)
    for piece in _merge_frames(raw.pieces, rows):
        sorted_pieces.add(piece, raw)
    if not sorted_pieces.rows:
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")
    items, kinds = pl.Series("doc_id", dtype=pl.String), Counter[str]()
    files, lengths = [], []
    for number, user_rows in enumerate(sorted_pieces.stretches(rows)):
        table = order_rows(user_rows, sorted_pieces.unit, same)
        items = pl.concat([items, table["doc_id"].unique()]).unique()
        kinds.update(kind_counts(table))
        lengths.append(len(table))
        files.append(folder / f"stretch-{number}.arrow")
        table.write_ipc(files[-1], compression="lz4")
    return SortedLog(
        raw.name,
        raw.place,
        sorted_pieces.unit,
        sorted_pieces.rows - sum(lengths),
        items.sort(),
        dict(kinds.most_common()),
        tuple(lengths),
        tuple(files),
    )


@dataclass(frozen=True)
class _SortedPiece:
    """A piece of the log on disk, sorted by user, in small files.

    A range has a few rows of every piece. Reading a few rows from one large file would take as long
    as reading all of it, because compressed data must be read together.

    Attributes:
        first: the first user of each file.
        files: the path of each file.
    """

    first: list[str]
    files: list[Path]

    @classmethod
    def write(cls, table: pl.DataFrame, name: Path, rows: int) -> _SortedPiece:
        """Write a sorted table to files with a fixed number of rows."""
        first_users: list[str] = []
        paths: list[Path] = []
        for rows_of_file in table.iter_slices(rows):
            first_users.append(rows_of_file["query_id"][0])
            paths.append(name.with_name(f"{name.name}-{len(paths)}.arrow"))
            rows_of_file.write_ipc(paths[-1], compression="lz4")
        return cls(first_users, paths)

    def between(self, low: str | None, high: str | None) -> Iterator[pl.DataFrame]:
        """The rows of users from one to before another; files that are finished are deleted."""
        first_file = 0 if low is None else max(bisect_left(self.first, low) - 1, 0)
        end = len(self.files) if high is None else bisect_left(self.first, high)
        for number in range(first_file, end):
            table = pl.scan_ipc(glob.escape(str(self.files[number]))).collect()
            users = table["query_id"]
            start = 0 if low is None else int(users.search_sorted(low))
            stop = len(table) if high is None else int(users.search_sorted(high))
            yield table.slice(start, stop - start)
            if stop == len(table):
                self.files[number].unlink()


class _SortedPieces:
    """Pieces of a log on disk, each sorted by user, and the number of rows of each user."""

    def __init__(self, folder: Path) -> None:
        self.unit: Unit = "none"
        self.rows = 0
        self._folder = folder
        self._pieces: list[_SortedPiece] = []
        self._users = pl.DataFrame(schema={"query_id": pl.String, "len": pl.UInt32})

    def add(self, piece: pl.DataFrame, raw: RawLog) -> None:
        """Check a piece, sort it and write it."""
        first_row = self.rows
        location = raw.place.after(first_row)
        table, unit = parse_log_rows(piece, location, raw.unit)
        if self._pieces and unit != self.unit:
            problem = f"times are in '{unit}' from here on and in '{self.unit}' before; fix them."
            raise location.error(problem, 0, "mixed-times")
        self.unit = unit
        self.rows += len(table)
        table = sort_by_user(table, timed=False)
        users = table["query_id"].rle().struct.unnest().rename({"value": "query_id"})
        counts = users.select("query_id", pl.col("len").cast(pl.UInt32))
        self._users = pl.concat([self._users, counts]).group_by("query_id").sum()
        name = self._folder / f"run-{len(self._pieces)}"
        self._pieces.append(_SortedPiece.write(table, name, _ROWS_PER_FILE))

    def stretches(self, rows: int) -> Iterator[pl.DataFrame]:
        """Yield the rows of each range of users, in the order of the log, once."""
        users = self._users.sort("query_id")
        last_row = users["len"].cast(pl.Int64).cum_sum().to_numpy() - 1
        range_starts = np.flatnonzero(np.diff(last_row // rows, prepend=-1))
        range_edges = [None, *users["query_id"].gather(range_starts[1:]).to_list(), None]
        for low, high in pairwise(range_edges):
            yield pl.concat(
                [rows_of_piece for piece in self._pieces for rows_of_piece in piece.between(low, high)],
                rechunk=True,
            )


def _merge_frames(frames: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Concatenate frames until they have enough rows; empty frames are left out."""
    frames_so_far: list[pl.DataFrame] = []
    for frame in read_ahead(frames):
        if len(frame):
            frames_so_far.append(frame)
        if sum(map(len, frames_so_far)) >= rows:
            yield pl.concat(frames_so_far, rechunk=True)
            frames_so_far = []
    if frames_so_far:
        yield pl.concat(frames_so_far, rechunk=True)


_PAIR_COLUMNS = ["query_id", "doc_id"]
_BLOCK_SIZE = 1 << 20
_ITEM_BITS = 32  # bits of a number for the item


@dataclass(frozen=True, eq=False)
class UserItems:
    """The users and items of a log, and the pairs of users and items with an interaction.

    Attributes:
        users: ``(U,)`` ids, each once.
        items: ``(I,)`` ids, each once.
        starts: ``(U + 1,)``, the first pair of each user.
        item: ``(n,)``, the position of each pair's item, by user, rising within a user; no pair is
            repeated.
    """

    users: pl.Series
    items: pl.Series
    starts: NDArray[np.int64]
    item: NDArray[np.int32]

    @classmethod
    def from_keys(cls, users: pl.Series, items: pl.Series, keys: NDArray[np.int64]) -> UserItems:
        """Make pairs from the keys of `pack_pairs` in any order; the keys are sorted in place."""
        unique_keys = unique_sorted(keys)
        starts = np.searchsorted(unique_keys, np.arange(len(users) + 1) << _ITEM_BITS)
        return cls(users, items, starts, unique_keys.astype(np.int32))

    @classmethod
    def from_pairs(cls, users: pl.Series, items: pl.Series) -> UserItems:
        """Make pairs from the user and the item of each; pairs may be repeated."""
        user_ids, item_ids = users.unique(), items.unique()
        owner, item = find_positions(users, user_ids), find_positions(items, item_ids)
        return cls.from_keys(user_ids, item_ids, pack_pairs(owner, item))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of items of each user, ``(U,)``."""
        return np.diff(self.starts)

    @property
    def owner(self) -> NDArray[np.int32]:
        """The position of each pair's user, ``(n,)``, rising."""
        return np.repeat(np.arange(len(self.users), dtype=np.int32), self.lengths)

    @property
    def people(self) -> int:
        """The number of users with at least one item."""
        return int(np.count_nonzero(self.lengths))

    @property
    def all_items(self) -> pl.Series:
        """The items of all users."""
        return self.items.gather(unique_codes(self.item))

    @property
    def frame(self) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of each pair."""
        columns = self.users.gather(self.owner), self.items.gather(self.item)
        return pl.DataFrame([column.alias(name) for column, name in zip(columns, _PAIR_COLUMNS, strict=True)])

    def has(self, users: pl.Series, items: pl.Series) -> NDArray[np.bool_]:
        """True for each pair of a user and an item with an interaction, in pieces."""
        has_pair = np.zeros(len(users), np.bool_)
        for begin in range(0, len(users) if len(self.item) else 0, _BLOCK_SIZE):
            block = slice(begin, begin + _BLOCK_SIZE)
            owner, item = (find_positions(users[block], self.users), find_positions(items[block], self.items))
            has_pair[block] = (owner != NOT_FOUND) & (item != NOT_FOUND) & self._has_pair(owner, item)
        return has_pair

    def _has_pair(self, owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.bool_]:
        """True for pairs of a user and an item in the log; one binary search handles all pairs.

        Args:
            owner: ``(m,)``, positions of users; `NOT_FOUND` gives an arbitrary result.
            item: ``(m,)``, positions of items.
        """
        lower, user_end = self.starts[owner], self.starts[owner + 1]
        upper, last_pair = user_end, len(self.item) - 1
        for _ in range(int(self.lengths.max(initial=0)).bit_length()):
            middle = np.minimum((lower + upper) // 2, last_pair)
            is_below = (self.item[middle] < item) & (lower < upper)
            lower, upper = np.where(is_below, middle + 1, lower), np.where(is_below, upper, middle)
        return (lower < user_end) & (self.item[np.minimum(lower, last_pair)] == item)


def read_user_items(log: LogLike | UserItems) -> UserItems:
    """The pairs of a log, which is read piece by piece; times and kinds are ignored.

    Raises:
        InputError: see ``read_interactions``, except errors of times.
        UsageError: the log is on Spark.
    """
    if isinstance(log, UserItems):
        return log
    users, items, keys = GrowingIds(), GrowingIds(), GrowingArray(np.int64)
    for rows in _read_pairs(log):
        starts = range_starts(rows["query_id"])  # most rows of a user are together
        user_codes = users.codes(rows["query_id"].gather(starts))
        owner = np.repeat(user_codes, np.diff(starts, append=len(rows)))
        keys.add(unique_sorted(pack_pairs(owner, items.codes(rows["doc_id"]))))
    return UserItems.from_keys(users.ids, items.ids, keys.values)


def pack_pairs(owner: NDArray[np.int64], item: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pack the positions of a user and an item into one number that rises with the user.

    >>> pack_pairs(np.array([0, 1]), np.array([7, 2])).tolist()
    [7, 4294967298]
    """
    return owner << _ITEM_BITS | item


def _read_pairs(log: LogLike) -> Iterator[pl.DataFrame]:
    """``query_id`` and ``doc_id`` of every row, checked and piece by piece."""
    if isinstance(log, Interactions):
        yield log.table.select(_PAIR_COLUMNS)
        return
    raw, first_row = open_log(log), 0
    for frame in read_ahead(raw.pieces):
        pairs = frame.select(name for name in (*_PAIR_COLUMNS, "value") if name in frame.columns)
        for pair_block in pairs.iter_slices(_BLOCK_SIZE):
            yield parse_log_rows(pair_block, raw.place.after(first_row))[0].select(_PAIR_COLUMNS)
            first_row += len(pair_block)
    if not first_row:
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")
