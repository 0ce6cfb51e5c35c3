"""Pieces of Parquet files that executors read by themselves, as the local engine reads them.

Spark would read them in the JVM and hand them over row by row, which costs more than all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.columns import renamed, shaped
from rankgate.data.formats.tables.arrow import collected, scanned
from rankgate.data.streams.source import InputFile
from rankgate.spark.cells import ORDER

if TYPE_CHECKING:
    import pyarrow as pa

    from rankgate.spark.cells import Cells

_ROWS = 1 << 20  # that are read at once
TASK_BYTES = 32 << 20
"""Of files that one task reads, and of a piece at most."""

_LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Piece:
    """Some rows of a file.

    Attributes:
        path: of the file.
        place: of the file among those of its table.
        begin: the first row.
        rows: how many; None is all that follow.
    """

    path: str
    place: int
    begin: int = 0
    rows: int | None = None

    def frames(self, number: str, known: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """The rows, with ``number`` and what few judgments have.

        Args:
            number: grade or score.
            known: the user's names of columns.

        Raises:
            InputError: a damaged file; a column that is missing or holds what it should not.
        """
        source = InputFile(Path(self.path))
        scan = scanned(source)
        names = scan.collect_schema().names()
        mine = {ours: theirs for ours, theirs in known.items() if theirs in names}
        frame = shaped(renamed(scan, mine), number, self.path).rename({number: "number"})
        end = collected(frame.select(pl.len()), source).item()
        if self.rows is not None:
            end = min(end, self.begin + self.rows)
        for begin in range(self.begin, end, _ROWS):
            yield collected(frame.slice(begin, min(_ROWS, end - begin)), source)


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
        for number in (each for batch in batches for each in batch.column(0).to_pylist()):
            i, j = work[number]
            part, table = self.tables[i]
            piece = table.every[j]
            frames = piece.frames(table.number, table.known)
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
    most = max(min(TASK_BYTES, -(-total // (2 * cores))), _LEAST_BYTES)
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
    count = -(-size // most)
    if count == 1:
        return [Piece(str(path), place)]
    rows = collected(scanned(source).select(pl.len()), source).item()
    each = max(-(-rows // count), 1)
    return [Piece(str(path), place, begin, each) for begin in range(0, rows, each)]
