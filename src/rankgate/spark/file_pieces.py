"""Parts of Parquet files that executors read by themselves, as the local engine reads them.

Spark would read them in the JVM and transfer them row by row, which costs more than all other
steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.foreign_frames import rename_columns
from rankgate.data.formats.tables.parquet_arrow import FrameTable, collect_frame, scan_file
from rankgate.data.streams.source import InputFile
from rankgate.spark.shuffle import ORDER, QUERY, read_numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from rankgate.spark.shuffle import Cells, Columns


_ROWS = 1 << 20  # rows of one read
TASK_BYTES = 32 << 20
"""The bytes of files that one task reads, if there are that many."""

_MOST_BYTES = 12 << 20  # of a piece
_MOST_ROWS = 2 << 20
_LEAST_BYTES = 1 << 20


@dataclass(frozen=True)
class FilePiece:
    """Some rows of a file.

    Attributes:
        path: the path of the file.
        place: the index of the file in its table.
        begin: the first row.
        rows: the number of rows.
    """

    path: str
    place: int
    begin: int
    rows: int

    def cut(self, row_limit: int) -> Iterator[FilePiece]:
        """Parts of the piece of about the same size, of at most `row_limit` rows."""
        count = max(-(-self.rows // row_limit), 1)
        part_rows = max(-(-self.rows // count), 1)
        for begin in range(0, self.rows, part_rows):
            yield replace(self, begin=self.begin + begin, rows=min(part_rows, self.rows - begin))

    def frames(self, table: TableFiles) -> Iterator[pl.DataFrame]:
        """The rows, with ``number`` and the optional columns of judgments.

        Args:
            table: the pieces of its table.

        Raises:
            InputError: a damaged file; a column that is missing or has wrong values.
        """
        source = InputFile(Path(self.path))
        frame = self._shaped(table, source).rename({table.number: "number"})
        end = self.begin + self.rows
        for begin in range(self.begin, end, _ROWS):
            yield collect_frame(frame.slice(begin, min(_ROWS, end - begin)), source)

    def queries(self, table: TableFiles) -> pl.Series:
        """The hash of the query of each row.

        Raises:
            InputError: as of `frames`.
        """
        source = InputFile(Path(self.path))
        frame = self._shaped(table, source).slice(self.begin, self.rows)
        return collect_frame(frame.select(QUERY), source).to_series()

    def _shaped(self, table: TableFiles, source: InputFile) -> pl.LazyFrame:
        scan = scan_file(source, checked=True)  # checked when the piece was cut
        names = scan.collect_schema().names()
        known_columns = {
            our_name: their_name for our_name, their_name in table.known.items() if their_name in names
        }
        file_table = FrameTable(source, rename_columns(scan, known_columns))
        schema = file_table.required_schema("qrels" if table.number == "grade" else "runs")
        rank = pl.col("rank").cast(pl.Float64)
        whole_rank = pl.when(rank == rank.round()).then(rank)  # other numbers are no ranks
        number = pl.col(table.number) if table.number in schema.kept else -whole_rank
        return file_table.rows(schema).with_columns(number.cast(pl.Float64).alias(table.number))


@dataclass(frozen=True)
class TableFiles:
    """The files of one table, as pieces.

    Attributes:
        every: the pieces, in the order of rows.
        number: grade or score.
        known: the columns that the user names: our name -> the file's name.
        size: the total size of the files, in bytes.
    """

    every: tuple[FilePiece, ...]
    number: str
    known: Mapping[str, str]
    size: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(piece.rows for piece in self.every)


@dataclass(frozen=True)
class PieceReading:
    """Read pieces and pack their rows by cells.

    Attributes:
        tables: the files of each table, with its part number.
        cells: the cells of queries.
        ordered: True if the order of rows matters.
    """

    tables: tuple[tuple[int, TableFiles], ...]
    cells: Cells
    ordered: bool

    def work(self) -> list[tuple[int, int]]:
        """The index of the table and of the piece, for each piece to read."""
        return [(i, j) for i, (_, table) in enumerate(self.tables) for j in range(len(table.every))]

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """Read the rows of the pieces with the given numbers, and pack them.

        Raises:
            InputError: as of `FilePiece.frames`.
            UsageError: Polars is another version than the driver's.
        """
        work = self.work()
        for number in read_numbers(batches):
            i, j = work[number]
            part_number, table = self.tables[i]
            piece = table.every[j]
            frames = piece.frames(table)
            yield from self.cells.packed(self._numbered(frames, piece, part_number), part_number)

    def _numbered(
        self, frames: Iterator[pl.DataFrame], piece: FilePiece, part_number: int
    ) -> Iterator[pl.DataFrame]:
        """The rows, with columns of their order for runs where the order matters."""
        if not self.ordered or not part_number:
            yield from frames
            return
        begin = piece.begin
        for frame in frames:
            row = pl.int_range(begin, begin + len(frame), dtype=pl.Int64).alias(f"{ORDER}1")
            yield frame.with_columns(pl.lit(piece.place).alias(f"{ORDER}0"), row)
            begin += len(frame)


def list_pieces(
    paths: Sequence[str], number: str, user_columns: Mapping[str, str], cores: int
) -> TableFiles | None:
    """The pieces of Parquet files on this machine, or on a disk that all machines share.

    Args:
        paths: files, or folders of files.
        number: grade or score.
        user_columns: the columns that the user names: our name -> the file's name.
        cores: the number of cores that read.

    Returns:
        The pieces; None if Spark has to read the files: other file systems, patterns, columns in
        the names of folders.
    """
    files = [file for path in paths for file in _files(path)]
    if not files or None in files:
        return None
    sizes = [(path, path.stat().st_size) for path in files if path is not None]
    total = sum(size for _, size in sizes)
    byte_limit = max(min(_MOST_BYTES, -(-total // (2 * cores))), _LEAST_BYTES)
    pieces = [
        piece
        for file_index, (path, size) in enumerate(sizes)
        for piece in _cut_file(path, file_index, size, byte_limit)
    ]
    return TableFiles(tuple(pieces), number, dict(user_columns), total)


def column_types(path: str) -> Mapping[str, pl.DataType]:
    """The columns of a Parquet file with their types.

    Raises:
        InputError: a damaged file.
    """
    return scan_file(InputFile(Path(path))).collect_schema()


def _files(path: str) -> list[Path | None]:
    """The files of a path; None for a path that Spark has to read."""
    folder = Path(path.removeprefix("file:"))
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        return [None]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    relative_parts = [file.relative_to(folder).parts for file in files]
    if any("=" in folder_name for parts in relative_parts for folder_name in parts[:-1]):
        return [None]
    return [
        file
        for file, parts in zip(files, relative_parts, strict=True)
        if not any(name.startswith(("_", ".")) for name in parts)
    ]


def _cut_file(path: Path, file_index: int, size: int, byte_limit: int) -> list[FilePiece]:
    """The pieces of a file, each of about `byte_limit` bytes or less."""
    source = InputFile(path)
    rows = collect_frame(scan_file(source).select(pl.len()), source).item()
    count = max(-(-size // byte_limit), -(-rows // _MOST_ROWS), 1)
    return [*FilePiece(str(path), file_index, 0, rows).cut(-(-rows // count))] if rows else []
