"""Types that functions accept as judgments, runs, ratings, logs and tables.

The names are for annotations. A frame or an array is any object with that protocol, so that pandas,
PyArrow, PyTorch and SciPy are not imported and commands start faster. A path may be ``NAME:PATH``,
which names its format; ``-`` is standard input.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.file_contents import FileContents
    from rankgate.data.memory.matrices import Lists, Matrix, MatrixInput
    from rankgate.data.qrels import Qrels, Ratings
    from rankgate.data.run import Run
    from rankgate.data.spark_tables import SparkTable
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
