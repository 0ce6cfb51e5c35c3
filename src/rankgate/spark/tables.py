"""Judgments and runs as Spark DataFrames: of tables, files of any number, and local data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data import read_qrels, read_run
from rankgate.data.column_map import ColumnMap
from rankgate.data.columns import missing_column, named, one_document_column
from rankgate.data.qrels import OPTIONAL
from rankgate.spark.cells import ORDER
from rankgate.spark.failures import translated
from rankgate.spark.files import (
    file_place,
    format_of,
    label_of,
    paths_of,
    read_files,
    refuse_unknown,
    stem_of,
)
from rankgate.spark.pieces import pieces_of

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import Column, DataFrame, SparkSession

    from rankgate.data.inputs import ColumnsLike
    from rankgate.spark.pieces import Pieces

_FIELDS: dict[str, dict[int, tuple[int, ...]]] = {
    "grade": {4: (0, 2, 3), 3: (0, 1, 2)},
    "score": {6: (0, 2, 4), 3: (0, 1, 2), 2: (0, 1)},
}


@dataclass(frozen=True)
class Rows:
    """Rows of judgments or of a run.

    Attributes:
        read: makes `frame`.
        name: what results call them.
        label: what errors call them.
        place: the columns that say where a row is, in the order of rows; files only.
        ordered: whether the order of rows is a ranking.
        unjudged: queries that were asked about and have no judgment.
        header: lines of a file before its first row; None where rows have numbers, no lines.
        lines: all lines of text files, where rows are some of them.
        files: what executors read by themselves; None where Spark reads.
    """

    read: Callable[[], DataFrame]
    name: str
    label: str
    place: Mapping[str, Column] = field(default_factory=dict)
    ordered: bool = True
    unjudged: tuple[str, ...] = ()
    header: int | None = None
    lines: DataFrame | None = None
    files: Pieces | None = None

    @cached_property
    def frame(self) -> DataFrame:
        """The rows as Spark reads them.

        They are ``query_id``, ``doc_id``, ``number`` (null where it is no number), and of
        judgments the columns of ``OPTIONAL`` that there are.
        """
        return self.read()

    def numbered(self) -> DataFrame:
        """The rows with columns by which they are in their order."""
        from pyspark.sql import functions as F

        order = [*self.place.values(), F.monotonically_increasing_id()]
        return self.frame.select("*", *(each.alias(f"{ORDER}{i}") for i, each in enumerate(order)))


def rows_of(
    spark: SparkSession,
    table: Any,  # noqa: ANN401 - a DataFrame, a path, or what the local engine reads
    number: str,
    name: str,
    columns: ColumnsLike | None = None,
    from_: str | None = None,
) -> Rows:
    """Rows of judgments (``number`` is grade) or of a run (score).

    Args:
        spark: the session.
        table: a Spark DataFrame; a path, or several, of Parquet, Delta, CSV, TSV, JSON or TREC
            files; the name of a table as ``table:NAME``; or what the local engine reads, which is
            sent to the cluster.
        number: grade or score.
        name: what to call it if it has no name of its own.
        columns: columns without a usual name, as of ``evaluate``.
        from_: the format of files, of `FORMATS`; by their names if not given.

    Raises:
        InputError: no such file, a column that is missing.
        UsageError: an unknown format.
    """
    from pyspark.sql import DataFrame

    theirs = ColumnMap.of(columns)
    known = dict(theirs.theirs) if theirs else {}
    if isinstance(table, DataFrame):
        shaped = _shaped(table, number, name, known)
        return Rows(lambda: shaped, name, name, ordered=False)
    if isinstance(table, str) and table.startswith("table:"):
        own = table.removeprefix("table:")
        with translated(own):
            frame = _shaped(spark.table(own), number, own, known)
        return Rows(lambda: frame, own.rpartition(".")[2], own, ordered=False)
    paths = paths_of(table)
    if not paths:
        return _sent(spark, table, number, name)
    return _of_files(spark, paths, number, from_ or format_of(paths[0]), known)


def _of_files(
    spark: SparkSession, paths: list[str], number: str, form: str, known: Mapping[str, str]
) -> Rows:
    from pyspark.sql import functions as F

    refuse_unknown(form)
    label, name = label_of(paths), stem_of(paths[0])
    with translated(label):
        lines = read_files(spark, paths, form) if form == "trec" else None

    def read() -> DataFrame:
        with translated(label):
            if lines is None:
                table = read_files(spark, paths, form)
                return _shaped(table, number, label, known, ("_metadata",))
            table = _of_text(lines, number, label)
            return _shaped(table, number, label, known, ("_metadata", "at"))

    place = file_place()
    if form == "trec":
        place["line"] = F.col("at")
    header = {"csv": 1, "tsv": 1, "parquet": None, "delta": None}.get(form, 0)
    cores = int(spark.sparkContext.defaultParallelism)
    files = pieces_of(paths, number, known, cores) if form == "parquet" else None
    if files is None:
        frame = read()  # errors of the data are found now
        return Rows(lambda: frame, name, label, place, header=header, lines=lines)
    return Rows(read, name, label, place, header=header, files=files)


def _of_text(text: DataFrame, number: str, label: str) -> DataFrame:
    """Lines of TREC files: fields between blanks."""
    from pyspark.sql import functions as F

    lines = text.select("value", "_metadata", F.monotonically_increasing_id().alias("at"))
    kept = lines.where((F.trim("value") != "") & ~F.ltrim("value").startswith("#"))
    first = kept.select("value").first()
    if first is None:
        raise InputError("no rows found.", source=label, code="empty-file")
    width = len(first[0].split())
    places = _FIELDS[number].get(width)
    if places is None:
        known = " or ".join(map(str, _FIELDS[number]))
        problem = f"{width} fields in the first line, expected {known}."
        raise InputError(problem, source=label, code="wrong-field-count")
    fields = F.split(F.trim(F.translate("value", "\t\r", "  ")), " +")
    parts = kept.select(fields.alias("fields"), "_metadata", "at")
    good = F.size("fields") == width
    got = [F.when(good, F.get("fields", F.lit(place))) for place in places]
    if len(places) == 2:  # best first: the place of the line, counted down
        got.append(-F.col("at").cast("double"))
    ours = ("query_id", "doc_id", number)
    return parts.select(
        *(each.alias(name) for each, name in zip(got, ours, strict=True)), "_metadata", "at"
    )


def _shaped(
    frame: DataFrame,
    number: str,
    label: str,
    known: Mapping[str, str],
    others: Sequence[str] = (),
) -> DataFrame:
    """A table with our columns from one with anybody's names.

    Raises:
        InputError: an empty file, a column is missing, or ids are neither strings nor whole
            numbers.
    """
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    types = {each.name: each.dataType for each in frame.schema.fields}
    if not types:  # an empty file
        raise InputError("no rows found.", source=label, code="empty-file")
    if "doc_id" not in (known or {}):
        one_document_column(types, label)
    found = {**named(types, ("query_id", "doc_id", number, "rank")), **_given(known, types)}
    value = F.col(quoted(found[number])).try_cast("double") if number in found else None
    if value is None and number == "score" and "rank" in found:
        value = -F.col(quoted(found["rank"])).try_cast("double")
    for ours in ("query_id", "doc_id", number):
        if ours not in found and (ours != number or value is None):
            problem = missing_column(ours, list(types))
            raise InputError(problem, source=label, code="missing-column")
    for ours in ("query_id", "doc_id"):
        if not isinstance(types[found[ours]], T.StringType | T.IntegralType):
            kind = types[found[ours]].simpleString()
            problem = f"column {found[ours]} holds {kind}; ids are strings: cast the column."
            raise InputError(problem, source=label, code="invalid-id")
    optional = named(types, OPTIONAL) if number == "grade" else {}
    kinds = {"subtopic": "string", "stratum": "string"}
    assert value is not None
    return frame.select(
        *(F.col(quoted(found[each])).cast("string").alias(each) for each in ("query_id", "doc_id")),
        value.alias("number"),
        *(
            F.col(quoted(theirs)).cast(kinds.get(ours, "double")).alias(ours)
            for ours, theirs in optional.items()
        ),
        *others,
    )


def _given(known: Mapping[str, str], types: Mapping[str, object]) -> dict[str, str]:
    """The columns that the user names, where the table has them."""
    return {ours: theirs for ours, theirs in known.items() if theirs in types}


def quoted(name: str) -> str:
    """The name of a column as Spark SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def _sent(spark: SparkSession, table: Any, number: str, name: str) -> Rows:  # noqa: ANN401 - local data
    """What the local engine reads, as a DataFrame."""
    if number == "grade":
        qrels = read_qrels(table, name, subtopics=True)
        judged = to_spark(spark, qrels.table.rename({"grade": "number"}))
        return Rows(lambda: judged, qrels.name, qrels.place.label, ordered=False,
                    unjudged=qrels.unjudged)  # fmt: skip
    run = read_run(table, name)
    ranked = to_spark(spark, run.table.rename({"score": "number"}))
    return Rows(lambda: ranked, run.name, run.place.label, ordered=run.ordered)


def to_spark(spark: SparkSession, table: pl.DataFrame) -> DataFrame:
    """A Polars frame, sent to the cluster."""
    import pyarrow as pa

    arrow = table.to_arrow()
    plain = [
        pa.field(each.name, pa.string() if pa.types.is_large_string(each.type) else each.type)
        for each in arrow.schema
    ]
    return spark.createDataFrame(arrow.cast(pa.schema(plain)))
