"""Recognise the contents of a table by its column names, and choose what to write.

A CSV, Parquet, Arrow or JSONL file is one table. Its columns decide which part of
`FileContents` it is; every other part is reported as a loss. Query latencies and states are read
from extra columns of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.data.column_names import LOG_COLUMNS, match_columns
from rankgate.data.file_contents import STATES, FileContents
from rankgate.data.formats.format import Loss, Note
from rankgate.data.qrels import OPTIONAL, Qrels, Ratings, drop_empty, rated_rows
from rankgate.data.run import RUN_SCHEMA as RUN
from rankgate.data.text.text_values import parse_time

if TYPE_CHECKING:
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.run import Run
    from rankgate.data.table_rows import RowLocation


HOLDS = ("qrels", "runs", "ratings", "queries", "documents", "values")
"""The parts that a table can be, in the order in which a writer chooses."""

COLUMNS = tuple(OPTIONAL)
"""The columns of judgments that tables hold, and few other formats do."""

LOSES = "all parts but one; scales, tags, the state of queries, fields that only one format has"

_REQUIRED_RATING_COLUMNS = ("query_id", "doc_id", "rater", "grade")  # columns of ratings


def contents_of(table: TableSchema, rows: pl.DataFrame, name: str, location: RowLocation) -> FileContents:
    """The contents of a file that is read whole: any part but a run.

    Raises:
        InputError: ids or grades that are missing or wrong.
    """
    if table.part == "qrels":
        qrels, notes = make_qrels(rows, name, location)
        return FileContents(qrels=qrels, notes=notes)
    if table.part == "ratings":
        _refuse_scales(rows, location)
        ratings = _parse_times(rows, location) if "at" in rows.columns else rows
        return FileContents(ratings=Ratings(ratings, name=name, place=location))
    if table.part == "values":
        return FileContents(values=rows)
    if table.part == "queries":
        return FileContents(queries=rows)
    return FileContents(documents=rows)


@contextmanager
def explain_duplicates(names: Sequence[str]) -> Iterator[None]:
    """For a pair judged twice, report if the table holds ratings or a log instead."""
    try:
        yield
    except DuplicateError as error:
        rater = match_columns(names, ("rater",)).get("rater")
        time_column = next((name for name in names if name.strip().lower() in LOG_COLUMNS), None)
        if rater is not None:
            code = "ratings-not-judgments"
            problem = (
                f"there is a column {rater}: these are ratings; resolve them into judgments first (rankgate "
                "resolve)."
            )
        elif time_column is not None:
            code = "log-not-judgments"
            problem = (
                f"there is a column {time_column}: this may be a log of interactions; split it into training "
                "and test sets first (rankgate split)."
            )
        else:
            raise
        problem = f"{error.problem.split(' (')[0].split('; ')[0]}, and {problem}"
        raise DuplicateError(problem, source=error.source, line=error.line, code=code) from None


def make_qrels(rows: pl.DataFrame, name: str, location: RowLocation) -> tuple[Qrels, tuple[Note, ...]]:
    """Judgments from rows with missing documents or grades, and notes on the missing ones.

    A pair without a grade is unrated, which is not a grade of 0; a query with neither document nor
    grade has no judgments.

    Raises:
        InputError: a grade has no document.
        DuplicateError: a document is judged twice for one query.
    """
    without_document = rows.filter(pl.col("doc_id").is_null() & pl.col("grade").is_not_null())
    if len(without_document):
        row = int((rows["doc_id"].is_null() & rows["grade"].is_not_null()).arg_max() or 0)
        problem = f"doc_id is empty{location.row_text(row)}."
        raise location.error(problem, row, "empty-value")
    rows = drop_empty(rows)
    graded_rows, unjudged_queries, graded_location = rated_rows(rows, location)
    unrated = rows.filter(pl.col("grade").is_null() & pl.col("doc_id").is_not_null())
    pairs = (f"{query} {document}" for query, document in unrated[:, :2].head(3).rows())
    note_text = "pairs without a grade, which are unrated"
    notes = (Note(note_text, len(unrated), tuple(pairs)),) if len(unrated) else ()
    qrels = Qrels(graded_rows, name=name, unjudged=unjudged_queries, place=graded_location)
    return qrels, (*notes, *Note.of("queries without judgments", unjudged_queries))


def _refuse_scales(rows: pl.DataFrame, location: RowLocation) -> None:
    """Check that grades have one scale: grades of two scales in a file cannot be combined."""
    if "scale" not in rows.columns or rows["scale"].drop_nulls().n_unique() < 2:
        return
    first_row = rows["scale"].is_not_null().arg_max() or 0
    row = int(rows["scale"].ne(rows["scale"][first_row]).arg_max() or 0)
    first_line = location.line(first_row)
    line_text = f" (line {first_line})" if first_line else ""
    problem = (
        f"scale '{rows['scale'][row]}', and '{rows['scale'][first_row]}' before{line_text}; keep ratings of "
        "two scales in two files, and transform one."
    )
    raise location.error(problem, row, "mixed-scales")


def _parse_times(rows: pl.DataFrame, location: RowLocation) -> pl.DataFrame:
    """Parse times; one by one if they have different forms."""
    try:
        parsed_times = pl.col("at").str.to_datetime(time_unit="us", time_zone="UTC", strict=True)
        return rows.with_columns(parsed_times)
    except pl.exceptions.PolarsError:
        numbered_texts = enumerate(rows["at"].to_list())
        times = [
            text and parse_time(text, "at", location.label, location.line(row))
            for row, text in numbered_texts
        ]
        return rows.with_columns(pl.Series("at", times, pl.Datetime("us", "UTC")))


def with_scores(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of a run; without a score, the rank is used to make one (1 is best)."""
    if "score" in frame.columns:
        return frame.select(*RUN)
    return frame.select("query_id", "doc_id", -pl.col("rank").alias("score"))


def refuse_fractional_ranks(rank_cells: pl.Series, location: RowLocation, first_row: int) -> None:
    """Check that ranks are whole numbers: what PostgreSQL's ts_rank gives is a score, for example.

    Args:
        rank_cells: some ranks, as numbers or text.
        location: the place of their table.
        first_row: the row of the first one.

    Raises:
        InputError: a rank is not a whole number.
    """
    ranks = rank_cells.cast(pl.Float64, strict=False)
    is_fractional = (ranks != ranks.round()).fill_null(value=False)
    if is_fractional.any():
        row = int(is_fractional.arg_true()[0])
        problem = (
            f"rank {ranks[row]:g} is not a whole number. If greater is better, as with PostgreSQL's ts_rank, "
            "add columns score=rank; if less is better, as with distances, rank=rank."
        )
        raise location.error(problem, first_row + row, "not-a-rank")


def choose_part(
    contents: FileContents, holds: Sequence[str] = HOLDS, columns: Sequence[str] = COLUMNS
) -> tuple[str, tuple[Loss, ...]]:
    """The part that a format of one table writes, and the losses of the other parts.

    Args:
        contents: all contents of the file.
        holds: the parts that the format can write, in order of preference.
        columns: the optional columns of judgments that the format holds.

    Raises:
        UsageError: the format holds none of the available parts.
    """
    parts = [part_name for part_name in holds if part_name in contents.parts]
    if not parts:
        part_list = ", ".join(contents.parts) or "nothing"
        raise UsageError(
            f"the format holds {', '.join(holds)}, and there is {part_list}.", code="format-cannot-hold"
        )
    # the first available part; judgments with only names of queries come last
    is_bare = contents.qrels is not None and contents.qrels.table.is_empty()
    part_name = next((part_name for part_name in parts if not (part_name == "qrels" and is_bare)), parts[0])
    lost = list(contents.losses(part_name, runs=1))
    if part_name == "qrels" and contents.qrels:
        lost += qrels_losses(contents.qrels, columns)
    if part_name == "runs":
        lost += run_losses(contents.runs[0])
    return part_name, tuple(lost)


def qrels_losses(qrels: Qrels, written_columns: Sequence[str] = ()) -> Iterator[Loss]:
    """The losses of judgments other than query, document and grade.

    Args:
        qrels: the judgments.
        written_columns: the other columns that are written.
    """
    yield from Loss.of_scale(qrels.scale)
    yield from Loss.of("queries without judgments", qrels.unjudged)
    kept_columns = {"query_id", "doc_id", "grade", *written_columns}
    lost_columns = [name for name in qrels.table.columns if name not in kept_columns]
    yield from Loss.of("columns of judgments", lost_columns)


def run_losses(run: Run, *, tag: bool = False) -> Iterator[Loss]:
    """The losses of a run other than query, document and score.

    Args:
        run: the run.
        tag: True if the tag is written.
    """
    if run.tag and not tag:
        yield Loss("tag of a run", 1, (run.tag,))
    if run.queries is not None:
        yield from Loss.of(STATES, run.queries["query_id"].to_list())


def part_frames(contents: FileContents, part_name: str) -> Iterator[pl.DataFrame]:
    """The rows of a part, piece by piece; whole grades are integers.

    Raises:
        InputError, DuplicateError: see the run's batches.
        ScatteredError: see the run's batches.
    """
    if part_name == "qrels" and contents.qrels:
        table = contents.qrels.table
        optional = [name for name in COLUMNS if name in table.columns]
        yield table.select("query_id", "doc_id", grade_expression(table), *optional)
    elif part_name == "runs":
        yield from (batch.frame for batch in contents.runs[0].batches())
    elif part_name == "ratings" and contents.ratings:
        table = contents.ratings.table
        filled_columns = [
            name for name in table.columns if name in _REQUIRED_RATING_COLUMNS or not _is_empty(table[name])
        ]
        yield table.select(filled_columns).with_columns(grade_expression(table))
    else:
        table = getattr(contents, part_name)
        yield table


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column)


def schema_of(contents: FileContents, part_name: str) -> pl.Schema:
    """The schema of the frames that `part_frames` yields."""
    return pl.Schema(RUN) if part_name == "runs" else next(part_frames(contents, part_name)).schema


def grade_expression(table: pl.DataFrame) -> pl.Expr:
    """The grades as integers if all are whole, otherwise unchanged."""
    grades = table["grade"].drop_nulls()
    is_whole = (grades == grades.round()) & (grades.abs() < float(1 << 53))
    return pl.col("grade").cast(pl.Int64) if is_whole.all() else pl.col("grade")


_TYPES = {"query_id": pl.String, "latency_ms": pl.Float64, "state": pl.String, "system": pl.String}


def find_run_columns(names: Sequence[str]) -> dict[str, str]:
    """Map our names of the query's column and query data to the file's; may be empty.

    >>> find_run_columns(["qid", "docid", "score", "latency_ms"])
    {'query_id': 'qid', 'latency_ms': 'latency_ms'}
    """
    extra_columns = {name: name for name in ("latency_ms", "state", "system") if name in names}
    return match_columns(names, ("query_id",)) | extra_columns if extra_columns else {}


def read_query_states(frames: Iterable[pl.DataFrame], label: str) -> pl.DataFrame | None:
    """One row per query: ``query_id``, ``state``, ``latency_ms``, ``error``.

    A column ``state`` with words other than ok, zero, failed and not_run has another meaning.

    Raises:
        InputError: a latency is not a number of 0 or more, a query has two latencies, or a column
            ``system`` has several names, which means several runs.
    """
    from rankgate.data.formats.run_companions import STATES

    unique_frames = [frame.unique(maintain_order=True) for frame in frames]
    if not unique_frames:
        return None
    rows = pl.concat(unique_frames)
    rows = rows.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in _TYPES.items() if name not in rows
    )
    systems = rows["system"].unique(maintain_order=True).drop_nulls().head(3)
    if len(systems) > 1:
        names = ", ".join(map(repr, systems))
        problem = (
            f"several runs by the column system ({names}); read the file into a frame, where each system is "
            "a run, or give a file for each."
        )
        raise InputError(problem, source=label, code="several-runs")
    if not rows["state"].drop_nulls().is_in(STATES).all():
        rows = rows.with_columns(pl.lit(None, pl.String).alias("state"))
    invalid_rows = rows.filter(~pl.col("latency_ms").is_finite() | (pl.col("latency_ms") < 0))
    if len(invalid_rows):
        query, latency = invalid_rows["query_id"][0], invalid_rows["latency_ms"][0]
        problem = f"query {query!r}: latency_ms {latency!r} is not a number of milliseconds, 0 or more."
        raise InputError(problem, source=label, code="not-a-number")
    unique_rows = rows.drop_nulls("query_id").unique(maintain_order=True)
    values_by_query = unique_rows.group_by("query_id", maintain_order=True).agg(
        pl.col("latency_ms", "state").drop_nulls().unique(maintain_order=True)
    )
    contradictions = values_by_query.filter(pl.any_horizontal(pl.col("latency_ms", "state").list.len() > 1))
    if len(contradictions):
        query, *values = contradictions.select("query_id", "latency_ms", "state").row(0)
        both_values = next(value for value in values if len(value) > 1)
        problem = (
            f"query {query!r} has {both_values[0]!r} in one row and {both_values[1]!r} in another; keep one."
        )
        raise InputError(problem, source=label, code="contradiction")
    first_values = values_by_query.with_columns(pl.col("latency_ms", "state").list.first())
    if first_values["latency_ms"].is_null().all() and first_values["state"].is_null().all():
        return None
    return first_values.select(
        "query_id", pl.col("state").fill_null("ok"), "latency_ms", pl.lit(None, pl.String).alias("error")
    )
