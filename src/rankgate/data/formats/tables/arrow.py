"""Arrow and Parquet: read and written in batches."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import named, shaped, shaped_by_column
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import run_columns, schemas
from rankgate.data.formats.tables.parquet_pages import refuse_lies
from rankgate.data.place import Place
from rankgate.data.qrels import refuse_holes
from rankgate.data.rows import NUMBERS, FileRows
from rankgate.data.run import Run

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.formats.tables.schemas import TableSchema
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

PARQUET_MAGIC = b"PAR1"
ARROW_MAGIC = b"ARROW1"
_RANX = {"q_id", "doc_id", "score"}
_BATCH = 1_000_000

PACKED = 384 << 20
"""Bytes of a file that is compressed as a whole, unpacked, at most: twice that is in memory."""

VALUES = 100_000_000
"""Rows times columns that are read whole at most; a few kilobytes can declare any number."""

# Polars panics over some damaged files, which is no Exception
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError)


def sniff(head: bytes, name: str) -> str | None:
    """The file begins with ARROW1."""
    return "it begins with ARROW1" if head.startswith(ARROW_MAGIC) else None


def sniff_parquet(head: bytes, name: str) -> str | None:
    """The file begins with PAR1."""
    return "it begins with PAR1" if head.startswith(PARQUET_MAGIC) else None


def read(source: InputFile) -> FileContents:
    """What the columns say: judgments, a run, ratings, queries, documents or metric values."""
    scan = scanned(source)
    table = table_in(scan)
    if table is None:
        names = scan.collect_schema().names()
        problem = f"the columns {', '.join(names[:10])} match no known table."
        raise InputError(problem, source=source.label, code="unknown-format")
    if table.part == "runs":
        return FileContents(runs=(read_run(source),))
    place = Place(source.label)
    if table.part == "qrels":
        found, notes = schemas.judgments(_judged(source), source.stem, place)
        return FileContents(qrels=found, notes=notes)
    columns = [
        pl.col(theirs).cast(pl.Float64 if ours in table.numbers else pl.String).alias(ours)
        for ours, theirs in table.kept.items()
    ]
    rows = collected(_bounded(scan.select(columns), source), source)
    return schemas.contents_of(table, rows, source.stem, place)


def table_in(scan: pl.LazyFrame) -> TableSchema | None:
    """What the columns say; ranx calls a grade a score too, and has it as a whole number."""
    schema = scan.collect_schema()
    names = schema.names()
    ranx = set(names) == _RANX and schema["score"].is_integer()
    return schemas.table_of(names, "qrels" if ranx else None)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments from columns for query, document and grade; a null grade is not a judgment."""
    return schemas.judgments(_judged(source), source.stem, Place(source.label))[0]


def read_run(source: InputFile) -> Run:
    """A run from columns for query, document and score, or rank; rows are read when needed."""
    scan = scanned(source)
    place = Place(source.label)

    def checked(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        for frame in pieces(rows, source):
            refuse_holes(frame, "score", place)
            yield frame

    tables = shaped_by_column(scan, "score", source.label)
    readings = {document: partial(checked, rows) for document, rows in tables.items()}
    return Run.of_columns(source.stem, readings, queries=_queries(source), place=place)


def rows(source: InputFile) -> FileRows | None:
    """The rows with their defects, with the rank; None where they are neither kind."""
    scan = scanned(source)
    part = schemas.part_of(table_in(scan))
    if part is None:
        return None
    frame = shaped(scan, NUMBERS[part], source.label)
    both = named(scan.collect_schema().names(), ("score", "rank"))
    if part == "run" and {*both} == {"score", "rank"}:
        rank = scan.select(pl.col(both["rank"]).cast(pl.Float64, strict=False).alias("rank"))
        frame = pl.concat([frame, rank], how="horizontal")
    return FileRows.of(part, [collected(frame, source)], Place(source.label))


def write(
    contents: FileContents, out: BinaryIO, sink: Callable[..., object] = pl.LazyFrame.sink_ipc
) -> tuple[Loss, ...]:
    """One part as a table, a run in its own order."""
    part, lost = schemas.chosen(contents)
    with _disk_errors():
        sink(_batches(contents, part), out)
    return lost


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn Polars' error for a full disk into the OSError that other writers raise."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        if "os error" not in str(error):
            raise
        raise OSError(str(error).rsplit(": ", 1)[-1]) from None


def _batches(contents: FileContents, part: str) -> pl.LazyFrame:
    """A part that is made batch by batch while it is written."""
    from polars.io.plugins import register_io_source

    def source(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        for frame in schemas.rows(contents, part):
            kept = frame if with_columns is None else frame.select(with_columns)
            yield kept if predicate is None else kept.filter(predicate)

    return register_io_source(source, schema=schemas.schema_of(contents, part))


def _queries(source: InputFile) -> pl.DataFrame | None:
    scan = scanned(source)
    kept = run_columns.kept(scan.collect_schema().names())
    if not kept:
        return None
    types = {"latency_ms": pl.Float64}
    columns = [
        pl.col(theirs).cast(types.get(ours, pl.String)).alias(ours) for ours, theirs in kept.items()
    ]
    return run_columns.queries_of(
        [collected(scan.select(columns).unique(maintain_order=True), source)], source.label
    )


def _judged(source: InputFile) -> pl.DataFrame:
    return collected(_bounded(shaped(scanned(source), "grade", source.label), source), source)


def _bounded(frame: pl.LazyFrame, source: InputFile) -> pl.LazyFrame:
    """The same, if it declares no more values than are read whole."""
    rows = collected(frame.select(pl.len()), source).item()
    columns = len(frame.collect_schema())
    if rows * columns > VALUES:
        problem = (
            f"{rows} rows of {columns} columns, where {VALUES} values are read at most; split it."
        )
        raise InputError(problem, source=source.label, code="too-large")
    return frame


def scanned(source: InputFile, *, checked: bool = False) -> pl.LazyFrame:
    """The columns of a Parquet or Arrow file, not read yet.

    Args:
        source: the file.
        checked: whether its pages were checked before.

    Raises:
        InputError: a damaged file.
    """
    parquet = source.head(4) == PARQUET_MAGIC
    scan = pl.scan_parquet if parquet else pl.scan_ipc
    plain = None if source.content is not None or _packed(source) else source.path
    contents = b"" if plain else source.everything(PACKED)
    if parquet and not checked:
        with plain.open("rb") if plain else io.BytesIO(contents) as stream:
            refuse_lies(stream, stream.seek(0, io.SEEK_END), source.label)
    try:
        frame = scan(plain or contents)
        frame.collect_schema()
    except _BROKEN:
        raise _damaged(source) from None
    return frame


def _packed(source: InputFile) -> bool:
    """Whether the file is compressed as a whole, so that its columns cannot be looked up."""
    with source.raw() as raw:
        return raw.read(4) not in (PARQUET_MAGIC, ARROW_MAGIC[:4])


def pieces(frame: pl.LazyFrame, source: InputFile) -> Iterator[pl.DataFrame]:
    """The rows of what `scanned` gave, a million at a time.

    Raises:
        InputError: as `collected`.
    """
    for begin in range(0, collected(frame.select(pl.len()), source).item(), _BATCH):
        yield collected(frame.slice(begin, _BATCH), source)


def collected(frame: pl.LazyFrame, source: InputFile) -> pl.DataFrame:
    """The rows of what `scanned` gave.

    Raises:
        InputError: a damaged file, a column that holds what it should not.
    """
    try:
        return frame.collect(engine="streaming")
    except _BROKEN as error:
        if isinstance(error, pl.exceptions.InvalidOperationError):
            problem = f"a column holds what it should not: {str(error).splitlines()[0]}."
            raise InputError(problem, source=source.label, code="wrong-type") from None
        raise _damaged(source) from None


def _damaged(source: InputFile) -> InputError:
    problem = "a damaged Parquet or Arrow file; write it again."
    return InputError(problem, source=source.label, code="damaged-file")


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
    holds=schemas.HOLDS,
    loses=schemas.LOSES,
    columns=schemas.COLUMNS,
    streams=True,
    detail=(
        "Columns as of csv; ids are strings, categories or whole numbers. Null is unrated. Columns "
        "q_id, doc_id and score, as ranx writes them, are judgments if the scores are integers."
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
