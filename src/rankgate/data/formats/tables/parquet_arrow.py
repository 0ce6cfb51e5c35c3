"""Arrow and Parquet: read and written in batches."""

from __future__ import annotations

import glob
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.checksums import check_checksum
from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import shape_by_document_column, shape_table
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import interaction_formats, schemas
from rankgate.data.formats.tables.table_file_sizes import check_parquet_sizes
from rankgate.data.qrels import check_rows
from rankgate.data.run import Run
from rankgate.data.table_rows import NUMBER_COLUMNS, FileRows, RowLocation

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
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


def read(source: InputFile) -> FileContents:
    """The part that the columns hold: judgments, a run, ratings, queries, documents or values."""
    scan = scan_file(source)
    if interaction_formats.is_log(scan.collect_schema().names()):
        return interaction_formats.read_contents(source, "parquet")
    table = find_table(scan)
    if table is None:
        names = scan.collect_schema().names()
        problem = f"the columns {', '.join(names[:10])} match no known table."
        raise InputError(problem, source=source.label, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(_run_of_scan(scan, source),))
    location = RowLocation(source.label)
    if table.part == "qrels":
        qrels, notes = schemas.make_qrels(_read_judgments(scan, source), source.stem, location)
        return FileContents(qrels=qrels, notes=notes)
    columns = [
        pl.col(file_column).cast(pl.Float64 if column in table.numbers else pl.String).alias(column)
        for column, file_column in table.kept.items()
    ]
    rows = collect_frame(_refuse_too_large(scan.select(columns), source), source)
    return schemas.contents_of(table, rows, source.stem, location)


def find_table(scan: pl.LazyFrame) -> TableSchema | None:
    """The table of the columns; ranx also calls a grade "score", and then it is a whole number."""
    schema = scan.collect_schema()
    names = schema.names()
    is_ranx = set(names) == _RANX_COLUMNS and schema["score"].is_integer()
    return schemas.find_schema(names, "qrels" if is_ranx else None)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from columns for query, document and grade; a null grade is not a judgment."""
    scan = scan_file(source)
    if interaction_formats.is_log(scan.collect_schema().names()):
        return interaction_formats.read_judgments(source, "parquet")
    return schemas.make_qrels(_read_judgments(scan, source), source.stem, RowLocation(source.label))[0]


def read_run(source: InputFile) -> Run:
    """A run from columns for query, document and score, or rank; rows are read when needed."""
    return _run_of_scan(scan_file(source), source)


def _run_of_scan(scan: pl.LazyFrame, source: InputFile) -> Run:
    location = RowLocation(source.label)

    def checked(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        first_row = 0
        for frame in collect_batches(rows, source):
            check_rows(frame, "score", location, first_row)
            first_row += len(frame)
            yield frame

    tables = shape_by_document_column(scan, "score", source.label)
    readings = {document_column: partial(checked, rows) for document_column, rows in tables.items()}
    return Run.of_columns(source.stem, readings, queries=_read_queries(scan, source), place=location)


def rows(source: InputFile) -> FileRows | None:
    """The rows with invalid values and ranks; None if they are neither judgments nor a run."""
    scan = scan_file(source)
    input_kind = schemas.input_kind_of(find_table(scan))
    if input_kind is None:
        return None
    frame = shape_table(scan, NUMBER_COLUMNS[input_kind], source.label)
    score_columns = match_columns(scan.collect_schema().names(), ("score", "rank"))
    if input_kind == "run" and {*score_columns} == {"score", "rank"}:
        rank = scan.select(pl.col(score_columns["rank"]).cast(pl.Float64, strict=False).alias("rank"))
        frame = pl.concat([frame, rank], how="horizontal")
    return FileRows.from_frames(input_kind, [collect_frame(frame, source)], RowLocation(source.label))


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


def _read_queries(scan: pl.LazyFrame, source: InputFile) -> pl.DataFrame | None:
    columns_kept = schemas.find_run_columns(scan.collect_schema().names())
    if not columns_kept:
        return None
    types = {"latency_ms": pl.Float64}
    columns = [
        pl.col(file_column).cast(types.get(column, pl.String)).alias(column)
        for column, file_column in columns_kept.items()
    ]
    return schemas.read_query_states(
        [collect_frame(scan.select(columns).unique(maintain_order=True), source)], source.label
    )


def _read_judgments(scan: pl.LazyFrame, source: InputFile) -> pl.DataFrame:
    return collect_frame(_refuse_too_large(shape_table(scan, "grade", source.label), source), source)


def _refuse_too_large(frame: pl.LazyFrame, source: InputFile) -> pl.LazyFrame:
    """The same frame, after a check that it declares no more values than the limit."""
    rows = collect_frame(frame.select(pl.len()), source).item()
    columns = len(frame.collect_schema())
    if rows * columns > MAX_VALUES:
        problem = (
            f"{count_noun(rows, 'row')} of {count_noun(columns, 'column')}, where {MAX_VALUES} values are "
            "read at most; split it."
        )
        raise InputError(problem, source=source.label, code="too-large")
    return frame


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


FORMAT = Format(
    name="arrow",
    title="Arrow IPC (Feather) with named columns",
    suffixes=(".arrow", ".feather", ".ipc"),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    rows=rows,
    table=scan_file,
    holds=schemas.HOLDS,
    loses=schemas.LOSES,
    columns=schemas.COLUMNS,
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
