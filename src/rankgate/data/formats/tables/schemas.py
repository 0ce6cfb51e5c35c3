"""Recognise the contents of a table by its column names, and choose what to write.

A CSV, Parquet, Arrow or JSONL file is one table. Its columns say which part of `FileContents` it
is; every other part is reported as a loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.columns import (
    document_columns,
    graded,
    missing_column,
    named,
    one_document_column,
)
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Loss, Note
from rankgate.data.notes import STATES
from rankgate.data.qrels import OPTIONAL, Qrels, without_empty
from rankgate.data.ratings import SCHEMA as RATINGS
from rankgate.data.ratings import Ratings
from rankgate.data.run import SCHEMA as RUN
from rankgate.data.text.times import moment

if TYPE_CHECKING:
    from rankgate.data.place import Place
    from rankgate.data.rows import Part
    from rankgate.data.run import Run

HOLDS = ("qrels", "runs", "ratings", "queries", "documents", "values")
"""The parts that a table can be, in the order in which a writer chooses."""

COLUMNS = tuple(OPTIONAL)
"""The columns of judgments that a table holds, and few other formats do."""

LOSES = "all parts but one; scales, tags, the state of queries, what only one format knows"

_FIELDS = frozenset({"title", "text", "body", "contents", "abstract", "name", "url"})
_ALWAYS = ("query_id", "doc_id", "rater", "grade")  # of ratings
_RATED = tuple(name for name in RATINGS if name not in {"query_id", "doc_id", "rater"})


@dataclass(frozen=True)
class TableSchema:
    """How the columns of a table are to be read.

    Attributes:
        part: the part of `FileContents` that it is.
        kept: our name of each column, and theirs.
        numbers: those of ours that hold numbers.
        empty: those of ours that may be empty.
    """

    part: str
    kept: dict[str, str]
    numbers: frozenset[str]
    empty: frozenset[str]

    def document_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that could hold the ids of documents: the one that is read, or several."""
        return document_columns(names) or (self.kept["doc_id"],)


def table_of(names: Sequence[str], part: str | None = None) -> TableSchema | None:
    """What a table with these columns is; None where nothing fits.

    Args:
        names: its columns.
        part: ``qrels`` or ``runs`` to read it as that.
    """
    ids = named(names, ("query_id", "doc_id"))
    if part in {"qrels", "runs"} or len(ids) == len(("query_id", "doc_id")):
        return _pairs(names, ids, part)
    values = named(names, ("query_id", "metric", "value"))
    if {"metric", "value"} <= set(values):
        values |= {name: name for name in ("run", "at") if name in names}
        return TableSchema(
            "values", values, frozenset({"value"}), frozenset({"query_id", "run", "at"})
        )
    text = named(names, ("query_id", "text"))
    if len(text) == len(("query_id", "text")):
        return _rest("queries", text, names)
    lower = {name.strip().lower() for name in names}
    id_column = next((name for name in names if name.strip().lower() == "id"), None)
    if id_column and not ids and lower & _FIELDS:  # a corpus, as Pyserini and many others write it
        ids = {"doc_id": id_column}
    described = "doc_id" in names or lower & _FIELDS  # ids alone are of many other things
    return _rest("documents", ids, names) if "doc_id" in ids and described else None


def asked(names: Sequence[str], part: str, label: str, noun: str = "column") -> TableSchema:
    """The schema of a table that is to be read as ``qrels`` or ``runs``.

    Args:
        names: its columns.
        part: what to read it as.
        label: the file.
        noun: what errors call a column.

    Raises:
        InputError: a column that is missing.
    """
    table = table_of(names, part)
    found = {"score" if ours == "rank" else ours for ours in table.kept} if table else set()
    needed = ("query_id", "doc_id", "grade" if part == "qrels" else "score")
    lacking = [ours for ours in needed if ours not in found]
    if table is None or lacking:
        problem = missing_column(lacking[0], names[:10], noun)
        raise InputError(problem, source=label, line=1, code="missing-column")
    if part == "qrels":
        one_document_column(names, label)
    return table


def part_of(table: TableSchema | None) -> Part | None:
    """Whether a table is judgments or a run; None for any other."""
    if table is None or table.part not in {"qrels", "runs"}:
        return None
    return "qrels" if table.part == "qrels" else "run"


def _pairs(names: Sequence[str], ids: dict[str, str], part: str | None) -> TableSchema | None:
    """Judgments, rankings, ratings, or documents whose fields differ by query."""
    rated = named(names, ("rater", "grade"))
    if part is None and len(rated) == len(("rater", "grade")):
        rated |= {name: name for name in (*_RATED, "scale") if name in names and name not in rated}
        numbers = frozenset({"grade", "seconds"} & set(rated))
        return TableSchema("ratings", ids | rated, numbers, frozenset({*_RATED, "scale"}))
    if part == "qrels" or (part is None and graded(names)):
        found = ids | named(names, ("grade", *OPTIONAL))
        numbers = frozenset({"grade", "inclusion", "subtopic_weight"} & set(found))
        return TableSchema("qrels", found, numbers, frozenset({"doc_id", "grade", *OPTIONAL}))
    scored = named(names, ("score",)) or named(names, ("rank",))
    if scored or part == "runs":
        return TableSchema("runs", ids | scored, frozenset({"score", "rank"}), frozenset())
    return _rest("documents", ids, names)


def _rest(part: str, ids: dict[str, str], names: Sequence[str]) -> TableSchema:
    others = {name: name for name in names if name not in ids.values() and name not in ids}
    return TableSchema(part, ids | others, frozenset(), frozenset(others) | ({*ids} & {"text"}))


def contents_of(table: TableSchema, rows: pl.DataFrame, name: str, place: Place) -> FileContents:
    """The contents of a file that is read whole: anything but a run.

    Raises:
        InputError: ids or grades that are missing or wrong.
    """
    if table.part == "qrels":
        found, notes = judgments(rows, name, place)
        return FileContents(qrels=found, notes=notes)
    if table.part == "ratings":
        _refuse_scales(rows, place)
        at = _moments(rows, place) if "at" in rows.columns else rows
        return FileContents(ratings=Ratings(at, name=name, place=place))
    if table.part == "values":
        return FileContents(values=rows)
    if table.part == "queries":
        return FileContents(queries=rows)
    return FileContents(documents=rows)


@contextmanager
def ratings_named(names: Sequence[str]) -> Iterator[None]:
    """Where a pair is judged twice in a table with raters, report that it holds ratings."""
    try:
        yield
    except DuplicateError as error:
        rater = named(names, ("rater",)).get("rater")
        if rater is None:
            raise
        problem = (
            f"{error.problem.split(' (')[0]}, and there is a column {rater}: these are ratings; "
            "resolve them into judgments first (rankgate resolve)."
        )
        raise DuplicateError(
            problem, source=error.source, line=error.line, code="ratings-not-judgments"
        ) from None


def judgments(rows: pl.DataFrame, name: str, place: Place) -> tuple[Qrels, tuple[Note, ...]]:
    """Judgments from rows in which a document or a grade may be missing, and what was missing.

    A pair without a grade is unrated, which is not a grade of 0; a query with neither document nor
    grade has no judgments.

    Raises:
        InputError: a grade without a document.
        DuplicateError: a document judged twice for one query.
    """
    holes = rows.filter(pl.col("doc_id").is_null() & pl.col("grade").is_not_null())
    if len(holes):
        row = int((rows["doc_id"].is_null() & rows["grade"].is_not_null()).arg_max() or 0)
        raise InputError(
            "doc_id is empty.", source=place.file(row), line=place.line(row), code="empty-value"
        )
    rows = without_empty(rows)
    if not rows["grade"].null_count():
        return Qrels(rows, name=name, place=place), ()
    there = rows["grade"].is_not_null()
    graded_rows = rows.filter(there)
    asked = rows["query_id"].unique(maintain_order=True)
    without = asked.filter(~asked.is_in(graded_rows["query_id"].unique().implode()))
    unrated = rows.filter(pl.col("grade").is_null() & pl.col("doc_id").is_not_null())
    pairs = (f"{query} {document}" for query, document in unrated[:, :2].head(3).rows())
    words = "pairs without a grade, which are unrated"
    notes = (Note(words, len(unrated), tuple(pairs)),) if len(unrated) else ()
    among = place.among(there.arg_true().to_list())
    found = Qrels(graded_rows, name=name, unjudged=tuple(without.to_list()), place=among)
    return found, (*notes, *Note.of("queries without judgments", without.to_list()))


def _refuse_scales(rows: pl.DataFrame, place: Place) -> None:
    """Grades of two scales in one file cannot be put together."""
    if "scale" not in rows.columns or rows["scale"].drop_nulls().n_unique() < 2:
        return
    first = rows["scale"].is_not_null().arg_max() or 0
    row = int(rows["scale"].ne(rows["scale"][first]).arg_max() or 0)
    problem = (
        f"scale '{rows['scale'][row]}', and '{rows['scale'][first]}' before (line "
        f"{place.line(first)}); keep ratings of two scales in two files, and transform one."
    )
    raise InputError(problem, source=place.file(row), line=place.line(row), code="mixed-scales")


def _moments(rows: pl.DataFrame, place: Place) -> pl.DataFrame:
    """Times as times; where they are not all written alike, one by one."""
    try:
        result = pl.col("at").str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
        return rows.with_columns(result)
    except pl.exceptions.PolarsError:
        written = enumerate(rows["at"].to_list())
        each = [text and moment(text, "at", place.label, place.line(row)) for row, text in written]
        return rows.with_columns(pl.Series("at", each, pl.Datetime("us", "UTC")))


def scored(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of a run; a rank, of which 1 is best, makes a score if there is none."""
    if "score" in frame.columns:
        return frame.select(*RUN)
    return frame.select("query_id", "doc_id", -pl.col("rank").alias("score"))


def chosen(
    contents: FileContents, holds: Sequence[str] = HOLDS, columns: Sequence[str] = COLUMNS
) -> tuple[str, tuple[Loss, ...]]:
    """The part that a format of one table is given, and what is lost with the others.

    Args:
        contents: all of it.
        holds: the parts that the format can be, the first choice first.
        columns: those columns of judgments that it holds and few formats do.

    Raises:
        UsageError: the format holds none of the parts that are there.
    """
    parts = [part for part in holds if part in contents.parts]
    if not parts:
        there = ", ".join(contents.parts) or "nothing"
        raise UsageError(
            f"the format holds {', '.join(holds)}, and there is {there}.", code="format-cannot-hold"
        )
    part = _first_filled(contents, parts)
    lost = list(contents.losses(part, runs=1))
    if part == "qrels" and contents.qrels:
        lost += qrels_losses(contents.qrels, columns)
    if part == "runs":
        lost += run_losses(contents.runs[0])
    return part, tuple(lost)


def _first_filled(contents: FileContents, parts: Sequence[str]) -> str:
    """The first part; judgments that are only names of queries go behind the others."""
    bare = contents.qrels is not None and contents.qrels.table.is_empty()
    return next((part for part in parts if not (part == "qrels" and bare)), parts[0])


def qrels_losses(qrels: Qrels, kept: Sequence[str] = ()) -> Iterator[Loss]:
    """What judgments have besides query, document and grade.

    Args:
        qrels: the judgments.
        kept: the other columns that are written.
    """
    if qrels.scale:
        words = f"{qrels.scale.lowest:g} to {qrels.scale.highest:g}"
        yield Loss("scale of grades", 1, (words,))
    yield from Loss.of("queries without judgments", qrels.unjudged)
    known = {"query_id", "doc_id", "grade", *kept}
    others = [name for name in qrels.table.columns if name not in known]
    yield from Loss.of("columns of judgments", others)


def run_losses(run: Run, *, tag: bool = False) -> Iterator[Loss]:
    """What a run has besides query, document and score.

    Args:
        run: the run.
        tag: whether the tag is written.
    """
    if run.tag and not tag:
        yield Loss("tag of a run", 1, (run.tag,))
    if run.queries is not None:
        yield from Loss.of(STATES, run.queries["query_id"].to_list())


def rows(contents: FileContents, part: str) -> Iterator[pl.DataFrame]:
    """The rows of a part, piece by piece; whole grades as integers.

    Raises:
        InputError, DuplicateError: as of the run's batches.
        ScatteredError: as of the run's batches.
    """
    if part == "qrels" and contents.qrels:
        table = contents.qrels.table
        optional = [name for name in COLUMNS if name in table.columns]
        yield table.select("query_id", "doc_id", whole(table), *optional)
    elif part == "runs":
        yield from (batch.frame for batch in contents.runs[0].batches())
    elif part == "ratings" and contents.ratings:
        table = contents.ratings.table
        filled = [name for name in table.columns if name in _ALWAYS or not _empty(table[name])]
        yield table.select(filled).with_columns(whole(table))
    else:
        table = getattr(contents, part)
        yield table


def _empty(column: pl.Series) -> bool:
    return column.null_count() == len(column)


def schema_of(contents: FileContents, part: str) -> pl.Schema:
    """The columns that `rows` gives, before it is asked for them."""
    return pl.Schema(RUN) if part == "runs" else next(rows(contents, part)).schema


def whole(table: pl.DataFrame) -> pl.Expr:
    """The grades as integers where all are whole, otherwise as they are."""
    grades = table["grade"].drop_nulls()
    exact = (grades == grades.round()) & (grades.abs() < float(1 << 53))
    return pl.col("grade").cast(pl.Int64) if exact.all() else pl.col("grade")
