"""Single ratings: immutable facts, each with an id made by its client."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.qrels import RATINGS_SCHEMA, Ratings
from rankgate.data.table_rows import RowLocation
from rankgate.store.material import projects
from rankgate.store.rating.next_task import LEASE
from rankgate.store.rating.task_state import LockedTask, lock_task, require_answered, settle
from rankgate.store.rows import (
    CHUNK_ROWS,
    columns_of,
    find_value,
    insert_of,
    last_number,
    list_values,
    now,
    read_table,
    unknown_error,
    value_of,
)
from rankgate.store.tables.model_tables import judgments
from rankgate.store.tables.rating_tables import (
    answer_counts,
    assignments,
    documents,
    pair_counts,
    queries,
    raters,
    ratings,
    tasks,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject

WITHDRAWN = "withdrawn"
"""The reason of a rating that withdraws the rater's last rating."""

_KEY = ("project", "query", "document", "rater", "final", "training")
_NEW: Mapping[str, object] = {
    column.name: False if isinstance(column.type, sa.Boolean) else None
    for column in ratings.c
    if column.name not in {"id", "corrects"}
} | {"source": ""}
"""The columns of a new rating with their defaults."""

_CONTENT = _NEW.keys() - {"rating_id", "guideline", "at", "recorded_at", "training", "source"}
"""The columns that are equal when a rating is sent again."""


@dataclass(frozen=True)
class Rating:
    """One stored rating.

    Attributes:
        id: the number, in the order in which ratings were recorded.
        rating_id: the id made by the client.
        project, task, query, document, rater: numbers; the task may be None.
        grade: the grade; None if the rater could not tell.
        reason: the reason for a missing grade.
        comment, seconds, guideline: further data of the rating.
        at: the time of the rating; None if unknown.
        recorded_at: the time when the store recorded the rating.
        corrects: the ``rating_id`` of the rater's previous rating, if any.
        final: True for the final decision on a disagreement.
        training: True if the rating belongs to a training and does not count.
        source: the source of an import; empty for a rating given here.
    """

    id: int
    rating_id: str
    project: int
    task: int | None
    query: int
    document: int
    rater: int
    grade: float | None
    reason: str | None
    comment: str | None
    seconds: float | None
    guideline: str | None
    at: datetime | None
    recorded_at: datetime
    corrects: str | None
    final: bool
    training: bool
    source: str


@dataclass(frozen=True)
class RatingResult:
    """The result of recording a rating.

    Attributes:
        rating: the rating as stored.
        new: False if the same rating had been recorded before.
        state: the state of the task afterwards; None without a task.
    """

    rating: Rating
    new: bool
    state: str | None = None


def rate(
    connection: Connection,
    task: int | LockedTask,
    rater: int,
    *,
    rating_id: str,
    grade: float | None,
    reason: str | None = None,
    doubt: bool = False,
    distance: float | None = None,
    **more: Any,
) -> RatingResult:
    """Record a rating of a task. A rater's next rating of the task corrects the one before.

    It is recorded in any case, even if the task was done meanwhile: work is not thrown away.
    The same id with the same content is recorded once.

    Args:
        connection: a connection to a store, for writing; the rating is on disk when the transaction
            has ended.
        task: the task, by number or as a locked row.
        rater: who.
        rating_id: made by the client, and the same in every retry.
        grade: on the project's scale; None is that the rater cannot tell.
        reason: why they cannot tell; needed then.
        doubt: True if people should review it; for models.
        distance: the distance from people's grade that is a disagreement, for models; None for
            never.
        more: other fields of `Rating`; the guideline is by default that of the batch, or the
            current, and the time is now.

    Raises:
        UsageError: the id was used for another rating; a grade that is not on the scale; no
            grade and no reason; no such task.
    """
    locked_task = task if isinstance(task, LockedTask) else lock_task(connection, task)
    if locked_task.document is None:
        raise unknown_error("task", locked_task.id)
    _refuse_wrong(connection, locked_task.project, grade, reason)
    recorded = _add(
        connection,
        rating_id=rating_id,
        project=locked_task.project,
        task=locked_task.id,
        query=locked_task.query,
        document=locked_task.document,
        rater=rater,
        grade=grade,
        reason=reason,
        training=locked_task.kind == "training",
        **more | {"at": more.get("at") or now(), "guideline": more.get("guideline") or locked_task.guideline},
    )
    if recorded.new and not recorded.rating.final:
        is_withdrawn = reason == WITHDRAWN
        of_model = {"new_doubt": doubt, "new_distance": distance}
        _answer(connection, locked_task.id, rater, grade, of_model, withdrawn=is_withdrawn)
    state = settle(connection, locked_task.id) if recorded.new else locked_task.state
    return RatingResult(recorded.rating, recorded.new, state)


def withdraw(connection: Connection, task: int, rater: int, *, rating_id: str) -> RatingResult:
    """Withdraw a rater's rating, and give its task back to the rater.

    Raises:
        UsageError: the rater has not rated the task; the id was used for another rating.
    """
    require_answered(connection, task, rater, ratings.c.rating_id == rating_id)
    return rate(connection, task, rater, rating_id=rating_id, grade=None, reason=WITHDRAWN)


def add(
    connection: Connection,
    project: int,
    query: int,
    document: int,
    rater: int,
    *,
    grade: float | None,
    reason: str | None = None,
    **more: Any,
) -> RatingResult:
    """Record a rating of a pair without a task; ``more`` are other fields of `Rating`.

    Raises:
        UsageError: as in `rate`.
    """
    _refuse_wrong(connection, project, grade, reason)
    pair = {"project": project, "query": query, "document": document, "rater": rater}
    return _add(connection, grade=grade, reason=reason, **pair, **more)


def _refuse_wrong(connection: Connection, project: int, grade: float | None, reason: str | None) -> None:
    if grade is None:
        if not reason:
            raise UsageError("give a grade, or a reason for not grading.", code="missing-grade")
        return
    possible = [row.grade for row in projects.grades(connection, project)]
    if possible and grade not in possible:
        scale_text = ", ".join(f"{possible_grade:g}" for possible_grade in possible)
        raise UsageError(f"grade {grade:g} is not on the scale ({scale_text}).", code="grade-outside-scale")


@cache
def _insert_statement(dialect: str) -> sa.Executable:
    """A statement that inserts a rating as a correction of the rater's last rating, if any."""
    parameters = {name: sa.bindparam(f"new_{name}", type_=ratings.c[name].type) for name in _NEW}
    last_rating_id = (
        sa.select(ratings.c.rating_id)
        .where(*(ratings.c[name] == parameters[name] for name in _KEY))
        .order_by(ratings.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    statement = insert_of(dialect, ratings).values(parameters | {"corrects": last_rating_id})
    return statement.on_conflict_do_nothing(index_elements=["rating_id"]).returning(
        *columns_of(Rating, ratings)
    )


def _add(connection: Connection, **values: Any) -> RatingResult:
    """Insert a rating, or return the identical stored rating."""
    new = {**_NEW, "recorded_at": now(), **values}
    bound_values = {f"new_{name}": value for name, value in new.items()}
    recorded = connection.execute(_insert_statement(connection.dialect.name), bound_values).first()
    if recorded is not None:
        return RatingResult(value_of(Rating, recorded), new=True)
    is_same_id = ratings.c.rating_id == new["rating_id"]
    stored = value_of(Rating, connection.execute(sa.select(ratings).where(is_same_id)).one())
    differences = [name for name in _NEW if name in _CONTENT and getattr(stored, name) != new[name]]
    if differences:
        raise UsageError(
            f"the id {new['rating_id']!r} was used for a rating with another {differences[0]}; a new "
            "rating needs a new id.",
            code="rating-conflict",
        )
    return RatingResult(stored, new=False)


@cache
def _answer_statement(dialect: str) -> sa.Executable:
    names = ("task", "rater", "state", "until", "grade", "at", "doubt", "distance")
    parameters = {name: sa.bindparam(f"new_{name}", type_=assignments.c[name].type) for name in names}
    statement = insert_of(dialect, assignments).values(parameters)
    new = {name: statement.excluded[name] for name in names[2:]}
    return statement.on_conflict_do_update(index_elements=["task", "rater"], set_=new)


def _answer(
    connection: Connection,
    task: int,
    rater: int,
    grade: float | None,
    of_model: JsonObject,
    *,
    withdrawn: bool,
) -> None:
    moment = now()
    values = {
        "new_task": task,
        "new_rater": rater,
        "new_state": "locked" if withdrawn else "answered",
        "new_until": moment + LEASE if withdrawn else None,
        "new_grade": grade,
        "new_at": moment,
        **of_model,
    }
    connection.execute(_answer_statement(connection.dialect.name), values)


def ratings_of_rater(
    connection: Connection, project: int, rater: int, *, before: int | None = None, most: int = 50
) -> list[Rating]:
    """The ratings of a rater in a project, newest first; the page before a number."""
    condition = sa.and_(ratings.c.project == project, ratings.c.rater == rater)
    condition = condition if before is None else sa.and_(condition, ratings.c.id < before)
    statement = sa.select(ratings).where(condition).order_by(ratings.c.id.desc()).limit(most)
    return list_values(connection, Rating, statement)


def find(connection: Connection, rating_id: str) -> Rating | None:
    """A rating by the id that its client made."""
    return find_value(connection, Rating, sa.select(ratings).where(ratings.c.rating_id == rating_id))


FINAL = "final word"
"""The rater of final decisions in `read_ratings`."""

COLUMNS = ("grade", "reason", "at", "seconds", "comment", "guideline")
"""The columns of ratings that `read_ratings` can leave out."""

_SCHEMA = pl.Schema({**RATINGS_SCHEMA, "final": pl.Boolean()})


def read_ratings(
    connection: Connection,
    project: int,
    *,
    batch: int | None = None,
    kind: str | None = None,
    only: Collection[int] | None = None,
    columns: Collection[str] = COLUMNS,
    name: str = "ratings",
) -> Ratings:
    """The ratings of a project as a table, in the order in which they were recorded.

    Corrections are later rows; ratings of trainings are left out. The final decision on a
    disagreement is a rating of the rater ``FINAL``, for the rule ``adjudicated``.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        batch: the number of one batch; all by default.
        kind: people or models only (``person``, ``model``).
        only: the numbers of the raters; all by default.
        columns: the columns to read besides query, document and rater; other columns stay null.
        name: the name of the table.

    Raises:
        InputError: there are no ratings.
    """
    numbers = dict.fromkeys(("rater", "query", "document"), pl.Int64)
    facts = {column: _SCHEMA[column] for column in (*columns, "final")}
    statement = (
        sa.select(*(ratings.c[column] for column in (*numbers, *facts)))
        .where(ratings.c.project == project, ratings.c.training.is_(False))
        .order_by(ratings.c.id)
    )
    if batch is not None:
        statement = statement.join(tasks, tasks.c.id == ratings.c.task).where(tasks.c.batch == batch)
    if only is not None:
        statement = statement.where(ratings.c.rater.in_(only))
    table = with_raters(connection, read_table(connection, statement, {**numbers, **facts}))
    if kind is not None:
        table = table.filter(pl.col("kind") == kind)
    if table.is_empty():
        raise InputError("there are no ratings.", source=name, code="no-judgments")
    rater = pl.when("final").then(pl.lit(FINAL)).otherwise("rater").alias("rater")
    table = _with_ids(connection, table.select("query", "document", rater, *columns))
    return Ratings(table, name, projects.scale(connection, project), RowLocation(name))


def read_order(connection: Connection, project: int, name: str) -> pl.DataFrame:
    """The pairs that people rated, and if one rated it before some judgments were stored.

    The number of a rating is the order of events. An imported rating counts at its own time, and
    without one as made before.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        name: the name of the judgments.

    Returns:
        ``query_id``, ``doc_id`` and ``before``.

    Raises:
        UsageError: no judgments have this name.
    """
    stored = connection.execute(
        sa.select(judgments.c.last_rating, judgments.c.created_at).where(
            judgments.c.project == project, judgments.c.name == name
        )
    ).one_or_none()
    if stored is None:
        raise unknown_error("judgments", name)
    is_undated = sa.and_(ratings.c.task.is_(None), ratings.c.at.is_(None))
    is_before = sa.or_(ratings.c.id <= stored.last_rating, ratings.c.at < stored.created_at, is_undated)
    statement = (
        sa.select(
            queries.c.query_id,
            documents.c.doc_id,
            sa.func.max(sa.case((is_before, 1), else_=0)).label("before"),
        )
        .select_from(
            ratings.join(raters, raters.c.id == ratings.c.rater)
            .join(queries, queries.c.id == ratings.c.query)
            .join(documents, documents.c.id == ratings.c.document)
        )
        .where(ratings.c.project == project, raters.c.kind == "person")
        .group_by(queries.c.query_id, documents.c.doc_id)
        .order_by(queries.c.query_id, documents.c.doc_id)
    )
    schema = {"query_id": pl.String, "doc_id": pl.String, "before": pl.Int64}
    return read_table(connection, statement, schema).with_columns(pl.col("before") == 1)


def _with_ids(connection: Connection, table: pl.DataFrame) -> pl.DataFrame:
    """A table with ``query_id`` and ``doc_id`` instead of the numbers ``query`` and ``document``."""
    other_columns = [name for name in table.columns if name not in {"query", "document"}]
    for number, column in (("query", queries.c.query_id), ("document", documents.c.doc_id)):
        # the ``name`` of each ``number`` of a column; a join in SQL would make one for each rating
        schema = {"number": pl.Int64, "name": pl.String}
        pieces = [pl.DataFrame(schema=schema)]
        for chunk in table[number].unique().to_frame().iter_slices(CHUNK_ROWS):
            statement = sa.select(column.table.c.id, column).where(
                column.table.c.id.in_(chunk.to_series().to_list())
            )
            pieces.append(read_table(connection, statement, schema))
        names = pl.concat(pieces)
        names = names.rename({"number": number, "name": column.name})
        table = table.join(names, on=number, how="left", maintain_order="left").drop(number)
    return table.select("query_id", "doc_id", *other_columns)


def with_raters(connection: Connection, answers: pl.DataFrame) -> pl.DataFrame:
    """Answers with the names and kinds of their raters, instead of the numbers of the raters.

    A join in SQL would make two texts for each answer.

    Args:
        connection: a connection to a store.
        answers: a table whose first column, ``rater``, is the number of the rater.
    """
    schema = {"number": pl.Int64, "rater": pl.String, "kind": pl.String}
    rater_names = read_table(connection, sa.select(raters.c.id, raters.c.name, raters.c.kind), schema)
    named_answers = answers.rename({"rater": "number"}).join(rater_names, on="number", maintain_order="left")
    return named_answers.select("rater", "kind", *answers.columns[1:])


def graded_pairs(connection: Connection, project: int) -> pl.DataFrame:
    """The graded pairs of a project: ``query_id`` and ``doc_id``."""
    numbers = ("query", "document")
    statement = sa.select(*(pair_counts.c[name] for name in numbers)).where(_is_graded_pair(project))
    return _with_ids(connection, read_table(connection, statement, dict.fromkeys(numbers, pl.Int64)))


def _is_graded_pair(project: int) -> sa.ColumnElement[bool]:
    project_queries = sa.select(queries.c.id).where(queries.c.project == project)
    return sa.and_(pair_counts.c.grades > 0, pair_counts.c.query.in_(project_queries))


def ratings_state(connection: Connection, project: int) -> tuple[int, int]:
    """The count and the last number of a project's ratings, which change with every new rating."""
    rating_count = sa.select(sa.func.sum(answer_counts.c.ratings)).where(
        answer_counts.c.project == project, answer_counts.c.kind != "preference"
    )
    last = last_number(ratings, project)
    return int(connection.scalar(rating_count) or 0), int(connection.scalar(last) or 0)


def has_grades(connection: Connection, project: int) -> bool:
    """True if a project has grades outside of trainings."""
    return bool(connection.scalar(sa.select(sa.exists().where(_is_graded_pair(project)))))


def new_rating_id() -> str:
    """A new id for a rating given in rankgate."""
    return str(uuid4())


assert {field.name for field in fields(Rating)} == set(ratings.c.keys())
