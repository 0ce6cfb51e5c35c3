"""Logs of interactions as Spark DataFrames, and logs that executors read by themselves.

Executors move the logs that they read as columns, packed by ranges of users. The DataFrames
come from tables, files of any number, and local data.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tables.parquet_arrow import collect_frame, scan_file
from rankgate.data.logs.interactions import map_columns, parse_log_rows
from rankgate.data.logs.interactions import map_columns as named
from rankgate.data.logs.read_logs import open_log, refuse_unknown_unit
from rankgate.data.spark_tables import SparkTable
from rankgate.data.streams.source import InputFile
from rankgate.spark.file_pieces import TASK_BYTES, list_pieces
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import encode_rows, map_partitions, read_numbers
from rankgate.spark.table_rows import (
    TableRows,
    file_columns,
    format_of,
    label_of,
    paths_of,
    quote_column,
    read_files,
    stem_of,
    to_spark,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from rankgate.data.logs.interactions import Unit
    from rankgate.spark.file_pieces import FilePiece, TableFiles
    from rankgate.spark.shuffle import Columns


RANGED = "key int, range int, piece int, place int, rows binary, totals string"
"""Columns of packed rows: the range of users, its partition's key, the position in the log."""

_ROWS = 1 << 22  # rows that are packed in one step
_RANGE_BYTES = 12 << 20  # input bytes of one range, which is sorted in one step
_SAMPLES = 1000  # users of each piece of a sample
_WHOLE = (pl.String, pl.Categorical, pl.Enum)
_TIMES = (*_WHOLE, pl.Datetime, pl.Date)


def columns_of(pieces: TableFiles, named_columns: Mapping[str, str], label: str) -> dict[str, str] | None:
    """The columns of a log by our names; None if Spark has to read or refuse the log.

    Raises:
        InputError: a damaged file, a column that is missing.
    """
    schema = scan_file(InputFile(Path(pieces.every[0].path))).collect_schema()
    theirs_by_ours = named(schema.names(), named_columns, label)
    for our_name, their_name in theirs_by_ours.items():
        kind = schema[their_name]
        is_plain = kind.is_numeric() if our_name in {"at", "value"} else kind.is_integer()
        text = _TIMES if our_name == "at" else () if our_name == "value" else _WHOLE
        if kind.is_decimal() or not (is_plain or kind in text):
            return None
    return theirs_by_ours


@dataclass(frozen=True)
class RangePacking:
    """Read pieces of a log and pack their rows by ranges of users.

    Attributes:
        pieces: the pieces of the log, in the order of its rows.
        columns: their names by our names.
        ends: the first users of all ranges but the first.
        keys: for each partition, a number that Spark's hash assigns to it; a partition has several
            ranges.
    """

    pieces: tuple[FilePiece, ...]
    columns: Mapping[str, str]
    ends: pl.Series
    keys: tuple[int, ...]

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """The rows of the pieces with the given numbers, packed.

        Raises:
            InputError: a damaged file, a column that is missing.
        """
        for number in read_numbers(batches):
            for frame_index, frame in enumerate(_frames(self.pieces[number], self.columns)):
                yield self._packed(frame, number, frame_index)

    def _packed(self, frame: pl.DataFrame, piece: int, frame_index: int) -> Columns:
        users = frame["query_id"].fill_null("")
        all_users = users.unique().sort()
        codes = users.cast(pl.Enum(all_users)).to_physical().to_numpy()
        firsts = np.asarray(all_users.search_sorted(self.ends, side="left"))
        ranges = np.searchsorted(firsts, codes, side="right").astype(np.uint16)
        rows = frame.select(pl.all().gather(np.argsort(ranges, kind="stable")))
        counts = np.bincount(ranges, minlength=len(self.ends) + 1)
        starts = np.cumsum(counts) - counts
        range_numbers = np.flatnonzero(counts).tolist()
        values = [
            encode_rows(rows.slice(int(starts[range_number]), int(counts[range_number])), "lz4")
            for range_number in range_numbers
        ]
        count = len(range_numbers)
        each_key = -(-(len(self.ends) + 1) // len(self.keys))
        keys = [self.keys[range_number // each_key] for range_number in range_numbers]
        places = {"piece": [piece] * count, "place": [frame_index] * count}
        return {"key": keys, "range": range_numbers, **places, "rows": values}


def unpack_ranges(batches: Iterable[pa.RecordBatch]) -> Iterator[pl.DataFrame]:
    """The rows of each range of users, in the order of the log; users are whole.

    Args:
        batches: columns of `RANGED`, by range, piece and place.

    Raises:
        InputError: files whose columns have incompatible types.
    """
    for _, values in groupby(_values(batches), key=itemgetter(0)):
        try:
            frames = [pl.read_ipc_stream(io.BytesIO(rows)) for _, rows in values]
            yield pl.concat(frames, how="vertical_relaxed", rechunk=True)
        except pl.exceptions.PolarsError as error:
            problem = f"columns of several types: {str(error).splitlines()[0]}."
            raise InputError(problem, code="wrong-type") from None


def partition_by_user(
    spark: SparkSession, pieces: TableFiles, columns: Mapping[str, str], keys: tuple[int, ...]
) -> DataFrame:
    """The rows of a log, packed; partitions, and ranges in them, are in byte order of users.

    Args:
        spark: the session.
        pieces: the pieces of the log.
        columns: their names by our names.
        keys: for each partition of the shuffle, a number that Spark's hash assigns to it.
    """
    partitions = len(keys)
    ranges = partitions * -(-pieces.size // (_RANGE_BYTES * partitions))
    packing = RangePacking(pieces.every, dict(columns), _range_ends(pieces, columns, ranges), keys)
    work = len(pieces.every)
    tasks = max(int(spark.sparkContext.defaultParallelism), -(-pieces.size // TASK_BYTES))
    numbers = spark.range(0, work, 1, min(work, tasks))
    moved = map_partitions(numbers, packing, RANGED).repartition(partitions, "key")
    return moved.sortWithinPartitions("range", "piece", "place")


def _range_ends(pieces: TableFiles, columns: Mapping[str, str], ranges: int) -> pl.Series:
    """The users at which the log is cut into ranges of about equal size, from a sample of rows."""
    sample_count = min(max(4 * ranges, 16), 256)
    sample_positions = np.linspace(0, len(pieces.every), sample_count, endpoint=False)
    samples = []
    for position in sample_positions:
        piece = pieces.every[int(position)]
        source = InputFile(Path(piece.path))
        scan = scan_file(source, checked=True).select(pl.col(columns["query_id"]).cast(pl.String))
        begin = piece.begin + int((position % 1) * piece.rows)
        samples.append(collect_frame(scan.slice(begin, _SAMPLES), source).to_series())
    users = pl.concat(samples).drop_nulls().sort()
    places = np.arange(1, ranges) * len(users) // ranges
    return users.gather(places).unique(maintain_order=True) if len(users) else users


def _frames(piece: FilePiece, columns: Mapping[str, str]) -> Iterator[pl.DataFrame]:
    """The rows of a piece under our names."""
    source = InputFile(Path(piece.path))
    scan = scan_file(source, checked=True)  # checked when the piece was cut
    names = scan.collect_schema().names()
    for their_name in columns.values():
        if their_name not in names:
            problem = f"no column '{their_name}' among {', '.join(names[:10])}, as other files have."
            raise InputError(problem, source=piece.path, code="missing-column")
    kinds = {"query_id": pl.String, "doc_id": pl.String, "kind": pl.String, "value": pl.Float64}
    expressions = [
        pl.col(their_name).cast(kinds[our_name]).alias(our_name)
        if our_name in kinds
        else pl.col(their_name).alias(our_name)
        for our_name, their_name in columns.items()
    ]
    frame = scan.select(expressions)
    end = piece.begin + piece.rows
    for begin in range(piece.begin, end, _ROWS):
        yield collect_frame(frame.slice(begin, min(_ROWS, end - begin)), source)


def _values(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    for batch in batches:
        ranges = batch.column("range").to_pylist()
        values = (rows_value.as_py() for rows_value in batch.column("rows"))
        yield from zip(ranges, values, strict=True)


_HEADERS = {"parquet": None, "delta": None, "csv": 1, "tsv": 1, "json": 0}
"""The formats that executors read, with the lines before the first row of a file."""


def read_log(
    spark: SparkSession,
    log: Any,  # noqa: ANN401 - a SparkTable, or its source
    columns: Mapping[str, str] | None,
    unit: Unit | None,
) -> tuple[TableRows, Unit | None]:
    """The rows of a log, and the unit of its times if it is known.

    Args:
        spark: the session.
        log: a Spark DataFrame; ``table:NAME``; a path, or several, of Parquet, Delta, CSV, TSV or
            JSON files; other formats are read by the local engine and sent to the cluster.
        columns: our column name -> the log's column name.
        unit: the unit of times that are numbers.

    Raises:
        InputError: no such file, a column that is missing or of a wrong type.
        UsageError: an unknown format or unit.
    """
    from pyspark.sql import DataFrame

    refuse_unknown_unit(unit)
    named_columns = columns or {}
    log, stated_format = (log.source, log.format) if isinstance(log, SparkTable) else (log, None)
    if isinstance(log, DataFrame):
        return TableRows(partial(_with_our_columns, log, named_columns, "log"), "log", "log"), unit
    if isinstance(log, str) and log.startswith("table:"):
        table_name = log.removeprefix("table:")
        with translate_errors(table_name):
            frame = spark.table(table_name)
        return TableRows(
            partial(_with_our_columns, frame, named_columns, table_name),
            table_name.rpartition(".")[2],
            table_name,
        ), unit
    paths = paths_of(log)
    form = {"jsonl": "json"}.get(stated_format or "", stated_format) or (format_of(paths[0]) if paths else "")
    if form not in _HEADERS:
        return _send_log(spark, _only_file(paths), columns, stated_format, unit)
    label, header = label_of(paths), _HEADERS[form]

    def read() -> DataFrame:
        with translate_errors(label):
            return _with_our_columns(read_files(spark, paths, form), named_columns, label, ("_metadata",))

    place_columns = file_columns()
    files = _pieces(spark, paths, named_columns, label) if form == "parquet" else None
    if files is not None:
        single = len({piece.path for piece in files.every}) == 1
    else:
        frame = read()  # a missing column is an error now
        single = len(frame.inputFiles()) == 1
    if single:  # a long string for each row of the shuffle
        del place_columns["file"]
    reader = read if files is not None else lambda: frame
    return TableRows(reader, stem_of(paths[0]), label, place_columns, header=header, files=files), unit


def _only_file(paths: Sequence[str]) -> str:
    """The one file of a format that Spark does not read.

    Raises:
        UsageError: there are several.
    """
    if len(paths) != 1:
        raise UsageError(
            f"{label_of(paths)}: a log of this format is one file; give one, or Parquet.",
            code="wrong-file-count",
        )
    return paths[0]


def _pieces(
    spark: SparkSession, paths: list[str], named_columns: Mapping[str, str], label: str
) -> TableFiles | None:
    """The pieces of Parquet files that executors read by themselves; None if Spark reads."""
    files = list_pieces(paths, "value", {}, int(spark.sparkContext.defaultParallelism))
    if files is None or not files.every:
        return None
    columns = columns_of(files, named_columns, label)
    return replace(files, known=columns) if columns else None


def _send_log(
    spark: SparkSession,
    log: Any,  # noqa: ANN401 - local data
    columns: Mapping[str, str] | None,
    stated_format: str | None,
    unit: Unit | None,
) -> tuple[TableRows, Unit | None]:
    """The rows that the local engine reads, as a DataFrame."""
    raw = open_log(log, columns, from_=stated_format, unit=unit)
    table = pl.concat(raw.pieces)
    if table.is_empty():
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")
    parse_log_rows(table, raw.place, raw.unit)  # lines are known here
    frame = to_spark(spark, table)
    return TableRows(lambda: frame, raw.name, raw.place.label), raw.unit


def _with_our_columns(
    frame: DataFrame, named_columns: Mapping[str, str], label: str, other_columns: Sequence[str] = ()
) -> DataFrame:
    """A log with our columns from one with other names.

    Raises:
        InputError: a column is missing; ids or times have an unknown type.
    """
    from pyspark.sql import types as T

    types = {field.name: field.dataType for field in frame.schema.fields}
    theirs_by_ours = map_columns(list(types), named_columns, label)
    nested = T.StructType | T.ArrayType | T.MapType | T.BinaryType | T.VariantType
    for our_name, their_name in theirs_by_ours.items():
        kind = types[their_name]
        if our_name in {"query_id", "doc_id"} and not isinstance(kind, T.StringType | T.IntegralType):
            problem = f"column {their_name} holds {kind.simpleString()}; ids are strings: cast it."
            raise InputError(problem, source=label, code="invalid-id")
        if isinstance(kind, nested):
            problem = f"column {their_name} holds {kind.simpleString()}; cast it to a plain type."
            raise InputError(problem, source=label, code="wrong-type")
    return frame.select(
        *(_column(our_name, their_name) for our_name, their_name in theirs_by_ours.items()), *other_columns
    )


def _column(our_name: str, their_name: str) -> Column:
    """A column under our name: ids and kinds as strings, values as numbers, times unchanged."""
    from pyspark.sql import functions as F

    column = F.col(quote_column(their_name))
    if our_name == "value":
        column = column.try_cast("double")
    elif our_name != "at":
        column = column.cast("string")
    return column.alias(our_name)
