"""Judgments and runs as Spark DataFrames, and readers of the files of tables on Spark.

The name of a file gives its format. Judgments and runs come from tables, one or more files, or
local data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_qrels, read_run
from rankgate.data.collection import Collection
from rankgate.data.column_map import ColumnMap
from rankgate.data.column_names import match_columns
from rankgate.data.foreign_frames import missing_column_message, one_document_column
from rankgate.data.qrels import OPTIONAL
from rankgate.data.spark_tables import SparkTable
from rankgate.data.text import json_text
from rankgate.data.unfold import QUERY_TEXTS, columns_of_lists, renamed_fields
from rankgate.spark.file_pieces import column_types, list_pieces
from rankgate.spark.sessions import translate_errors
from rankgate.spark.shuffle import ORDER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from rankgate.data.input_types import ColumnsLike
    from rankgate.spark.file_pieces import TableFiles


FORMATS = ("parquet", "delta", "csv", "tsv", "json", "trec")
_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_CORRUPT = "_corrupt_record"  # Spark's column of lines that it cannot read
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")


def paths_of(table: Any) -> list[str]:  # noqa: ANN401 - a path, several, or anything else
    """The given paths; empty for any other input."""
    if isinstance(table, str | Path):
        return [str(table)]
    is_list_of_paths = isinstance(table, Sequence) and all(isinstance(path, str | Path) for path in table)
    return [str(path) for path in table] if is_list_of_paths else []


def format_of(path: str) -> str:
    """The format of a file, or of the files in a folder, by their names."""
    folder = Path(path)
    if folder.is_dir():
        if (folder / "_delta_log").is_dir():
            return "delta"
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        visible = [file for file in files if not file.name.startswith(("_", "."))]
        return format_of(str(visible[0])) if visible else "parquet"
    return _SUFFIXES.get(Path(_uncompressed(folder.name.lower())).suffix, "trec")


def refuse_unknown(form: str) -> None:
    """Check a format.

    Raises:
        UsageError: an unknown format.
    """
    if form not in FORMATS:
        problem = f"Spark reads no format {form!r}; it reads {', '.join(FORMATS)}."
        raise UsageError(problem, code="unknown-format")


def read_files(spark: SparkSession, paths: list[str], form: str) -> DataFrame:
    """The rows of files of one of `FORMATS`; of TREC the lines, in ``value``.

    Raises:
        InputError: a line of a JSON file is not an object, with the line.
    """
    if form == "delta":
        return spark.read.format(form).load(paths[0] if len(paths) == 1 else paths)
    reader = spark.read.option("recursiveFileLookup", str(_is_nested(paths)))
    if form == "trec":
        return reader.text(paths)
    if form in {"csv", "tsv"}:
        separator = "\t" if form == "tsv" else ","
        # a different order of columns in one of the files is an error; values are not mixed up
        return reader.csv(paths, header=True, sep=separator, escape='"', enforceSchema=False)
    table = reader.format(form).load(paths)
    if form == "json" and _CORRUPT in table.columns:
        _refuse_line(reader.text(paths))
    return table


def _refuse_line(text: DataFrame) -> None:
    """Raise the error of the first line that is not a JSON object.

    Raises:
        InputError: always, unless all lines that Spark refused are JSON objects.
    """
    from pyspark.sql import functions as F

    row_number = F.monotonically_increasing_id().alias("at")
    lines = text.select("value", row_number, *(column.alias(name) for name, column in file_columns().items()))
    value = F.trim("value")
    is_wrong = (value != "") & (F.try_parse_json("value").isNull() | ~value.startswith("{"))
    row = lines.where(is_wrong).orderBy("file", "block", "at").first()
    if row is None:
        return
    is_same_file, block = F.col("file") == row.file, F.col("block")
    is_before = (block < row.block) | ((block == row.block) & (F.col("at") < row["at"]))
    line = lines.where(is_same_file & is_before).count() + 1
    file = local_path(row.file)
    parsed_value = json_text.parse_json(row.value.strip().encode(), file, line)
    problem = f"{json_text.describe_type(parsed_value)}, where an object is needed."
    raise InputError(problem, source=file, line=line, code="wrong-type")


def local_path(file: str) -> str:
    """The path without the scheme ``file:``."""
    return "/" + file.removeprefix("file:").lstrip("/") if file.startswith("file:") else file


def file_columns() -> dict[str, Column]:
    """The columns with the file of a row, and the block in the file."""
    from pyspark.sql import functions as F

    names = {"file": "_metadata.file_path", "block": "_metadata.file_block_start"}
    return {name: F.col(path) for name, path in names.items()}


def _is_nested(paths: Sequence[str]) -> bool:
    """True if files are in nested folders that are not partitions (``day=2026-03-02``)."""
    children = [child for path in paths if Path(path).is_dir() for child in Path(path).iterdir()]
    folders = [child for child in children if child.is_dir() and child.name[0] not in "_."]
    return bool(folders) and not any("=" in folder.name for folder in folders)


def label_of(paths: Sequence[str]) -> str:
    """The name of files in errors."""
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"


def stem_of(path: str) -> str:
    """The name of a file without its suffixes."""
    name = _uncompressed(path.rstrip("/").rpartition("/")[2])
    stem, _, suffix = name.rpartition(".")
    known_suffixes = {*_SUFFIXES, ".trec", ".run", ".qrels", ".txt"}
    return stem if stem and f".{suffix.lower()}" in known_suffixes else name


def _uncompressed(name: str) -> str:
    """The file name without the suffixes of compression."""
    for suffix in _COMPRESSED:
        name = name.removesuffix(suffix)
    return name


_FIELDS: dict[str, dict[int, tuple[int, ...]]] = {
    "grade": {4: (0, 2, 3), 3: (0, 1, 2)},
    "score": {6: (0, 2, 4), 3: (0, 1, 2), 2: (0, 1)},
}


@dataclass(frozen=True)
class TableRows:
    """Rows of judgments or of a run.

    Attributes:
        read: the function that makes `frame`.
        name: their name in results.
        label: their name in errors.
        place: the columns of a row's position, in sort order; for files only.
        ordered: True if the order of rows is a ranking.
        unjudged: queries of the collection without a judgment.
        header: the number of lines before the first row; None if rows have row numbers instead of
            lines.
        lines: all lines of text files, if rows are only some of the lines.
        files: the pieces that executors read by themselves; None if Spark reads.
    """

    read: Callable[[], DataFrame]
    name: str
    label: str
    place: Mapping[str, Column] = field(default_factory=dict)
    ordered: bool = True
    unjudged: tuple[str, ...] = ()
    header: int | None = None
    lines: DataFrame | None = None
    files: TableFiles | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as Spark reads them.

        The columns are ``query_id``, ``doc_id``, ``number`` (null for text that is not a number)
        and, for judgments, the available columns of ``OPTIONAL``.
        """
        return self.read()

    def numbered(self) -> DataFrame:
        """The rows, with columns of their order."""
        from pyspark.sql import functions as F

        order = [*self.place.values(), F.monotonically_increasing_id()]
        return self.frame.select("*", *(column.alias(f"{ORDER}{i}") for i, column in enumerate(order)))


def open_rows(
    spark: SparkSession,
    table: Any,  # noqa: ANN401 - a DataFrame, a path, or what the local engine reads
    number: str,
    name: str,
    columns: ColumnsLike | None = None,
) -> TableRows:
    """Rows of judgments (``number`` is grade) or of a run (score).

    Args:
        spark: the session.
        table: a `SparkTable`, or its source; or input of the local engine, which is sent to the
            cluster.
        number: grade or score.
        name: the name, if the table does not have a name.
        columns: the columns without a usual name, as in `Collection`.

    Raises:
        InputError: no such file, a column that is missing.
        UsageError: an unknown format.
    """
    from pyspark.sql import DataFrame

    named_map = ColumnMap.read(columns)
    table, form = (table.source, table.format) if isinstance(table, SparkTable) else (table, None)
    if isinstance(table, DataFrame):
        shaped_table = _with_our_columns(table, number, name, named_map)
        return TableRows(lambda: shaped_table, name, name, ordered=False)
    if isinstance(table, str) and table.startswith("table:"):
        table_name = table.removeprefix("table:")
        with translate_errors(table_name):
            frame = _with_our_columns(spark.table(table_name), number, table_name, named_map)
        return TableRows(lambda: frame, table_name.rpartition(".")[2], table_name, ordered=False)
    paths = paths_of(table)
    if not paths:
        return _send_table(spark, table, number, name, columns)
    return _rows_of_files(spark, paths, number, form or format_of(paths[0]), named_map)


def open_table(spark: SparkSession, table: Any, name: str) -> tuple[DataFrame, str]:  # noqa: ANN401 - on Spark
    """All columns of a table on Spark as they are, and its name in errors.

    Args:
        spark: the session.
        table: a `SparkTable`, or a Spark DataFrame.
        name: the name in errors of a DataFrame.

    Raises:
        InputError: no such file or table.
        UsageError: an unknown format.
    """
    if not isinstance(table, SparkTable):
        return table, name
    source = table.source
    if isinstance(source, str) and source.startswith("table:"):
        label = source.removeprefix("table:")
        with translate_errors(label):
            return spark.table(label), label
    paths = paths_of(source)
    if not paths:
        return open_table(spark, source, name)
    form, label = table.format or format_of(paths[0]), label_of(paths)
    refuse_unknown(form)
    with translate_errors(label):
        return read_files(spark, paths, form), label


def _rows_of_files(
    spark: SparkSession, paths: list[str], number: str, form: str, column_map: ColumnMap | None
) -> TableRows:
    from pyspark.sql import functions as F

    refuse_unknown(form)
    label, name = label_of(paths), stem_of(paths[0])
    with translate_errors(label):
        lines = read_files(spark, paths, form) if form == "trec" else None

    def read() -> DataFrame:
        with translate_errors(label):
            if lines is None:
                table = read_files(spark, paths, form)
                return _with_our_columns(table, number, label, column_map, ("_metadata",))
            table = _parse_lines(lines, number, label)
            return _with_our_columns(table, number, label, column_map, ("_metadata", "at"))

    place_columns = file_columns()
    if form == "trec":
        place_columns["line"] = F.col("at")
    header = {"csv": 1, "tsv": 1, "parquet": None, "delta": None}.get(form, 0)
    cores = int(spark.sparkContext.defaultParallelism)
    files = list_pieces(paths, number, {}, cores) if form == "parquet" else None
    if files is not None and files.every:
        first = files.every[0].path
        types = column_types(first)
        plain = [name for name, kind in types.items() if not isinstance(kind, pl.List)]
        has_lists = len(plain) < len(types) and not match_columns(plain, ("doc_id",))
        known_columns = named_columns(column_map, [*types], number, first)
        files = None if has_lists else replace(files, known=known_columns)
    if files is None:
        frame = read()  # errors in the data are found now
        return TableRows(lambda: frame, name, label, place_columns, header=header, lines=lines)
    return TableRows(read, name, label, place_columns, header=header, files=files)


def _parse_lines(text: DataFrame, number: str, label: str) -> DataFrame:
    """The rows of TREC files: fields are separated by blanks."""
    from pyspark.sql import functions as F

    lines = text.select("value", "_metadata", F.monotonically_increasing_id().alias("at"))
    data_lines = lines.where((F.trim("value") != "") & ~F.ltrim("value").startswith("#"))
    first = data_lines.select("value").first()
    if first is None:
        raise InputError("no rows found.", source=label, code="empty-file")
    width = len(first[0].split())
    places = _FIELDS[number].get(width)
    if places is None:
        widths = " or ".join(map(str, _FIELDS[number]))
        problem = f"{count_noun(width, 'field')} in the first line, expected {widths}."
        raise InputError(problem, source=label, code="wrong-field-count")
    fields = F.split(F.trim(F.translate("value", "\t\r", "  ")), " +")
    parts = data_lines.select(fields.alias("fields"), "_metadata", "at")
    is_complete = F.size("fields") == width
    field_columns = [F.when(is_complete, F.get("fields", F.lit(position))) for position in places]
    if len(places) == 2:  # best first: the line number, counted down
        field_columns.append(-F.col("at").cast("double"))
    our_names = ("query_id", "doc_id", number)
    return parts.select(
        *(column.alias(name) for column, name in zip(field_columns, our_names, strict=True)),
        "_metadata",
        "at",
    )


def _with_our_columns(
    frame: DataFrame, number: str, label: str, columns: ColumnMap | None, other_columns: Sequence[str] = ()
) -> DataFrame:
    """The table with columns renamed to our names.

    Raises:
        InputError: an empty file, a column is missing, or ids are neither strings nor whole
            numbers.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    frame = _one_row_per_document(frame, number, label, other_columns)
    types = {
        field_.name: field_.dataType for field_ in frame.schema.fields if field_.name not in other_columns
    }
    if not types:  # an empty file
        raise InputError("no rows found.", source=label, code="empty-file")
    named_by_user = named_columns(columns, list(types), number, label)
    if "doc_id" not in named_by_user:
        one_document_column(types, label)
    theirs_by_ours = {**match_columns(types, ("query_id", "doc_id", number, "rank")), **named_by_user}
    value = (
        F.col(quote_column(theirs_by_ours[number])).try_cast("double") if number in theirs_by_ours else None
    )
    if value is None and number == "score" and "rank" in theirs_by_ours:
        rank = F.col(quote_column(theirs_by_ours["rank"])).try_cast("double")
        value = -rank if "rank" in named_by_user else -F.when(rank == F.round(rank), rank)
    for our_name in ("query_id", "doc_id", number):
        if our_name not in theirs_by_ours and (our_name != number or value is None):
            problem = missing_column_message(our_name, list(types))
            raise InputError(problem, source=label, code="missing-column")
    for our_name in ("query_id", "doc_id"):
        if not isinstance(types[theirs_by_ours[our_name]], T.StringType | T.IntegralType):
            kind = types[theirs_by_ours[our_name]].simpleString()
            problem = f"column {theirs_by_ours[our_name]} holds {kind}; ids are strings: cast the column."
            raise InputError(problem, source=label, code="invalid-id")
    optional = match_columns(types, OPTIONAL) if number == "grade" else {}
    optional |= {
        our_name: their_name for our_name, their_name in named_by_user.items() if our_name in OPTIONAL
    }
    kinds = {"subtopic": "string", "stratum": "string"}
    assert value is not None
    return frame.select(
        *(
            F.col(quote_column(theirs_by_ours[id_name])).cast("string").alias(id_name)
            for id_name in ("query_id", "doc_id")
        ),
        value.alias("number"),
        *(
            F.col(quote_column(their_name)).cast(kinds.get(our_name, "double")).alias(our_name)
            for our_name, their_name in optional.items()
        ),
        *other_columns,
    )


def _one_row_per_document(
    frame: DataFrame, number: str, label: str, other_columns: Sequence[str]
) -> DataFrame:
    """Rows with a list of documents each as one row per document; other tables unchanged.

    Raises:
        InputError: several lists could be the documents or their numbers.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    types = {field_.name: field_.dataType for field_ in frame.schema.fields}
    lists = {name: kind.elementType for name, kind in types.items() if isinstance(kind, T.ArrayType)}
    plain = [quote_column(name) for name in types if name not in lists and name not in other_columns]
    records = {
        name: kind.names
        for name, kind in lists.items()
        if isinstance(kind, T.StructType) and match_columns(kind.names, ("doc_id",))
    }
    if len(records) == 1 and not match_columns(types, ("doc_id",)):
        ((name, fields),) = records.items()
        renamed = renamed_fields(name, fields)
        rows = frame.select(*plain, *other_columns, F.explode(quote_column(name)).alias("record"))
        return rows.select(
            *plain,
            *other_columns,
            *(F.col("record").getField(inner).alias(renamed.get(inner, inner)) for inner in fields),
        )
    query = match_columns(types, ("query_id",)).get("query_id") or next(
        (name for name in QUERY_TEXTS if name in types), None
    )
    if not lists or query is None:
        return frame
    kinds = {
        name: pl.String() if isinstance(kind, T.StringType) else pl.Float64() for name, kind in lists.items()
    }
    columns = columns_of_lists(kinds, query, number, label)
    if not columns:
        return frame
    values = [name for name in ("doc_id", number) if name in columns]
    zipped = F.arrays_zip(*(F.col(quote_column(columns[name])).alias(name) for name in values))
    rows = frame.select(
        F.col(quote_column(query)).alias("query_id"),
        *other_columns,
        F.posexplode(zipped).alias("rank", "record"),
    )
    ranked = [] if number in columns else [(F.col("rank") + 1).alias("rank")]
    return rows.select(
        "query_id", *other_columns, *(F.col("record").getField(name).alias(name) for name in values), *ranked
    )


def named_columns(columns: ColumnMap | None, names: Sequence[str], number: str, label: str) -> dict[str, str]:
    """The columns that the user names, for `column_map.mapped`: our name -> the table's name.

    Args:
        columns: the names for judgments and runs; None for no names.
        names: the columns of the table.
        number: grade or score.
        label: the name of the table in errors.

    Raises:
        InputError: a column that does not exist.
    """
    if columns is None:
        return {}
    lower = {name.strip().lower(): name for name in names}
    judged = number == "grade"
    resolved = columns.resolved(names)
    requested = resolved.for_kind("qrels" if judged else "run")
    ids = {
        our_name: their_name
        for our_name, their_name in requested.items()
        if our_name in ("query_id", "doc_id")
    }
    needed = len(requested) > len(ids) or (judged and not {"score", "rank"} & set(resolved.theirs))
    if not needed and not any(their_name.lower() in lower for their_name in ids.values()):
        return {}  # ids of the other table
    for our_name, their_name in requested.items():
        if their_name.lower() not in lower:
            problem = f"no column '{their_name}' for {our_name} among {', '.join(names)}."
            raise InputError(problem, source=label, code="missing-column")
    return {our_name: lower[their_name.lower()] for our_name, their_name in requested.items()}


def quote_column(name: str) -> str:
    """The quoted name of a column for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def _send_table(
    spark: SparkSession,
    table: Any,  # noqa: ANN401 - local data
    number: str,
    name: str,
    columns: ColumnsLike | None,
) -> TableRows:
    """The rows that the local engine reads, as a DataFrame."""
    collection = Collection(table if number == "grade" else None, columns=columns)
    if number == "grade":
        qrels = read_qrels(collection.judgments_source, name, subtopics=True)
        judged = to_spark(spark, qrels.table.rename({"grade": "number"}))
        return TableRows(
            lambda: judged, qrels.name, qrels.place.label, ordered=False, unjudged=qrels.unjudged
        )
    run = read_run(collection.run_source(table), name)
    ranked = to_spark(spark, run.table.rename({"score": "number"}))
    return TableRows(lambda: ranked, run.name, run.place.label, ordered=run.ordered)


def to_spark(spark: SparkSession, table: pl.DataFrame) -> DataFrame:
    """A Polars frame, sent to the cluster."""
    import pyarrow as pa

    arrow = table.to_arrow()
    plain_fields = [
        pa.field(field_.name, pa.string() if pa.types.is_large_string(field_.type) else field_.type)
        for field_ in arrow.schema
    ]
    return spark.createDataFrame(arrow.cast(pa.schema(plain_fields)))
