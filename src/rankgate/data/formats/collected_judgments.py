"""Collect judgments and ratings from a document, each with its position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.format import Note
from rankgate.data.qrels import QRELS_SCHEMA, Qrels, Ratings
from rankgate.data.qrels import RATINGS_SCHEMA as RATINGS
from rankgate.data.run import RUN_SCHEMA as RANKED
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import identifier, number

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, Schema
    from rankgate.data.qrels import Scale


VALUES: Schema = {
    "run": pl.String,
    "query_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}
"""The columns of values of metrics."""

_PAIR = ["query_id", "doc_id"]
_STATE_COLUMNS = ("query_id", "state", "error")


@dataclass
class GrowingQrels:
    """Growing columns: queries, documents, grades and the JSON path of each.

    Attributes:
        label: the file.
        asked: every query in order, with or without judgments.
    """

    label: str
    asked: dict[str, None] = field(default_factory=dict)
    _queries: list[str] = field(default_factory=list)
    _documents: list[str] = field(default_factory=list)
    _grades: list[float | None] = field(default_factory=list)
    _places: list[str] = field(default_factory=list)

    def ask(self, query: str) -> None:
        """Add a query, with or without judgments."""
        self.asked[query] = None

    def add(self, query: str, document: Json, grade: Json, json_path: str, key: str) -> None:
        """Add a judgment; a grade of None means unrated.

        Args:
            query: the query.
            document: the document's id, as found in the file.
            grade: the grade, as found in the file.
            json_path: the JSON path of both, such as ``queries[3].ratings[0]``.
            key: the key of the grade at that path; empty if the path is that of the grade.

        Raises:
            InputError: an id is invalid, or a grade is not a finite number.
        """
        grade_path = f"{json_path}.{key}" if key else json_path
        self._documents.append(identifier(document, f"the document of {json_path}", self.label))
        self._grades.append(None if grade is None else number(grade, grade_path, self.label))
        self._queries.append(query)
        self._places.append(grade_path)
        self.asked[query] = None

    def qrels(self, name: str, scale: Scale | None = None) -> tuple[Qrels | None, tuple[Note, ...]]:
        """The judgments without repetitions, and notes; None if there are no queries.

        Raises:
            DuplicateError: a document has two grades for one query.
        """
        if not self.asked:
            return None, ()
        columns = [self._queries, self._documents, self._grades]
        all_rows = pl.DataFrame(dict(zip(QRELS_SCHEMA, columns, strict=True)), schema=QRELS_SCHEMA)
        table = all_rows.filter(pl.col("grade").is_not_null())
        unique_rows = table.unique(maintain_order=True)
        if unique_rows.select(_PAIR).is_duplicated().any():
            self._tell_apart()
        judged_queries = set(unique_rows["query_id"].unique())
        unjudged_queries = tuple(query for query in self.asked if query not in judged_queries)
        notes = (
            *_make_note(
                "documents without a grade, which are unrated", all_rows, all_rows["grade"].is_null()
            ),
            *_make_note(
                "judgments that appear twice with one grade, read once",
                table,
                ~table.select(pl.struct(pl.all()).is_first_distinct()).to_series(),
            ),
            *Note.of("queries without judgments", unjudged_queries),
        )
        location = RowLocation(self.label)
        return Qrels(unique_rows, name, scale=scale, unjudged=unjudged_queries, place=location), notes

    def pool(self) -> pl.DataFrame | None:
        """All pairs of query and document, if some of them have no grade; else None."""
        if None not in self._grades:
            return None
        columns = zip(_PAIR, (self._queries, self._documents), strict=True)
        return pl.DataFrame(dict(columns)).unique(maintain_order=True)

    def _tell_apart(self) -> None:
        grade_and_path: dict[tuple[str, str], tuple[float, str]] = {}
        rows = zip(self._queries, self._documents, self._grades, self._places, strict=True)
        for query, document, grade, json_path in rows:
            if grade is None:
                continue
            other_grade, other_path = grade_and_path.setdefault((query, document), (grade, json_path))
            if other_grade != grade:
                problem = (
                    f"document '{document}' has grade {other_grade:g} ({other_path}) and grade {grade:g} "
                    f"({json_path}) for query '{query}'; remove one of them."
                )
                raise DuplicateError(problem, source=self.label)


@dataclass
class GrowingRatings:
    """As `GrowingQrels`, with raters: one row for each rating."""

    label: str
    asked: dict[str, None] = field(default_factory=dict)
    _rows: list[tuple[str, str, str, float | None, str | None, str | None]] = field(default_factory=list)

    def ask(self, query: str) -> None:
        """Add a query, with or without ratings."""
        self.asked[query] = None

    def add(
        self,
        pair: tuple[str, str],
        rater: str,
        grade: Json,
        json_path: str,
        *,
        reason: str | None = None,
        comment: str | None = None,
    ) -> None:
        """Add a rating; a grade of None means no grade, with a reason.

        Raises:
            InputError: a grade is not a finite number.
        """
        grade_number = None if grade is None else number(grade, json_path, self.label)
        self._rows.append((*pair, rater, grade_number, reason, comment))
        self.asked[pair[0]] = None

    def ratings(self, name: str, scale: Scale | None = None) -> Ratings | None:
        """The ratings, or None."""
        if not self._rows:
            return None
        names = ("query_id", "doc_id", "rater", "grade", "reason", "comment")
        schema = {column: RATINGS[column] for column in names}
        table = pl.DataFrame(self._rows, schema=schema, orient="row")
        return Ratings(table, name, scale=scale, place=RowLocation(self.label))

    def qrels(self, name: str, scale: Scale | None = None) -> Qrels | None:
        """The ratings as judgments; None if a pair has several grades or there are no queries."""
        collected_ratings = self.ratings(name, scale)
        if collected_ratings is None:
            no_judgments = pl.DataFrame(schema=QRELS_SCHEMA)
            location = RowLocation(self.label)
            return (
                Qrels(no_judgments, name, unjudged=tuple(self.asked), place=location) if self.asked else None
            )
        return resolve_ratings(collected_ratings, tuple(self.asked))


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
    name: str,
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    scores: Sequence[float] | None,
    *,
    label: str,
    states: Sequence[tuple[str | None, ...]] = (),
    lines: Sequence[int] | None = None,
) -> Run:
    """A run from columns; without scores, documents are best first and -rank is the score.

    Args:
        name: the name of the run.
        query_ids: the query ids of each row.
        doc_ids: the document ids of each row.
        scores: the scores of each row.
        label: the name of the file in errors.
        states: query and state, optionally also the error, of queries without rows.
        lines: the line of each row, for errors.
    """
    ids = zip(_PAIR, (query_ids, doc_ids), strict=True)
    table = pl.DataFrame([pl.Series(column, column_values, pl.String) for column, column_values in ids])
    score = -pl.int_range(1, pl.len() + 1).over("query_id")
    if scores is not None:
        score = pl.lit(pl.Series("score", scores, pl.Float64))
    table = table.with_columns(score.cast(pl.Float64).alias("score")).select(list(RANKED))

    def pieces() -> Iterator[pl.DataFrame]:
        yield table

    state_schema = dict.fromkeys(_STATE_COLUMNS[: len(states[0])] if states else (), pl.String)
    query_states = pl.DataFrame(states, schema=state_schema, orient="row") if states else None
    location = RowLocation(label) if lines is None else RowLocation(label, lines.__getitem__)
    return Run(name, pieces, queries=query_states, place=location)


def zero_states(queries: Iterable[str]) -> list[tuple[str, str]]:
    """The states of queries that returned no documents."""
    return [(query, "zero") for query in queries]


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


def collect_document_rows(rows: Sequence[Mapping[str, str | None]]) -> pl.DataFrame | None:
    """As `collect_documents`, from rows with ``query_id``, ``doc_id`` and fields."""
    table = string_table(rows)
    return collect_documents(table, [name for name in table.columns if name not in _PAIR])


def _make_note(note_text: str, table: pl.DataFrame, rows: pl.Series) -> tuple[Note, ...]:
    noted_rows = table.filter(rows)
    examples = tuple(f"{query} {document}" for query, document, *_ in noted_rows.head(3).rows())
    return (Note(note_text, len(noted_rows), examples),) if len(noted_rows) else ()
