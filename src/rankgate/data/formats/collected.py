"""Collect judgments and ratings from a document, each with its position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import DuplicateError
from rankgate.data.columns import strings
from rankgate.data.formats.format import Note
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.data.ratings import SCHEMA as RATINGS
from rankgate.data.ratings import Ratings
from rankgate.data.run import SCHEMA as RANKED
from rankgate.data.run import Run
from rankgate.data.text.json_text import identifier, number

if TYPE_CHECKING:
    from rankgate.data.qrels import Scale

VALUES: dict[str, pl.DataType | type[pl.DataType]] = {
    "run": pl.String,
    "query_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "at": pl.Datetime("us", "UTC"),
}
"""The columns of values of metrics."""

_PAIR = ["query_id", "doc_id"]
_STATES = ("query_id", "state", "error")


@dataclass
class GrowingQrels:
    """Columns that grow: queries, documents, grades and where each is.

    Attributes:
        label: the file.
        asked: every query, in order, with judgments or without.
    """

    label: str
    asked: dict[str, None] = field(default_factory=dict)
    _queries: list[str] = field(default_factory=list)
    _documents: list[str] = field(default_factory=list)
    _grades: list[float | None] = field(default_factory=list)
    _places: list[str] = field(default_factory=list)

    def ask(self, query: str) -> None:
        """Note a query, whether or not it has judgments."""
        self.asked[query] = None

    def add(self, query: str, document: Any, grade: Any, where: str, key: str) -> None:
        """Note a judgment; a grade of None is unrated.

        Args:
            query: the query.
            document: the document's id, as it was found.
            grade: the grade, as it was found.
            where: the place of both, such as ``queries[3].ratings[0]``.
            key: what the grade is called there; empty where the place is the grade's own.

        Raises:
            InputError: an invalid id, a grade that is not a finite number.
        """
        at = f"{where}.{key}" if key else where
        self._documents.append(identifier(document, f"the document of {where}", self.label))
        self._grades.append(None if grade is None else number(grade, at, self.label))
        self._queries.append(query)
        self._places.append(at)
        self.asked[query] = None

    def qrels(self, name: str, scale: Scale | None = None) -> tuple[Qrels | None, tuple[Note, ...]]:
        """The judgments, once each, and what was seen; None where there is not even a query.

        Raises:
            DuplicateError: a document with two grades for one query.
        """
        if not self.asked:
            return None, ()
        columns = [self._queries, self._documents, self._grades]
        every = pl.DataFrame(dict(zip(SCHEMA, columns, strict=True)), schema=SCHEMA)
        table = every.filter(pl.col("grade").is_not_null())
        once = table.unique(maintain_order=True)
        if once.select(_PAIR).is_duplicated().any():
            self._tell_apart()
        rated = set(once["query_id"].unique())
        without = tuple(query for query in self.asked if query not in rated)
        notes = (
            *_note("documents without a grade, which are unrated", every, every["grade"].is_null()),
            *_note(
                "judgments that appear twice with one grade, read once",
                table,
                ~table.select(pl.struct(pl.all()).is_first_distinct()).to_series(),
            ),
            *Note.of("queries without judgments", without),
        )
        place = Place(self.label)
        return Qrels(once, name, scale=scale, unjudged=without, place=place), notes

    def pool(self) -> pl.DataFrame | None:
        """All pairs of query and document, where some of them have no grade; None otherwise."""
        if None not in self._grades:
            return None
        columns = zip(_PAIR, (self._queries, self._documents), strict=True)
        return pl.DataFrame(dict(columns)).unique(maintain_order=True)

    def _tell_apart(self) -> None:
        first: dict[tuple[str, str], tuple[float, str]] = {}
        rows = zip(self._queries, self._documents, self._grades, self._places, strict=True)
        for query, document, grade, where in rows:
            if grade is None:
                continue
            other, before = first.setdefault((query, document), (grade, where))
            if other != grade:
                problem = (
                    f"document '{document}' has grade {other:g} ({before}) and grade {grade:g} "
                    f"({where}) for query '{query}'; remove one of them."
                )
                raise DuplicateError(problem, source=self.label)


@dataclass
class GrowingRatings:
    """As `GrowingQrels`, with who rated; one row a rating."""

    label: str
    asked: dict[str, None] = field(default_factory=dict)
    _rows: list[tuple[str, str, str, float | None, str | None, str | None]] = field(
        default_factory=list
    )

    def ask(self, query: str) -> None:
        """Note a query, whether or not it has ratings."""
        self.asked[query] = None

    def add(
        self,
        pair: tuple[str, str],
        rater: str,
        grade: Any,
        where: str,
        *,
        reason: str | None = None,
        comment: str | None = None,
    ) -> None:
        """Note a rating; a grade of None is none, for the reason.

        Raises:
            InputError: a grade that is not a finite number.
        """
        value = None if grade is None else number(grade, where, self.label)
        self._rows.append((*pair, rater, value, reason, comment))
        self.asked[pair[0]] = None

    def ratings(self, name: str, scale: Scale | None = None) -> Ratings | None:
        """The ratings; None where there are none."""
        if not self._rows:
            return None
        names = ("query_id", "doc_id", "rater", "grade", "reason", "comment")
        schema = {column: RATINGS[column] for column in names}
        table = pl.DataFrame(self._rows, schema=schema, orient="row")
        return Ratings(table, name, scale=scale, place=Place(self.label))

    def qrels(self, name: str, scale: Scale | None = None) -> Qrels | None:
        """The ratings as judgments; None where a pair has several grades, or nothing is asked."""
        found = self.ratings(name, scale)
        if found is None:
            empty = pl.DataFrame(schema=SCHEMA)
            place = Place(self.label)
            return (
                Qrels(empty, name, unjudged=tuple(self.asked), place=place) if self.asked else None
            )
        return resolved(found, tuple(self.asked))


def resolved(ratings: Ratings, asked: Iterable[str] = ()) -> Qrels | None:
    """Ratings as judgments, where no pair has more than one grade; None otherwise.

    Args:
        ratings: the ratings.
        asked: queries that may have none.
    """
    table = ratings.table
    graded = table.filter(pl.col("grade").is_not_null()).select(*SCHEMA)
    if graded.select(_PAIR).is_duplicated().any():
        return None
    every = dict.fromkeys([*asked, *table["query_id"].unique(maintain_order=True)])
    rated = set(graded["query_id"].unique())
    without = tuple(query for query in every if query not in rated)
    name, scale, place = ratings.name, ratings.scale, ratings.place
    return Qrels(graded, name, scale=scale, unjudged=without, place=place)


def ranked(
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
        name: of the run.
        query_ids: of each row.
        doc_ids: of each row.
        scores: of each row.
        label: what errors call the file.
        states: query and state, or also the error, of queries without rows.
        lines: the line of each row, for errors.
    """
    ids = zip(_PAIR, (query_ids, doc_ids), strict=True)
    table = pl.DataFrame([pl.Series(column, values, pl.String) for column, values in ids])
    score = -pl.int_range(1, pl.len() + 1).over("query_id")
    if scores is not None:
        score = pl.lit(pl.Series("score", scores, pl.Float64))
    table = table.with_columns(score.cast(pl.Float64).alias("score")).select(list(RANKED))

    def pieces() -> Iterator[pl.DataFrame]:
        yield table

    columns = dict.fromkeys(_STATES[: len(states[0])] if states else (), pl.String)
    known = pl.DataFrame(states, schema=columns, orient="row") if states else None
    place = Place(label) if lines is None else Place(label, lines.__getitem__)
    return Run(name, pieces, queries=known, place=place)


def nothing_for(queries: Iterable[str]) -> list[tuple[str, str]]:
    """The states of queries that returned nothing."""
    return [(query, "zero") for query in queries]


def documents_of(rows: pl.DataFrame, fields: Sequence[str]) -> pl.DataFrame | None:
    """Documents with their fields: one row each, or one per query where fields differ by query.

    Args:
        rows: ``query_id``, ``doc_id`` and the fields.
        fields: the names of the fields; without any nothing is reported.
    """
    if not fields:
        return None
    alone = rows.select("doc_id", *fields).unique(maintain_order=True)
    if not alone["doc_id"].is_duplicated().any():
        return alone
    return rows.select(*_PAIR, *fields).unique(_PAIR, keep="first", maintain_order=True)


def documents_from(rows: Sequence[Mapping[str, str | None]]) -> pl.DataFrame | None:
    """As `documents_of`, from the ``query_id``, ``doc_id`` and fields of each, found one by one."""
    table = strings(rows)
    return documents_of(table, [name for name in table.columns if name not in _PAIR])


def _note(what: str, table: pl.DataFrame, rows: pl.Series) -> tuple[Note, ...]:
    found = table.filter(rows)
    examples = tuple(f"{query} {document}" for query, document, *_ in found.head(3).rows())
    return (Note(what, len(found), examples),) if len(found) else ()
