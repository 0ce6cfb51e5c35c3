"""Logs larger than memory: sorted on disk, then read in stretches of whole users."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import KIND, Interactions, by_user, checked, completed, ordered
from rankgate.data.streams.prefetch import ahead

if TYPE_CHECKING:
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.reading import Raw
    from rankgate.data.place import Place

ROWS = 4_000_000
"""Rows of a stretch, and of what is sorted at one time; a user with more has one alone."""

_PART = 1 << 17  # rows of a file of a sorted piece


@dataclass(frozen=True)
class Stretches:
    """A log on disk: users in byte order, each user's rows as in `Interactions`.

    Attributes:
        name: what to call the log.
        place: where the rows come from.
        unit: what times were written in.
        repeated: rows that were left out, as equal to another.
        items: every item once, in byte order.
        kinds: every kind of interaction once.
        lengths: the rows of each stretch.
        files: where each is.
    """

    name: str
    place: Place
    unit: Unit
    repeated: int
    items: pl.Series
    kinds: frozenset[str]
    lengths: tuple[int, ...]
    files: tuple[Path, ...]

    def __iter__(self) -> Iterator[Interactions]:
        """One stretch after the other."""
        for file in self.files:
            yield self._log(completed(pl.read_ipc(file)))

    def narrow(self, *, items: bool) -> Interactions:
        """The whole log in whole numbers: users and times, with `items` also items.

        Numbers have the order of the names they represent.
        """
        users, parts = 0, []
        for file in self.files:
            scan = pl.scan_ipc(file)
            timed = "at" in scan.collect_schema()
            columns = [(pl.col("query_id").rle_id() + users).alias("query_id")]
            if timed:
                columns.append(pl.col("at"))
            if items:
                place = pl.col("doc_id").cast(pl.Enum(self.items)).to_physical()
                columns.append(place.cast(pl.UInt32))
            parts.append(scan.select(columns).collect())
            users = int(parts[-1]["query_id"][-1]) + 1
        return self._log(pl.concat(parts, rechunk=True))

    def _log(self, table: pl.DataFrame) -> Interactions:
        return Interactions(table, self.unit, self.name, self.repeated, self.place)


def stretched(raw: Raw, folder: Path, same: str = "once", rows: int = ROWS) -> Stretches:
    """Sort a log on disk and cut it between users.

    Each piece is sorted by user and written; what the pieces have of a stretch of users is then
    read together, so that no more than a few pieces are ever in memory.

    Args:
        raw: the log; it is read once.
        folder: where there is room for it twice.
        same: what rows are that are equal in every column: counted ``once``, or ``each``.
        rows: of a stretch.

    Raises:
        InputError: as `interactions_of`.
    """
    runs = _Runs(folder)
    for piece in _pieces(raw.pieces, rows):
        runs.add(piece, raw)
    if not runs.rows:
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")
    items, kinds = pl.Series("doc_id", dtype=pl.String), frozenset[str]()
    files, lengths = [], []
    for number, found in enumerate(runs.stretches(rows)):
        table = ordered(found, runs.unit, same)
        items = pl.concat([items, table["doc_id"].unique()]).unique()
        kinds |= {*table["kind"].unique()} if "kind" in table.columns else {KIND}
        lengths.append(len(table))
        files.append(folder / f"stretch-{number}.arrow")
        table.write_ipc(files[-1], compression="lz4")
    return Stretches(
        raw.name,
        raw.place,
        runs.unit,
        runs.rows - sum(lengths),
        items.sort(),
        kinds,
        tuple(lengths),
        tuple(files),
    )


@dataclass(frozen=True)
class _SortedPiece:
    """A piece of the log on disk, sorted by user, in small files.

    A stretch has a little of every piece. Read from one large file, a little would cost as much
    as all of it: what is compressed together is read together.

    Attributes:
        first: the first user of each file.
        files: where each is.
    """

    first: list[str]
    files: list[Path]

    @classmethod
    def write(cls, table: pl.DataFrame, name: Path, rows: int) -> _SortedPiece:
        """Write a sorted table, so many rows a file."""
        first: list[str] = []
        files: list[Path] = []
        for part in table.iter_slices(rows):
            first.append(part["query_id"][0])
            files.append(name.with_name(f"{name.name}-{len(files)}.arrow"))
            part.write_ipc(files[-1], compression="lz4")
        return cls(first, files)

    def between(self, low: str | None, high: str | None) -> Iterator[pl.DataFrame]:
        """The rows of the users from one to before another; files without later users go."""
        begin = 0 if low is None else max(bisect_left(self.first, low) - 1, 0)
        end = len(self.files) if high is None else bisect_left(self.first, high)
        for place in range(begin, end):
            part = pl.read_ipc(self.files[place])
            users = part["query_id"]
            start = 0 if low is None else int(users.search_sorted(low))
            stop = len(part) if high is None else int(users.search_sorted(high))
            yield part.slice(start, stop - start)
            if stop == len(part):
                self.files[place].unlink()


class _Runs:
    """Pieces of a log on disk, each sorted by user, and how many rows each user has in all."""

    def __init__(self, folder: Path) -> None:
        self.unit: Unit = "none"
        self.rows = 0
        self._folder = folder
        self._pieces: list[_SortedPiece] = []
        self._users = pl.DataFrame(schema={"query_id": pl.String, "len": pl.UInt32})

    def add(self, piece: pl.DataFrame, raw: Raw) -> None:
        """Check a piece, sort it and write it."""
        first = self.rows
        place = raw.place.after(first)
        table, unit = checked(piece, place, raw.unit)
        if self._pieces and unit != self.unit:
            problem = f"times are in '{unit}' from here on and in '{self.unit}' before; fix them."
            raise InputError(problem, source=place.file(0), line=place.line(0), code="mixed-times")
        self.unit = unit
        self.rows += len(table)
        table = by_user(table, timed=False)
        users = table["query_id"].rle().struct.unnest().rename({"value": "query_id"})
        counts = users.select("query_id", pl.col("len").cast(pl.UInt32))
        self._users = pl.concat([self._users, counts]).group_by("query_id").sum()
        name = self._folder / f"run-{len(self._pieces)}"
        self._pieces.append(_SortedPiece.write(table, name, _PART))

    def stretches(self, rows: int) -> Iterator[pl.DataFrame]:
        """The rows of some users after the others, as they were in the log; each is read once."""
        users = self._users.sort("query_id")
        last = users["len"].cast(pl.Int64).cum_sum().to_numpy() - 1
        heads = np.flatnonzero(np.diff(last // rows, prepend=-1))
        edges = [None, *users["query_id"].gather(heads[1:]).to_list(), None]
        for low, high in pairwise(edges):
            yield pl.concat(
                [part for piece in self._pieces for part in piece.between(low, high)], rechunk=True
            )


def _pieces(frames: Iterator[pl.DataFrame], rows: int) -> Iterator[pl.DataFrame]:
    """Frames put together until they have so many rows, empty ones left out."""
    content: list[pl.DataFrame] = []
    for frame in ahead(frames):
        if len(frame):
            content.append(frame)
        if sum(map(len, content)) >= rows:
            yield pl.concat(content, rechunk=True)
            content = []
    if content:
        yield pl.concat(content, rechunk=True)
