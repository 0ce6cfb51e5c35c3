"""A table in a file, and what its columns say that it holds.

A format of tables is one subclass of `Table`: the names of its columns, and the rows of some of
them in frames. The columns decide which part of `FileContents` the table is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import document_columns, match_columns
from rankgate.data.foreign_frames import has_grades, missing_column_message, one_document_column
from rankgate.data.qrels import OPTIONAL
from rankgate.data.qrels import RATINGS_SCHEMA as RATINGS
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.text_values import number_fault

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.streams.source import InputFile, InputKind


DOCUMENT_COLUMNS = frozenset({"title", "text", "body", "contents", "abstract", "name", "url"})
"""Column names of tables of documents."""

_OPTIONAL_RATING_COLUMNS = tuple(name for name in RATINGS if name not in {"query_id", "doc_id", "rater"})


@dataclass(frozen=True)
class TableSchema:
    """The roles of the columns of a table.

    Attributes:
        part: the part of `FileContents` that the table holds; ``states`` are those of a run's
            queries, and ``log`` is a log of interactions.
        kept: our name of each column, with the file's name.
        numbers: our columns that hold numbers.
        empty: our columns that may be empty.
        defects: True to return invalid ids and numbers, which are errors otherwise, as null.
    """

    part: str
    kept: dict[str, str]
    numbers: frozenset[str]
    empty: frozenset[str]
    defects: bool = False

    @property
    def types(self) -> dict[str, type[pl.DataType]]:
        """The type of each column."""
        return {name: pl.Float64 if name in self.numbers else pl.String for name in self.kept}

    def document_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that could hold the ids of documents: the chosen column, or several."""
        return document_columns(names) or (self.kept["doc_id"],)


def find_schema(names: Sequence[str], part_name: str | None = None) -> TableSchema | None:
    """The schema of a table with these columns; None if no part fits.

    Args:
        names: its columns.
        part_name: ``qrels`` or ``runs``, to read the table as that part.
    """
    ids = match_columns(names, ("query_id", "doc_id"))
    if part_name in {"qrels", "runs"} or len(ids) == len(("query_id", "doc_id")):
        return _schema_of_pairs(names, ids, part_name)
    values = match_columns(names, ("query_id", "metric", "value"))
    if {"metric", "value"} <= set(values):
        values |= {name: name for name in ("run", "at") if name in names}
        return TableSchema("values", values, frozenset({"value"}), frozenset({"query_id", "run", "at"}))
    text = match_columns(names, ("query_id", "text"))
    if len(text) == len(("query_id", "text")):
        return _schema_of_rest("queries", text, names)
    lower_names = {name.strip().lower() for name in names}
    id_column = next((name for name in names if name.strip().lower() == "id"), None)
    if (
        id_column and not ids and lower_names & DOCUMENT_COLUMNS
    ):  # a corpus, as Pyserini and many others write it
        ids = {"doc_id": id_column}
    is_described = "doc_id" in names or lower_names & DOCUMENT_COLUMNS  # many kinds of tables have only ids
    return _schema_of_rest("documents", ids, names) if "doc_id" in ids and is_described else None


def _schema_of_pairs(names: Sequence[str], ids: dict[str, str], part_name: str | None) -> TableSchema | None:
    """Judgments, rankings, ratings, or documents with fields that differ by query."""
    rating_columns = match_columns(names, ("rater", "grade"))
    if part_name is None and len(rating_columns) == len(("rater", "grade")):
        rating_columns |= {
            name: name
            for name in (*_OPTIONAL_RATING_COLUMNS, "scale")
            if name in names and name not in rating_columns
        }
        numbers = frozenset({"grade", "seconds"} & set(rating_columns))
        return TableSchema(
            "ratings", ids | rating_columns, numbers, frozenset({*_OPTIONAL_RATING_COLUMNS, "scale"})
        )
    if part_name == "qrels" or (part_name is None and has_grades(names)):
        judgment_columns = ids | match_columns(names, ("grade", *OPTIONAL))
        numbers = frozenset({"grade", "inclusion", "subtopic_weight"} & set(judgment_columns))
        return TableSchema("qrels", judgment_columns, numbers, frozenset({"doc_id", "grade", *OPTIONAL}))
    score_column = match_columns(names, ("score",)) or match_columns(names, ("rank",))
    if score_column or part_name == "runs":
        return TableSchema("runs", ids | score_column, frozenset({"score", "rank"}), frozenset())
    return _schema_of_rest("documents", ids, names)


def _schema_of_rest(part_name: str, ids: dict[str, str], names: Sequence[str]) -> TableSchema:
    other_columns = {name: name for name in names if name not in ids.values() and name not in ids}
    return TableSchema(
        part_name, ids | other_columns, frozenset(), frozenset(other_columns) | ({*ids} & {"text"})
    )


def input_kind_of(table: TableSchema | None) -> InputKind | None:
    """'qrels' or 'run' for a table of judgments or a run; None for other tables."""
    if table is None or table.part not in {"qrels", "runs"}:
        return None
    return "qrels" if table.part == "qrels" else "run"


class Table:
    """The rows of a file under the names that its columns have there.

    Attributes:
        source: the file.
        names: its columns, in their order.
        noun: the word for a column in errors.
        log_format: the name of this format among the formats of logs.
        header_line: the line of the names, if the file has lines.
        is_ragged: True if rows may have other columns than the first.
        named_by_user: our columns that a user named; the others were found by their names.
    """

    source: InputFile
    names: Sequence[str]
    noun = "column"
    log_format = "parquet"
    header_line: int | None = None
    is_ragged = False
    named_by_user: Collection[str] = ()

    def frames(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The rows of some columns under our names, piece by piece: numbers as Float64, else text.

        Raises:
            InputError: an id is empty, a number is not one, or the file is damaged; with the line
                if the file has lines.
        """
        raise NotImplementedError

    def frame(self) -> pl.LazyFrame:
        """All columns under their own names, of any type."""
        raise NotImplementedError

    def nested_values(self) -> list[dict[str, Json]]:
        """The lists and objects of each row by column, with their types; empty if the file has none.

        `frames` has them as JSON text.
        """
        return []

    def line(self, row: int) -> int | None:  # noqa: ARG002 - a file with lines overrides it
        """The line of a row; None if the file has no lines."""
        return None

    def schema(self, part_name: str | None = None) -> TableSchema | None:
        """What the columns say that the table holds; see `find_schema`."""
        return find_schema(self.names, part_name)

    def required_schema(self, part_name: str) -> TableSchema:
        """The schema of a table to be read as ``qrels`` or ``runs``.

        Raises:
            InputError: a column is missing.
        """
        schema = self.schema(part_name)
        columns = {"score" if column == "rank" else column for column in schema.kept} if schema else set()
        needed_columns = ("query_id", "doc_id", "grade" if part_name == "qrels" else "score")
        missing_columns = [column for column in needed_columns if column not in columns]
        if schema is None or missing_columns:
            problem = missing_column_message(missing_columns[0], self.names[:10], self.noun)
            raise InputError(problem, source=self.source.label, line=self.header_line, code="missing-column")
        if part_name == "qrels":
            one_document_column(self.names, self.source.label)
        return schema

    def cautions(self, schema: TableSchema) -> dict[str, str]:  # noqa: ARG002 - as of line
        """What has to be said about the values of these columns, by its code."""
        return {}

    def log_source(self) -> InputFile:
        """The file as readers of logs take it."""
        return self.source

    @property
    def location(self) -> RowLocation:
        """The location of the rows."""
        return RowLocation(self.source.label, self.line)


def numbers_in(texts: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """The texts (null for an empty one), their numbers, and where a text is not a finite number."""
    filled_texts = texts.str.strip_chars().replace("", None) if texts.dtype == pl.String else texts
    numbers = filled_texts.cast(pl.Float64, strict=False)
    is_wrong = filled_texts.is_not_null() & ~numbers.is_finite().fill_null(value=False)
    return filled_texts, numbers, is_wrong


def parse_numbers(texts: pl.Series, location: RowLocation, first_row: int = 0) -> pl.Series:
    """The numbers that texts write; null for an empty text.

    Args:
        texts: a column, named as in errors.
        location: the location of the rows.
        first_row: the row of the table where the column begins.

    Raises:
        InputError: a text is not a finite number; the message has its line, or its row.
    """
    filled_texts, numbers, is_wrong = numbers_in(texts)
    if is_wrong.any():
        row = int(is_wrong.arg_max() or 0)
        line = location.line(first_row + row)
        fault = number_fault(filled_texts[row], texts.name) or f"{texts.name} is not a number."
        problem = fault if line else f"row {first_row + row + 1}: {fault}"
        raise InputError(problem, source=location.file(first_row + row), line=line, code="not-a-number")
    return numbers
