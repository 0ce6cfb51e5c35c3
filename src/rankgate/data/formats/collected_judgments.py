"""Collect judgments, ratings and rankings while a file is read.

A collector also keeps the queries with their texts and the fields of documents, and makes the
contents of the file. Judgments that appear twice are read once, or are an error if grades differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.tables import schemas
from rankgate.data.qrels import QRELS_SCHEMA, Qrels, Ratings
from rankgate.data.qrels import RATINGS_SCHEMA as RATINGS
from rankgate.data.run import RUN_SCHEMA as RANKED
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation, find_repeated_hashes, hash_pairs
from rankgate.data.text.json_text import identifier, number

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, Schema
    from rankgate.data.qrels import Scale
    from rankgate.data.streams.source import InputFile
    from rankgate.data.text.json_text import JsonRecord


VALUES: Schema = {
    "run": pl.String,
    "query_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}
"""The columns of values of metrics."""

TOOL = "tool"
"""The column of the tool that a ranking calls, if rankings are calls of tools."""

TASK_COLUMNS: Schema = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "sequence": pl.String,
    "position": pl.Float64,
    "tokens": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
    TOOL: pl.String,
}
"""The columns of the rankings of tasks."""

_PAIR = ["query_id", "doc_id"]


@dataclass
class Collector:
    """The queries of a file and the fields of their documents, collected while it is read.

    Attributes:
        source: the file.
        asked: every query in order, also without documents, with its fields, as ``text``.
    """

    source: InputFile
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    _fields: list[dict[str, str | None]] = field(default_factory=list)

    def ask(self, query: str, /, **fields: Any) -> None:
        """Add a query, with or without documents; the fields of the first call are kept."""
        self.asked.setdefault(query, fields)

    def query_rows(self) -> list[dict[str, Any]]:
        """The queries with their fields."""
        return [{"query_id": query, **fields} for query, fields in self.asked.items()]

    def texts(self) -> pl.DataFrame | None:
        """The queries that have a text; None if no query has one."""
        rows = [row for row in self.query_rows() if isinstance(row.get("text"), str)]
        return pl.DataFrame(rows, schema=dict.fromkeys(("query_id", "text"), pl.String)) if rows else None

    def describe(self, query: str, document: str, texts: Mapping[str, str | None]) -> None:
        """Add the fields of a document of a query."""
        self._fields.append({**texts, "query_id": query, "doc_id": document})

    def documents(self) -> pl.DataFrame | None:
        """The documents with their fields; None if no document has one; see `collect_documents`."""
        table = self.described
        return collect_documents(table, [name for name in table.columns if name not in _PAIR])

    @property
    def described(self) -> pl.DataFrame:
        """The pairs that `describe` added, with their fields."""
        return string_table(self._fields, _PAIR)


@dataclass
class GrowingQrels(Collector):
    """Growing columns: queries, documents, grades and the JSON path of each."""

    _rows: list[tuple[str, str | None, float | None]] = field(default_factory=list)
    _paths: list[str] = field(default_factory=list)

    def ask(self, query: str, /, **fields: Any) -> None:
        """Add a query, with or without judgments; the fields of the first call are kept."""
        if query not in self.asked:
            super().ask(query, **fields)
            self._add_row(query, None, None, "")

    def _add_row(self, query: str, document: str | None, grade: float | None, path: str) -> None:
        self.asked.setdefault(query, {})
        self._rows.append((query, document, grade))
        self._paths.append(path)

    def add(self, query: str, document: Json, grade: Json, path: str) -> None:
        """Add a judgment; a grade of None means unrated.

        Args:
            query: the query.
            document: the document's id, as found in the file.
            grade: the grade, as found in the file.
            path: the JSON path of the grade, such as ``queries[3].ratings[0].rating``.

        Raises:
            InputError: an id is invalid, or a grade is not a finite number.
        """
        doc_id = identifier(document, f"the document of {path}", self.source.label)
        grade_number = None if grade is None else number(grade, path, self.source.label)
        self._add_row(query, doc_id, grade_number, path)

    def add_rating(self, query: str, document: Json, rating: JsonRecord, key: str = "rating") -> None:
        """Add the grade under a key of an object; see `add`."""
        doc_id = rating.as_id(document, f"the document of {rating.location_text}")
        self._add_row(query, doc_id, rating.number(key), rating.path_of(key))

    def add_grades(self, query: str, grades: JsonRecord) -> None:
        """Add the grades of an object of grades by document; see `add`."""
        self.ask(query)
        for document in grades:
            self.add_rating(query, document, grades, document)

    def qrels(self) -> tuple[Qrels | None, tuple[Note, ...]]:
        """The judgments without repetitions, and notes; None if there are no queries.

        Raises:
            DuplicateError: a document has two grades for one query.
        """
        if not self.asked:
            return None, ()
        location = RowLocation(self.source.label)
        rows, location, repeated = drop_repeated(self._table(), location, paths=self._paths)
        qrels, notes = schemas.make_qrels(rows, self.source.stem, location)
        return qrels, (*repeated, *notes)

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame(self._rows, schema=QRELS_SCHEMA, orient="row")

    def contents(self, *notes: Note, **parts: Any) -> FileContents:
        """The judgments, the pool if some of its documents have no grade, and further parts.

        Raises:
            DuplicateError: a document has two grades for one query.
        """
        qrels, own_notes = self.qrels()
        return FileContents(**{"qrels": qrels, "documents": self.pool(), **parts}, notes=(*own_notes, *notes))

    def pool(self) -> pl.DataFrame | None:
        """All pairs of query and document, if some of them have no grade; else None."""
        table = self._table().drop_nulls("doc_id")
        return table.select(_PAIR).unique(maintain_order=True) if table["grade"].null_count() else None


def drop_repeated(
    rows: pl.DataFrame, location: RowLocation, *, last: bool = False, paths: Sequence[str] = ()
) -> tuple[pl.DataFrame, RowLocation, tuple[Note, ...]]:
    """Rows without repetitions, their location, and notes on dropped rows.

    Args:
        rows: ``query_id``, ``doc_id``, ``grade``; a document or a grade may be null.
        location: the location of the rows.
        last: True if the last of two grades of a pair counts; otherwise two grades are an error.
        paths: the JSON path of each row, if rows have no lines.

    Raises:
        DuplicateError: a pair has two grades; the message has the lines or paths of both.
    """
    if not len(find_repeated_hashes(hash_pairs(rows))):
        return rows, location, ()
    numbered_rows = rows.with_row_index("row")
    graded = numbered_rows.filter(pl.col("doc_id").is_not_null() & pl.col("grade").is_not_null())
    judgment = pl.struct(*_PAIR, "grade")
    is_distinct = judgment.is_last_distinct() if last else judgment.is_first_distinct()
    repeated_rows = graded.filter(~is_distinct)
    unique_rows = graded.filter(is_distinct)
    conflicting_rows = unique_rows.filter(~pl.struct(_PAIR).is_first_distinct())
    if not last and len(conflicting_rows):
        _raise_conflict(unique_rows, conflicting_rows, location, paths)
    corrected_rows = unique_rows.filter(~pl.struct(_PAIR).is_last_distinct())
    dropped_rows = pl.concat([repeated_rows["row"], corrected_rows["row"]])
    if dropped_rows.is_empty():
        return rows, location, ()
    kept_rows = numbered_rows.join(dropped_rows.to_frame(), on="row", how="anti", maintain_order="left")
    notes = (
        *_make_note("judgments that appear twice with one grade, read once", repeated_rows, location),
        *_make_note("judgments that a later line corrects, passed over", corrected_rows, location),
    )
    return kept_rows.drop("row"), location.select(kept_rows["row"].to_list()), notes


def _raise_conflict(
    unique_rows: pl.DataFrame, conflicting_rows: pl.DataFrame, location: RowLocation, paths: Sequence[str]
) -> None:
    """Raise an error for the first pair with a second grade."""
    row, query, document, grade = conflicting_rows.row(0)
    first_row, first_grade = (
        unique_rows.filter(pl.col("query_id") == query, pl.col("doc_id") == document)
        .select("row", "grade")
        .row(0)
    )
    first_line = location.line(first_row)
    first_note, note, noun = f" on line {first_line}" if first_line else "", "here", "the two lines"
    if paths:
        first_note, note, noun = f" ({paths[first_row]})", f"({paths[row]})", "them"
    problem = (
        f"document '{document}' has grade {first_grade:g}{first_note} and grade {grade:g} {note} for query "
        f"'{query}'; remove one of {noun}."
    )
    raise DuplicateError(problem, source=location.file(row), line=location.line(row))


def _make_note(note_text: str, rows: pl.DataFrame, location: RowLocation) -> tuple[Note, ...]:
    """A note on rows, with the lines of the first ones if rows have lines."""
    if rows.is_empty():
        return ()
    examples = (
        f"{query} {document}" + (f" (line {line})" if (line := location.line(row)) else "")
        for row, query, document, _ in rows.head(3).iter_rows()
    )
    return (Note(note_text, len(rows), tuple(examples)),)


@dataclass
class GrowingRatings(Collector):
    """As `GrowingQrels`, with raters: one row for each rating."""

    _rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, query: str, document: str, rater: str, grade: Json, path: str, **fields: Any) -> None:
        """Add a rating; a grade of None means no grade, with a reason.

        Args:
            query: the query.
            document: the document.
            rater: the rater.
            grade: the grade, as found in the file.
            path: the name of the grade in errors.
            fields: further columns of ratings, such as ``reason`` and ``comment``.

        Raises:
            InputError: a grade is not a finite number.
        """
        grade_number = None if grade is None else number(grade, path, self.source.label)
        row = {"query_id": query, "doc_id": document, "rater": rater, "grade": grade_number}
        self._rows.append(row | fields)
        self.ask(query)

    def ratings(self, scale: Scale | None = None) -> Ratings:
        """The ratings; there may be none."""
        table = pl.DataFrame(self._rows, schema=RATINGS)
        return Ratings(table, self.source.stem, scale=scale, place=RowLocation(self.source.label))

    def contents(self, *notes: Note, scale: Scale | None = None, **parts: Any) -> FileContents:
        """The ratings, judgments if no pair has several grades, and further parts."""
        ratings = self.ratings(scale)
        return FileContents(
            qrels=resolve_ratings(ratings, self.asked) if self.asked else None,
            ratings=ratings if self._rows else None,
            notes=notes,
            **parts,
        )


@dataclass
class GrowingRun(Collector):
    """Growing columns of a run: queries, documents and their scores, best first."""

    _rows: list[tuple[str, str, float | None]] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def rank(self, query: str, document: str, score: float | None = None, line: int | None = None) -> None:
        """Add the next document of a query, with its line if all have one."""
        self.ask(query)
        self._rows.append((query, document, score))
        self._lines += [] if line is None else [line]

    def task_run(self) -> Run:
        """The run, with the columns of its rankings as tasks need them."""
        ranked_queries = {query for query, *_ in self._rows}
        rows = [
            {"state": "ok" if row["query_id"] in ranked_queries else "zero", **row}
            for row in self.query_rows()
        ]
        columns = {name: dtype for name, dtype in TASK_COLUMNS.items() if any(name in row for row in rows)}
        return replace(self.run(), queries=pl.DataFrame(rows, schema=columns))

    def run(
        self,
        name: str | None = None,
        *,
        states: Sequence[tuple[str | None, ...]] | None = None,
        falling: bool = False,
    ) -> Run:
        """The run; ranks are the scores if a document has no score.

        Args:
            name: the name of the run; that of the file if not given.
            states: as in `make_run`; queries without documents retrieved none if not given.
            falling: True to use ranks also if a score is above the previous one of its query.
        """
        table = pl.DataFrame(self._rows, schema=RANKED, orient="row")
        is_rising = (pl.col("score").diff() > 0) & (pl.col("query_id") == pl.col("query_id").shift())
        if table["score"].null_count() or (falling and table.select(is_rising.any()).item()):
            table = table.drop("score")
        empty_queries = self.asked.keys() - {*table["query_id"]}
        location = RowLocation(
            self.source.label, self._lines.__getitem__ if self._lines else lambda _row: None
        )
        zero_states = [(query, "zero") for query in self.asked if query in empty_queries]
        return make_run(name or self.source.stem, table, location, zero_states if states is None else states)


def resolve_ratings(ratings: Ratings, queries: Iterable[str] = ()) -> Qrels | None:
    """Ratings as judgments if no pair has more than one grade; else None.

    Args:
        ratings: the ratings.
        queries: queries that may have no ratings.
    """
    table = ratings.table
    graded = table.filter(pl.col("grade").is_not_null()).select(*QRELS_SCHEMA)
    if graded.select(_PAIR).is_duplicated().any():
        return None
    all_queries = dict.fromkeys([*queries, *table["query_id"].unique(maintain_order=True)])
    judged_queries = set(graded["query_id"].unique())
    unjudged_queries = tuple(query for query in all_queries if query not in judged_queries)
    name, scale, location = ratings.name, ratings.scale, ratings.place
    return Qrels(graded, name, scale=scale, unjudged=unjudged_queries, place=location)


def make_run(
    name: str, table: pl.DataFrame, location: RowLocation, states: Sequence[tuple[str | None, ...]] = ()
) -> Run:
    """A run from a table; without scores, documents are best first and -rank is the score.

    Args:
        name: the name of the run.
        table: ``query_id``, ``doc_id`` and perhaps ``score``.
        location: the location of the rows, for errors.
        states: query and state, optionally also the error, of queries without rows.
    """
    if "score" not in table.columns:
        rank = pl.int_range(1, pl.len() + 1).over("query_id")
        table = table.with_columns(score=-rank.cast(pl.Float64))
    state_columns = ("query_id", "state", "error")[: len(states[0])] if states else ()
    state_schema = dict.fromkeys(state_columns, pl.String)
    query_states = pl.DataFrame(states, schema=state_schema, orient="row") if states else None
    return Run(name, lambda: iter([table.select(*RANKED)]), queries=query_states, place=location)


def collect_documents(rows: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame | None:
    """Documents with their fields: one row each, or one for each query if fields differ by query.

    Args:
        rows: ``query_id``, ``doc_id`` and the fields.
        fields: the names of the fields; the result is None if there are none.
    """
    if not fields:
        return None
    by_document = rows.select("doc_id", *fields).unique(maintain_order=True)
    if not by_document["doc_id"].is_duplicated().any():
        return by_document
    return rows.select(*_PAIR, *fields).unique(_PAIR, keep="first", maintain_order=True)
