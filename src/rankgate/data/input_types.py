"""Types that functions accept as judgments, runs, ratings, logs and tables, or Spark tables.

The names are for annotations. A frame or an array is any object with that protocol, so that pandas,
PyArrow, PyTorch and SciPy are not imported and commands start faster. A path may be ``NAME:PATH``,
which names its format; ``-`` is standard input.

Tables on Apache Spark are accepted as judgments, runs, logs and events. Sources have a property
that is true for tables on Spark, and verbs check it. Functions of `rankgate.spark` import PySpark;
the check does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import ON_SPARK, load_name

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.file_contents import FileContents
    from rankgate.data.memory.matrices import Lists, Matrix, MatrixInput
    from rankgate.data.qrels import Qrels, Ratings
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


class ArrowFrame(Protocol):
    """A frame of pandas, PyArrow, DuckDB, Ibis and others."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream."""


class DenseArray(Protocol):
    """An array of NumPy, PyTorch, JAX, CuPy and others."""

    def __dlpack__(self) -> object:
        """The numbers as DLPack."""


class SparseArray(Protocol):
    """A matrix of SciPy."""

    def tocoo(self) -> object:
        """The numbers with their positions."""


class ItemLists(Protocol):
    """LensKit's ``ItemListCollection``."""

    key_fields: Any

    def lists(self) -> object:
        """The list of each user."""


class SparkFrame(Protocol):
    """A DataFrame of Spark, classic or Connect."""

    @property
    def sparkSession(self) -> object:  # noqa: N802 - Spark's name
        """The session of the DataFrame."""


Source: TypeAlias = "str | Path"
Frame: TypeAlias = "pl.DataFrame | pl.LazyFrame | ArrowFrame"
OnSpark: TypeAlias = "SparkTable | SparkFrame"
Array: TypeAlias = "DenseArray | SparseArray | Matrix | Lists | MatrixInput"

Rows: TypeAlias = "Iterable[Any]"
"""Rows in lists, generators and cursors, and other objects that give rows: see ``data.adapters``."""

TableLike: TypeAlias = "Source | Frame | Rows | Mapping[str, Sequence[Any]]"
"""A table of items, users or candidates."""

# An alias in two strings would be a type that pyright does not know.
GradesOfDocuments: TypeAlias = "Mapping[Any, Mapping[Any, Any]] | Mapping[Any, Collection[Any]]"
ScoresOfDocuments: TypeAlias = "Mapping[Any, Mapping[Any, float]] | Mapping[Any, Sequence[Any]]"
Answers: TypeAlias = "Mapping[Any, Any]"
"""``{query: answer}`` of the client of an engine: see ``data.answers.clients``."""

QrelsLike: TypeAlias = "Source | Qrels | Frame | Array | ItemLists | GradesOfDocuments | Rows | OnSpark"
"""Judgments: ``{query_id: {doc_id: grade}}``, ``{query_id: {doc_id, …}}``, a frame or an array
of grades, rows, a file, or a table on Spark."""

ArrayPair: TypeAlias = "tuple[DenseArray, DenseArray]"

Rankings: TypeAlias = "ScoresOfDocuments | Answers | Rows"
"""Rankings of queries in objects of Python."""

RunLike: TypeAlias = "Source | Run | Frame | Array | ItemLists | ArrayPair | Rankings | OnSpark"
"""A run: ``{query_id: {doc_id: score}}``, ``{query_id: [doc_id, …]}``, ``{query_id: answer}`` of an
engine's client, a frame, an array of scores, items with their scores as libraries return them,
rows, a file, or a table on Spark."""

RunsLike: TypeAlias = "RunLike | Sequence[RunLike] | Mapping[str, RunLike]"
"""A run, several, or ``{name: run}``."""

TagsLike: TypeAlias = "Source | Frame | Rows"
"""Tags of queries: a file, a frame, or ``ids:PATTERN`` for tags in the ids of queries."""

RatingsLike: TypeAlias = "Source | Ratings | Frame | Rows"
"""The grades of single raters."""

ColumnsLike: TypeAlias = "str | Sequence[str] | Mapping[str, str]"
"""Our columns and those of a table: ``query=search_term,doc=sku``, or a mapping."""

ScoresLike: TypeAlias = "Source | Frame | Rows | Mapping[str, Any]"
"""Values of queries that another tool computed: a file, a frame, or nested dicts."""

FileLike: TypeAlias = "FileContents | InputFile | QrelsLike | RunLike | RatingsLike"
"""Contents of files, to be described, checked or converted."""


_MAX_RUNS = 1000
"""Runs of one call, at most: a longer list is rows, a longer dictionary rankings of queries."""


@dataclass(frozen=True)
class SparkTable:
    """A table that Spark reads, where the verbs on one machine take a path or a frame.

    Attributes:
        source: a Spark DataFrame; a path, or a list of paths that are one table, of Parquet, Delta,
            CSV, TSV, JSON lines or TREC files; or ``table:NAME`` of the session's catalogue.
        format: the format of the files: parquet, delta, csv, tsv, json or trec; of a log also those
            that `rankgate.split` reads. By default it follows from the names of the files.

    Raises:
        UsageError: no source, or one of another type; a format of what is not a file.

    >>> SparkTable("run.parquet")
    SparkTable('run.parquet')
    >>> SparkTable(["a.txt", "b.txt"], format="trec")
    SparkTable(['a.txt', 'b.txt'], format='trec')
    """

    source: Any
    format: str | None = None

    def __post_init__(self) -> None:
        source = self.source
        if isinstance(source, list | tuple) and all(isinstance(path, str | Path) for path in source):
            self.__dict__["source"] = source = tuple(map(str, source))
        elif isinstance(source, Path):
            self.__dict__["source"] = source = str(source)
        is_file_source = isinstance(source, str | tuple)
        if not (source if is_file_source else _is_frame(source)):
            raise UsageError(
                "a table on Spark is a Spark DataFrame, a path, a list of paths or table:NAME, not "
                f"{type(source).__name__}; tables in memory are sent there as they are.",
                code="wrong-type",
            )
        if self.format is not None and (not is_file_source or str(source).startswith("table:")):
            raise UsageError(
                f"format {self.format!r} is for files, and this table has no file; leave it out.",
                code="conflicting-options",
            )

    def __repr__(self) -> str:
        source = list(self.source) if isinstance(self.source, tuple) else self.source
        source_text = repr(source) if isinstance(source, str | list) else "<DataFrame of Spark>"
        format_text = "" if self.format is None else f", format={self.format!r}"
        return f"{type(self).__name__}({source_text}{format_text})"


def _is_frame(source: object) -> bool:
    """True for a DataFrame of Spark, by the module of its class."""
    return type(source).__module__.startswith("pyspark.sql.")


def is_on_spark(source: object) -> bool:
    """True for a table on Spark: a `SparkTable` or a Spark DataFrame."""
    return isinstance(source, SparkTable) or _is_frame(source)


def any_on_spark(*sources: object) -> bool:
    """True if a table, or any table in a list or mapping of tables, is on Spark."""
    return any(is_on_spark(table) for source in sources for table in _tables(source))


def _tables(source: object) -> Iterable[object]:
    """The tables of a source, or its first rows or rankings, after a check for Spark."""
    if isinstance(source, list | tuple):
        return source[:_MAX_RUNS]
    if isinstance(source, Mapping):
        return islice(source.values(), _MAX_RUNS)
    return (source,)


def run_on_spark(verb: str, *values: Any, **options: Any) -> Any:
    """The result of a verb, computed on Spark from the same arguments.

    Args:
        verb: the name of the verb in `ON_SPARK`.
        values: the verb's values.
        options: the verb's options.

    Raises:
        UsageError: a run with several seeds.
    """
    for value in values:
        runs = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if any(getattr(run, "seeds", ()) for run in runs):
            problem = "runs with several seeds are not put together on Spark; read them on one machine."
            raise UsageError(problem, code="on-spark")
    return load_name(ON_SPARK[verb])(*values, **options)


def refuse_on_spark(source: object) -> None:
    """Check that a table that is read on this machine is not on Spark.

    Raises:
        UsageError: the table is on Spark.
    """
    if is_on_spark(source):
        verbs = ", ".join(name for name in ON_SPARK if name != "click_counts")
        raise UsageError(
            f"{source!r:.80} is on Spark, but this is read on one machine; on Spark use {verbs} or gate; "
            "reports take their scores. Give a file, or a frame such as frame.toArrow().",
            code="on-spark",
        )
