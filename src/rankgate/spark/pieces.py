"""Pieces of Parquet files that executors read by themselves, as the local engine reads them.

Spark would read them in the JVM and hand them over row by row, which costs more than all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.columns import renamed, shaped
from rankgate.data.formats.tables.arrow import collected, scanned
from rankgate.data.streams.source import InputFile
from rankgate.spark.cells import ORDER, QUERY
from rankgate.spark.shipping import numbers_in

if TYPE_CHECKING:
    import pyarrow as pa

    from rankgate.spark.cells import Cells

_ROWS = 1 << 20  # that are read at once
TASK_BYTES = 32 << 20
"""Of files that one task reads, if there are that many."""

_MOST_BYTES = 12 << 20  # of a piece
_MOST_ROWS = 2 << 20
_LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    Attributes:
        path: of the file.
        place: of the file among those of its table.
        begin: the first row.
        rows: how many.
    """

    path: str
    place: int
    begin: int
    rows: int

    def cut(self, most: int) -> Iterator[Piece]:
        """The piece as parts of about the same size, of at most some rows."""
        count = max(-(-self.rows // most), 1)
        each = max(-(-self.rows // count), 1)
        for begin in range(0, self.rows, each):
            yield replace(self, begin=self.begin + begin, rows=min(each, self.rows - begin))

    def frames(self, table: Pieces) -> Iterator[pl.DataFrame]:
        """The rows, with ``number`` and what few judgments have.

        Args:
            table: whose piece it is.

        Raises:
            InputError: a damaged file; a column that is missing or holds what it should not.
        """
        source = InputFile(Path(self.path))
        frame = self._shaped(table, source).rename({table.number: "number"})
        end = self.begin + self.rows
        for begin in range(self.begin, end, _ROWS):
            yield collected(frame.slice(begin, min(_ROWS, end - begin)), source)

    def queries(self, table: Pieces) -> pl.Series:
        """The hash of the query of each row.

        Raises:
            InputError: as of `frames`.
        """
        source = InputFile(Path(self.path))
        frame = self._shaped(table, source).slice(self.begin, self.rows)
        return collected(frame.select(QUERY), source).to_series()

    def _shaped(self, table: Pieces, source: InputFile) -> pl.LazyFrame:
        scan = scanned(source, checked=True)  # when it was cut
        names = scan.collect_schema().names()
        mine = {ours: theirs for ours, theirs in table.known.items() if theirs in names}
        return shaped(renamed(scan, mine), table.number, self.path)


@dataclass(frozen=True)
class Pieces:
    """The files of one table, as pieces.

    Attributes:
        every: the pieces, in the order of rows.
        number: grade or score.
        known: the user's names of columns.
        size: of the files, in bytes.
    """

    every: tuple[Piece, ...]
    number: str
    known: Mapping[str, str]
    size: int

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(piece.rows for piece in self.every)


@dataclass(frozen=True)
class Reading:
    """Read pieces and pack their rows by cells.

    Attributes:
        tables: the files of each table, with whose rows they are.
        cells: how queries are spread.
        ordered: whether the order of rows matters.
    """

    tables: tuple[tuple[int, Pieces], ...]
    cells: Cells
    ordered: bool

    def work(self) -> list[tuple[int, int]]:
        """What there is to read: a table and a piece of it."""
        return [(i, j) for i, (_, each) in enumerate(self.tables) for j in range(len(each.every))]

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        """The rows of the pieces whose numbers come, packed.

        Raises:
            InputError: as of `Piece.frames`.
            UsageError: Polars is another version than the driver's.
        """
        work = self.work()
        for number in numbers_in(batches):
            i, j = work[number]
            part, table = self.tables[i]
            piece = table.every[j]
            frames = piece.frames(table)
            yield from self.cells.packed(self._numbered(frames, piece, part), part)

    def _numbered(
        self, frames: Iterator[pl.DataFrame], piece: Piece, part: int
    ) -> Iterator[pl.DataFrame]:
        """Rows with their order, where it matters: of runs."""
        if not self.ordered or not part:
            yield from frames
            return
        begin = piece.begin
        for frame in frames:
            row = pl.int_range(begin, begin + len(frame), dtype=pl.Int64).alias(f"{ORDER}1")
            yield frame.with_columns(pl.lit(piece.place).alias(f"{ORDER}0"), row)
            begin += len(frame)


def pieces_of(
    paths: Sequence[str], number: str, known: Mapping[str, str], cores: int
) -> Pieces | None:
    """The pieces of Parquet files of this machine, or of a disk that all machines see.

    Args:
        paths: files, or folders of files.
        number: grade or score.
        known: the user's names of columns.
        cores: how many read.

    Returns:
        None where Spark has to read: other file systems, patterns, columns that are in the names
        of folders.
    """
    files = [file for path in paths for file in _files(path)]
    if not files or None in files:
        return None
    sizes = [(path, path.stat().st_size) for path in files if path is not None]
    total = sum(size for _, size in sizes)
    most = max(min(_MOST_BYTES, -(-total // (2 * cores))), _LEAST_BYTES)
    every = [
        each for place, (path, size) in enumerate(sizes) for each in _cut(path, place, size, most)
    ]
    return Pieces(tuple(every), number, dict(known), total)


def _files(path: str) -> list[Path | None]:
    """The files of a path; None is one that Spark has to read."""
    place = Path(path.removeprefix("file:"))
    if place.is_file():
        return [place]
    if not place.is_dir():
        return [None]
    inside = sorted(each for each in place.rglob("*") if each.is_file())
    names = [each.relative_to(place).parts for each in inside]
    if any("=" in part for parts in names for part in parts[:-1]):
        return [None]
    return [
        each
        for each, parts in zip(inside, names, strict=True)
        if not any(part.startswith(("_", ".")) for part in parts)
    ]


def _cut(path: Path, place: int, size: int, most: int) -> list[Piece]:
    """The pieces of a file of which none has many more bytes than ``most``."""
    source = InputFile(path)
    rows = collected(scanned(source).select(pl.len()), source).item()
    count = max(-(-size // most), -(-rows // _MOST_ROWS), 1)
    return [*Piece(str(path), place, 0, rows).cut(-(-rows // count))] if rows else []
