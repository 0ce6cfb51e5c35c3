"""Logs of interactions as Spark DataFrames: of tables, files of any number, and local data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.columns import map_columns
from rankgate.data.logs.interactions import parse_log_rows
from rankgate.data.logs.reading import open_log, refuse_unknown_unit
from rankgate.data.spark_tables import SparkTable
from rankgate.spark.failures import translate_errors
from rankgate.spark.files import file_columns, format_of, label_of, paths_of, read_files, stem_of
from rankgate.spark.pieces import list_pieces
from rankgate.spark.splitting.ranges import columns_of
from rankgate.spark.tables import TableRows, quote_column, to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from rankgate.data.logs.clock import Unit
    from rankgate.spark.pieces import TableFiles

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
            JSON files; of other formats that the local engine reads they are sent to the cluster.
        columns: our column -> the log's.
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
    form = {"jsonl": "json"}.get(stated_format or "", stated_format) or (
        format_of(paths[0]) if paths else ""
    )
    if form not in _HEADERS:
        return _send_log(spark, _only_file(paths), columns, stated_format, unit)
    label, header = label_of(paths), _HEADERS[form]

    def read() -> DataFrame:
        with translate_errors(label):
            return _with_our_columns(
                read_files(spark, paths, form), named_columns, label, ("_metadata",)
            )

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
    return TableRows(
        reader, stem_of(paths[0]), label, place_columns, header=header, files=files
    ), unit


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
    """The pieces of Parquet files that executors read by themselves; None where Spark reads."""
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
    frame: DataFrame,
    named_columns: Mapping[str, str],
    label: str,
    other_columns: Sequence[str] = (),
) -> DataFrame:
    """A log with our columns from one with other names.

    Raises:
        InputError: a column is missing; ids or times are of no known type.
    """
    from pyspark.sql import types as T

    types = {field.name: field.dataType for field in frame.schema.fields}
    theirs_by_ours = map_columns(list(types), named_columns, label)
    nested = T.StructType | T.ArrayType | T.MapType | T.BinaryType | T.VariantType
    for our_name, their_name in theirs_by_ours.items():
        kind = types[their_name]
        if our_name in {"query_id", "doc_id"} and not isinstance(
            kind, T.StringType | T.IntegralType
        ):
            problem = f"column {their_name} holds {kind.simpleString()}; ids are strings: cast it."
            raise InputError(problem, source=label, code="invalid-id")
        if isinstance(kind, nested):
            problem = f"column {their_name} holds {kind.simpleString()}; cast it to a plain type."
            raise InputError(problem, source=label, code="wrong-type")
    return frame.select(
        *(_column(our_name, their_name) for our_name, their_name in theirs_by_ours.items()),
        *other_columns,
    )


def _column(our_name: str, their_name: str) -> Column:
    """A column under our name: ids and kinds are strings, values numbers, times as they are."""
    from pyspark.sql import functions as F

    column = F.col(quote_column(their_name))
    if our_name == "value":
        column = column.try_cast("double")
    elif our_name != "at":
        column = column.cast("string")
    return column.alias(our_name)
