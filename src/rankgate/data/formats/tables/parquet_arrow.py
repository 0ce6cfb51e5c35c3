"""Arrow and Parquet: read and written in batches."""

from __future__ import annotations

import glob
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.checksums import check_checksum
from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.formats.table import Table, parse_numbers
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.tables.table_contents import table_format
from rankgate.data.formats.tables.table_file_sizes import check_parquet_sizes
from rankgate.data.qrels import check_rows
from rankgate.data.table_rows import with_defects

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.file_contents import FileContents
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.streams.source import InputFile

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
_IDS = ("query_id", "doc_id")
_STREAMED_PARTS = {"runs", "states"}
_TEXT_PARTS = {"queries", "documents"}
_PAIR_NUMBERS = {"grade", "score", "rank"}
_RANX_COLUMNS = {"q_id", "doc_id", "score"}
_ROWS_PER_BATCH = 1_000_000

MAX_UNPACKED_BYTES = 384 << 20
"""Bytes of a file that is compressed as a whole, unpacked, at most; memory holds them twice."""

MAX_VALUES = 100_000_000
"""Rows times columns that are read whole at most; a small file can declare any number."""


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The file begins with ARROW1."""
    return "it begins with ARROW1" if first_bytes.startswith(ARROW_MAGIC) else None


def sniff_parquet(first_bytes: bytes, name: str) -> str | None:
    """The file begins with PAR1."""
    return "it begins with PAR1" if first_bytes.startswith(PARQUET_MAGIC) else None


class FrameTable(Table):
    """A table that is a frame, as in a Parquet file, a database or a workbook.

    Args:
        source: the file.
        scan: the frame, if it is not the columns of a Parquet or Arrow file.

    Raises:
        InputError: the file is damaged.
    """

    def __init__(self, source: InputFile, scan: pl.LazyFrame | None = None) -> None:
        self.source = source
        self._is_converted = scan is not None
        self._scan = scan_file(source) if scan is None else scan
        self._types = self._scan.collect_schema()
        self.names = self._types.names()

    def rows(self, schema: TableSchema, rows: pl.LazyFrame | None = None) -> pl.LazyFrame:
        """The rows of some columns under our names, not yet read; numbers in texts are texts.

        Args:
            schema: the columns.
            rows: a part of the rows; all of them if not given.

        Raises:
            InputError: a column of ids or numbers has another type.
        """
        selected_rows = (self._scan if rows is None else rows).select(
            pl.col(column).map_batches(_json_texts, pl.String).alias(name)
            if schema.part in _TEXT_PARTS and name not in _IDS and self._types[column].is_nested()
            else pl.col(column)
            .cast(pl.String if self._types[column] == pl.String else schema.types[name])
            .alias(name)
            for name, column in schema.kept.items()
        )
        if schema.part not in {"qrels", "runs"}:
            return selected_rows
        self._check_types(schema)
        if self.header_line is not None:
            return selected_rows
        pair_columns = set(schema.kept) & {*_IDS, *(_PAIR_NUMBERS & schema.numbers)}
        is_filled = (  # rows that are empty as a whole; files with a header line have none
            (pl.col(name) != "").fill_null(value=False)
            if name in _IDS or self._types[schema.kept[name]] == pl.String
            else pl.col(name).is_not_null()
            for name in sorted(pair_columns)
        )
        return selected_rows.filter(pl.any_horizontal(is_filled))

    def nested_values(self) -> list[dict[str, Json]]:
        """The lists and objects of each row; see `nested_values`."""
        names = [name for name, dtype in self._types.items() if dtype.is_nested()]
        return nested_values(collect_frame(self._scan.select(names), self.source)) if names else []

    def frames(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The rows of some columns, a million at a time; see `Table.frames`."""
        text_numbers = [
            name
            for name, column in schema.kept.items()
            if name in schema.numbers and self._types[column] == pl.String
        ]
        first_row = 0
        for text_frame in self._pieces(schema):
            frame = text_frame
            for name in text_numbers:
                frame = (
                    with_defects(frame, name)
                    if schema.defects
                    else frame.with_columns(parse_numbers(frame[name], self.location, first_row))
                )
            if schema.part == "runs" and not schema.defects:
                check_rows(schemas.with_scores(frame), "score", self.location, first_row)
            first_row += len(frame)
            yield frame

    def _pieces(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The selected rows of a run or of its queries in batches, of all others whole.

        Raises:
            InputError: more rows than are read whole; the file is damaged.
        """
        rows = self.rows(schema)
        if schema.part in _STREAMED_PARTS:
            yield from collect_batches(rows, self.source)
        else:
            _refuse_too_large(rows, self.source)
            yield collect_frame(rows, self.source)

    def frame(self) -> pl.LazyFrame:
        """All columns."""
        return self._scan

    def schema(self, part_name: str | None = None) -> TableSchema | None:
        """The table of the columns; ranx also calls a grade "score", and then it is a whole number."""
        is_ranx = set(self.names) == _RANX_COLUMNS and self._types["score"].is_integer()
        return super().schema(part_name or ("qrels" if is_ranx else None))

    def log_source(self) -> InputFile:
        """The file; rows of another kind of file as a file of Arrow."""
        return file_of(self._scan.collect(), self.source) if self._is_converted else self.source

    def _check_types(self, schema: TableSchema) -> None:
        """Check that ids are texts or whole numbers, and numbers no times or objects.

        Raises:
            InputError: a column has another type.
        """
        for name in sorted(schema.numbers & schema.kept.keys()):
            dtype = self._types[schema.kept[name]]
            if dtype.is_nested() or dtype.is_temporal():
                problem = f"column {schema.kept[name]} holds {dtype}, where numbers are needed."
                raise InputError(problem, source=self.source.label, code="not-a-number")
        for name in _IDS:
            dtype = self._types[schema.kept[name]]
            if not dtype.is_integer() and dtype not in (pl.String, pl.Categorical, pl.Enum):
                problem = f"column {schema.kept[name]} holds {dtype}; ids are strings: cast the column."
                raise InputError(problem, source=self.source.label, code="invalid-id")


def _json_texts(values: pl.Series) -> pl.Series:
    """Lists and objects as JSON text; values that JSON lacks, such as times, as strings."""
    texts = [
        None if value is None else json.dumps(value, ensure_ascii=False, default=str)
        for value in values.to_list()
    ]
    return pl.Series(values.name, texts, pl.String)


def nested_values(frame: pl.DataFrame) -> list[dict[str, Json]]:
    """The lists and objects of each row as JSON; a field of an object that is null is left out.

    All objects of a column have the same fields in such a frame, so that null means that an object
    does not have the field.
    """
    texts = frame.select(_json_texts(column) for column in frame if column.dtype.is_nested())
    return [
        {name: json.loads(text, object_hook=_without_nulls) for name, text in row.items() if text is not None}
        for row in texts.iter_rows(named=True)
    ]


def _without_nulls(value: dict[str, Json]) -> dict[str, Json]:
    return {name: member for name, member in value.items() if member is not None}


def write(
    contents: FileContents, out: BinaryIO, sink: Callable[..., object] = pl.LazyFrame.sink_ipc
) -> tuple[Loss, ...]:
    """Write one part as a table; a run keeps its own order."""
    part_name, lost = schemas.choose_part(contents)
    with _disk_errors():
        sink(_batches(contents, part_name), out)
    return lost


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Convert Polars' error for a full disk to the OSError that other writers raise."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        if "os error" not in str(error):
            raise
        raise OSError(str(error).rsplit(": ", 1)[-1]) from None


def _batches(contents: FileContents, part_name: str) -> pl.LazyFrame:
    """Write a part whose batches are made during writing."""
    from polars.io.plugins import register_io_source

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in schemas.part_frames(contents, part_name):
            selected = frame if with_columns is None else frame.select(with_columns)
            yield selected if predicate is None else selected.filter(predicate)

    return register_io_source(source, schema=schemas.schema_of(contents, part_name))


def _refuse_too_large(frame: pl.LazyFrame, source: InputFile) -> None:
    """Check that a frame declares no more values than are read whole.

    Raises:
        InputError: it declares more.
    """
    rows = collect_frame(frame.select(pl.len()), source).item()
    columns = len(frame.collect_schema())
    if rows * columns > MAX_VALUES:
        problem = (
            f"{count_noun(rows, 'row')} of {count_noun(columns, 'column')}, where {MAX_VALUES} values are "
            "read at most; split it."
        )
        raise InputError(problem, source=source.label, code="too-large")


def scan_file(source: InputFile, *, checked: bool = False) -> pl.LazyFrame:
    """The columns of a Parquet or Arrow file, not yet read.

    Args:
        source: the file.
        checked: True if its pages are already checked.

    Raises:
        InputError: the file is damaged.
    """
    parquet = source.head(4) == PARQUET_MAGIC
    scan = pl.scan_parquet if parquet else pl.scan_ipc
    plain_path = None if source.content is not None or _is_compressed(source) else source.path
    contents = b"" if plain_path else source.everything(MAX_UNPACKED_BYTES)
    if not checked:
        with plain_path.open("rb") if plain_path else io.BytesIO(contents) as stream:
            check_checksum(stream, source.label)
            if parquet:
                check_parquet_sizes(stream, stream.seek(0, io.SEEK_END), source.label)
    with damage_named(source.label):
        frame = scan(glob.escape(str(plain_path)) if plain_path else contents)  # names may have brackets
        frame.collect_schema()
    return frame


def file_of(frame: pl.DataFrame, source: InputFile) -> InputFile:
    """A file whose rows are in a frame instead of bytes."""
    contents = io.BytesIO()
    frame.write_ipc(contents)
    return replace(source, content=contents.getvalue())


def _is_compressed(source: InputFile) -> bool:
    """True if the complete file is compressed, so that its columns cannot be read directly."""
    with source.raw() as raw:
        return raw.read(4) not in (PARQUET_MAGIC, ARROW_MAGIC[:4])


def collect_batches(frame: pl.LazyFrame, source: InputFile) -> Iterator[pl.DataFrame]:
    """The rows from `scan_file`, a million at a time.

    Raises:
        InputError: see `collect_frame`.
    """
    for begin in range(0, collect_frame(frame.select(pl.len()), source).item(), _ROWS_PER_BATCH):
        yield collect_frame(frame.slice(begin, _ROWS_PER_BATCH), source)


def collect_frame(frame: pl.LazyFrame, source: InputFile) -> pl.DataFrame:
    """The rows from `scan_file`.

    Raises:
        InputError: the file is damaged, or a column has invalid values.
    """
    with damage_named(source.label):
        return frame.collect(engine="streaming")


@contextmanager
def damage_named(label: str) -> Iterator[None]:
    """Turn errors of Polars about the content of a file into ours.

    Raises:
        InputError: the file is damaged, or a column has invalid values.
    """
    try:
        yield
    except pl.exceptions.InvalidOperationError as error:
        problem = f"a column has invalid values: {str(error).splitlines()[0]}."
        raise InputError(problem, source=label, code="wrong-type") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):  # a panic is not an Exception
        problem = "a damaged Parquet or Arrow file; write it again."
        raise InputError(problem, source=label, code="damaged-file") from None


FORMAT = table_format(
    FrameTable,
    name="arrow",
    title="Arrow IPC (Feather) with named columns",
    suffixes=(".arrow", ".feather", ".ipc"),
    sniff=sniff,
    write=write,
    loses=schemas.LOSES,
    streams=True,
    detail=(
        "Columns as of csv; ids are strings, categories or whole numbers. Null is unrated. Columns q_id, "
        "doc_id and score, as ranx writes them, are judgments if the scores are integers."
    ),
)
PARQUET = replace(
    FORMAT,
    name="parquet",
    title="Parquet with named columns",
    suffixes=(".parquet", ".pq"),
    sniff=sniff_parquet,
    write=partial(write, sink=pl.LazyFrame.sink_parquet),
)
