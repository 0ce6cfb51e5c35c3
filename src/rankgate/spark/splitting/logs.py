"""Logs of interactions as Spark DataFrames: of tables, files of any number, and local data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.logs.columns import mapped
from rankgate.data.logs.interactions import checked
from rankgate.data.logs.reading import opened, refuse_unknown_unit
from rankgate.spark.failures import translated
from rankgate.spark.files import file_place, format_of, label_of, paths_of, read_files, stem_of
from rankgate.spark.pieces import pieces_of
from rankgate.spark.splitting.ranges import columns_of
from rankgate.spark.tables import Rows, quoted, to_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from rankgate.data.logs.clock import Unit
    from rankgate.spark.pieces import Pieces

_HEADERS = {"parquet": None, "delta": None, "csv": 1, "tsv": 1, "json": 0}
"""The formats that executors read, with the lines before the first row of a file."""


def log_of(
    spark: SparkSession,
    log: Any,  # noqa: ANN401 - a DataFrame, a path, or what the local engine reads
    columns: Mapping[str, str] | None,
    from_: str | None,
    unit: Unit | None,
) -> tuple[Rows, Unit | None]:
    """The rows of a log, and the unit of its times if it is known.

    Args:
        spark: the session.
        log: a Spark DataFrame; ``table:NAME``; a path, or several, of Parquet, Delta, CSV, TSV or
            JSON files; or what the local engine reads, which is sent to the cluster.
        columns: our column -> the log's.
        from_: the format of files; by their names if not given.
        unit: the unit of times that are numbers.

    Raises:
        InputError: no such file, a column that is missing or of a wrong type.
        UsageError: an unknown format or unit.
    """
    from pyspark.sql import DataFrame

    refuse_unknown_unit(unit)
    chosen = columns or {}
    if isinstance(log, DataFrame):
        return Rows(partial(_shaped, log, chosen, "log"), "log", "log"), unit
    if isinstance(log, str) and log.startswith("table:"):
        own = log.removeprefix("table:")
        with translated(own):
            frame = spark.table(own)
        return Rows(partial(_shaped, frame, chosen, own), own.rpartition(".")[2], own), unit
    paths = paths_of(log)
    form = {"jsonl": "json"}.get(from_ or "", from_) or (format_of(paths[0]) if paths else "")
    if form not in _HEADERS:
        return _sent(spark, log, columns, from_, unit)
    label, header = label_of(paths), _HEADERS[form]

    def read() -> DataFrame:
        with translated(label):
            return _shaped(read_files(spark, paths, form), chosen, label, ("_metadata",))

    place = file_place()
    files = _pieces(spark, paths, chosen, label) if form == "parquet" else None
    if files is not None:
        single = len({each.path for each in files.every}) == 1
    else:
        frame = read()  # a column that is missing is an error now
        single = len(frame.inputFiles()) == 1
    if single:  # a long string for each row of the shuffle
        del place["file"]
    reader = read if files is not None else lambda: frame
    return Rows(reader, stem_of(paths[0]), label, place, header=header, files=files), unit


def _pieces(
    spark: SparkSession, paths: list[str], chosen: Mapping[str, str], label: str
) -> Pieces | None:
    """The pieces of Parquet files that executors read by themselves; None where Spark reads."""
    files = pieces_of(paths, "value", {}, int(spark.sparkContext.defaultParallelism))
    if files is None or not files.every:
        return None
    columns = columns_of(files, chosen, label)
    return replace(files, known=columns) if columns else None


def _sent(
    spark: SparkSession,
    log: Any,  # noqa: ANN401 - local data
    columns: Mapping[str, str] | None,
    from_: str | None,
    unit: Unit | None,
) -> tuple[Rows, Unit | None]:
    """What the local engine reads, as a DataFrame."""
    raw = opened(log, columns, from_=from_, unit=unit)
    table = pl.concat(raw.pieces)
    if table.is_empty():
        raise InputError("no interactions found.", source=raw.place.label, code="no-interactions")
    checked(table, raw.place, raw.unit)  # here lines are known
    sent = to_spark(spark, table)
    return Rows(lambda: sent, raw.name, raw.place.label), raw.unit


def _shaped(
    frame: DataFrame, chosen: Mapping[str, str], label: str, others: Sequence[str] = ()
) -> DataFrame:
    """A log with our columns from one with anybody's names.

    Raises:
        InputError: a column is missing; ids or times are of no known type.
    """
    from pyspark.sql import types as T

    types = {each.name: each.dataType for each in frame.schema.fields}
    found = mapped(list(types), chosen, label)
    nested = T.StructType | T.ArrayType | T.MapType | T.BinaryType | T.VariantType
    for ours, theirs in found.items():
        kind = types[theirs]
        if ours in {"query_id", "doc_id"} and not isinstance(kind, T.StringType | T.IntegralType):
            problem = f"column {theirs} holds {kind.simpleString()}; ids are strings: cast it."
            raise InputError(problem, source=label, code="invalid-id")
        if isinstance(kind, nested):
            problem = f"column {theirs} holds {kind.simpleString()}; cast it to a plain type."
            raise InputError(problem, source=label, code="wrong-type")
    return frame.select(*(_column(ours, theirs) for ours, theirs in found.items()), *others)


def _column(ours: str, theirs: str) -> Column:
    """A column under our name: ids and kinds are strings, values numbers, times as they are."""
    from pyspark.sql import functions as F

    column = F.col(quoted(theirs))
    if ours == "value":
        column = column.try_cast("double")
    elif ours != "at":
        column = column.cast("string")
    return column.alias(ours)
