"""Collect judgments and ratings from a document, each with its position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.foreign_frames import string_table
from rankgate.data.qrels import QRELS_SCHEMA, Qrels, Ratings
from rankgate.data.qrels import RATINGS_SCHEMA as RATINGS
from rankgate.data.run import RUN_SCHEMA as RANKED
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
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

_PAIR = ["query_id", "doc_id"]
_STATE_COLUMNS = ("query_id", "state", "error")


@dataclass
class GrowingQrels:
    """Growing columns: queries, documents, grades and the JSON path of each.

    Attributes:
        source: the file.
        asked: every query in order, with or without judgments.
    """

    source: InputFile
    asked: dict[str, None] = field(default_factory=dict)
    _rows: list[tuple[str, str, float | None]] = field(default_factory=list)
    _paths: list[str] = field(default_factory=list)

    def ask(self, query: str) -> None:
        """Add a query, with or without judgments."""
        self.asked[query] = None

    def add(self, query: str, document: Json, grade: Json, path: str, owner: str = "") -> None:
        """Add a judgment; a grade of None means unrated.

        Args:
            query: the query.
            document: the document's id, as found in the file.
            grade: the grade, as found in the file.
            path: the JSON path of the grade, such as ``queries[3].ratings[0].rating``.
            owner: the path of the object of both, for errors; that of the grade if not given.

        Raises:
            InputError: an id is invalid, or a grade is not a finite number.
        """
        doc_id = identifier(document, f"the document of {owner or path}", self.source.label)
        self._rows.append((query, doc_id, None if grade is None else number(grade, path, self.source.label)))
        self._paths.append(path)
        self.asked[query] = None

    def add_rating(self, query: str, document: Json, rating: JsonRecord, key: str = "rating") -> None:
        """Add the grade under a key of an object; see `add`."""
        self.add(query, document, rating.get(key), rating.path_of(key), rating.where)

    def add_grades(self, query: str, grades: JsonRecord) -> None:
        """Add the grades of an object of grades by document; see `add`."""
        self.asked[query] = None
        for document in grades:
            self.add_rating(query, document, grades, document)

    def qrels(self, scale: Scale | None = None) -> tuple[Qrels | None, tuple[Note, ...]]:
        """The judgments without repetitions, and notes; None if there are no queries.

        Raises:
            DuplicateError: a document has two grades for one query.
        """
        if not self.asked:
            return None, ()
        all_rows = pl.DataFrame(self._rows, schema=QRELS_SCHEMA, orient="row")
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
        location = RowLocation(self.source.label)
        return Qrels(
            unique_rows, self.source.stem, scale=scale, unjudged=unjudged_queries, place=location
        ), notes

    def contents(self, *notes: Note, **parts: Any) -> FileContents:
        """The judgments, the pool if some of its documents have no grade, and further parts.

        Raises:
            DuplicateError: a document has two grades for one query.
        """
        qrels, own_notes = self.qrels()
        return FileContents(**{"qrels": qrels, "documents": self.pool(), **parts}, notes=(*own_notes, *notes))

    def pool(self) -> pl.DataFrame | None:
        """All pairs of query and document, if some of them have no grade; else None."""
        if all(grade is not None for *_, grade in self._rows):
            return None
        table = pl.DataFrame(self._rows, schema=QRELS_SCHEMA, orient="row")
        return table.select(_PAIR).unique(maintain_order=True)

    def _tell_apart(self) -> None:
        grade_and_path: dict[tuple[str, str], tuple[float, str]] = {}
        for (query, document, grade), path in zip(self._rows, self._paths, strict=True):
            if grade is None:
                continue
            other_grade, other_path = grade_and_path.setdefault((query, document), (grade, path))
            if other_grade != grade:
                problem = (
                    f"document '{document}' has grade {other_grade:g} ({other_path}) and grade {grade:g} "
                    f"({path}) for query '{query}'; remove one of them."
                )
                raise DuplicateError(problem, source=self.source.label)


@dataclass
class GrowingRatings:
    """As `GrowingQrels`, with raters: one row for each rating."""

    source: InputFile
    asked: dict[str, None] = field(default_factory=dict)
    _rows: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, query: str) -> None:
        """Add a query, with or without ratings."""
        self.asked[query] = None

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
        self.asked[query] = None

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
class GrowingRun:
    """Growing columns of a run: queries, documents and their scores, best first.

    Attributes:
        source: the file.
        asked: every query in order, with or without documents.
    """

    source: InputFile
    asked: dict[str, None] = field(default_factory=dict)
    _rows: list[tuple[str, str, float | None]] = field(default_factory=list)
    _lines: list[int] = field(default_factory=list)

    def rank(self, query: str, document: str, score: float | None = None, line: int | None = None) -> None:
        """Add the next document of a query, with its line if all have one."""
        self.asked[query] = None
        self._rows.append((query, document, score))
        self._lines += [] if line is None else [line]

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
        rows = [(query, document, score) for query, document, score in self._rows if score is not None]
        has_scores = len(rows) == len(self._rows) and not (
            falling and any(row[0] == after[0] and row[2] < after[2] for row, after in pairwise(rows))
        )
        queries = [query for query, *_ in self._rows]
        empty_queries = self.asked.keys() - queries
        return make_run(
            name or self.source.stem,
            queries,
            [document for _, document, _ in self._rows],
            [score for *_, score in rows] if has_scores else None,
            label=self.source.label,
            states=[(query, "zero") for query in self.asked if query in empty_queries]
            if states is None
            else states,
            lines=self._lines or None,
        )


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


def text_table(id_column: str, text_of_id: Mapping[str, Any]) -> pl.DataFrame | None:
    """The texts of queries or documents; None if no id has a text other than the id itself."""
    rows = [(name, text) for name, text in text_of_id.items() if isinstance(text, str)]
    return (
        pl.DataFrame(rows, schema={id_column: pl.String, "text": pl.String}, orient="row") if rows else None
    )


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
