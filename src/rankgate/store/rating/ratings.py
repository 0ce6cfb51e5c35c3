"""Single ratings: facts that are only added, each with an id that its client made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place
from rankgate.data.ratings import Ratings
from rankgate.store.material import projects
from rankgate.store.rating.locked import LockedTask, lock
from rankgate.store.rating.next_task import LEASE
from rankgate.store.rating.settling import settle
from rankgate.store.rows import columns_of, insert_of, now, unknown, value_of
from rankgate.store.tables.facts import raters, ratings
from rankgate.store.tables.material import documents, queries
from rankgate.store.tables.work import assignments, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

WITHDRAWN = "withdrawn"
"""The reason of a rating that takes the rater's last one back."""

_KEY = ("project", "query", "document", "rater", "final", "training")
_GIVEN = (
    "rating_id", *_KEY, "task", "grade", "reason", "comment", "seconds", "guideline", "at",
    "recorded_at", "source",
)  # fmt: skip
_CONTENT = ("project", "task", "query", "document", "rater", "grade", "reason", "comment",
            "seconds", "final")  # fmt: skip


@dataclass(frozen=True)
class Rating:
    """One rating as the store has it.

    Attributes:
        id: the number, in the order in which ratings were recorded.
        rating_id: the id that its client made.
        project, task, query, document, rater: numbers; a rating may be of no task.
        grade: None where the rater could not tell.
        reason: why not.
        comment, seconds, guideline: what else is known.
        at: when it was given; None where nobody knows.
        recorded_at: when the store got it.
        corrects: the ``rating_id`` of the rater's rating before, if there is one.
        final: whether it is the final word on a disagreement.
        training: whether it was given in a training, and does not count.
        source: where it was imported from; empty if it was given here.
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
class Recorded:
    """What came of a rating.

    Attributes:
        rating: as it is in the store.
        new: False where the same rating had been recorded before.
        state: of the task afterwards; None without a task.
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
    comment: str | None = None,
    seconds: float | None = None,
    guideline: str | None = None,
    at: datetime | None = None,
    final: bool = False,
    doubt: bool = False,
    distance: float | None = None,
) -> Recorded:
    """Record a rating of a task. A rater's next rating of the task corrects the one before.

    It is recorded in any case, even if the task was done meanwhile: work is not thrown away.
    The same id with the same content is recorded once.

    Args:
        connection: of a store, to write; it is on disk when the transaction has ended.
        task: which task; by number, or locked already.
        rater: who.
        rating_id: made by the client, and the same in every retry.
        grade: on the project's scale; None is that the rater cannot tell.
        reason: why they cannot tell; needed then.
        comment: what else they say.
        seconds: how long it took.
        guideline: the version that they followed; by default that of the batch, or the current.
        at: when, by the client's clock; by default now.
        final: the final word on a disagreement.
        doubt: of a model, whether people should look at it.
        distance: of a model, how far from people's grade is a disagreement; None is never.

    Raises:
        UsageError: the id was used for another rating; a grade that is not on the scale; no
            grade and no reason; no such task.
    """
    found = task if isinstance(task, LockedTask) else lock(connection, task)
    if found.document is None:
        raise unknown("task", found.id)
    _refuse_wrong(connection, found.project, grade, reason)
    values = {
        "rating_id": rating_id, "project": found.project, "task": found.id, "query": found.query,
        "document": found.document, "rater": rater, "grade": grade, "reason": reason,
        "comment": comment, "seconds": seconds, "at": at or now(), "final": final,
        "training": found.kind == "training", "guideline": guideline or found.guideline,
    }  # fmt: skip
    recorded = _add(connection, values)
    if recorded.new and not final:
        withdrawn = reason == WITHDRAWN
        of_model = {"new_doubt": doubt, "new_distance": distance}
        _answer(connection, found.id, rater, grade, of_model, withdrawn=withdrawn)
    state = settle(connection, found.id) if recorded.new else found.state
    return Recorded(recorded.rating, recorded.new, state)


def withdraw(connection: Connection, task: int, rater: int, *, rating_id: str) -> Recorded:
    """Take a rater's rating of a task back; the task is theirs again.

    Raises:
        UsageError: they have not rated it; the id was used for another rating.
    """
    mine = sa.and_(assignments.c.task == task, assignments.c.rater == rater)
    answered = connection.scalar(sa.select(assignments.c.state).where(mine)) == "answered"
    known = connection.scalar(sa.select(ratings.c.id).where(ratings.c.rating_id == rating_id))
    if not answered and known is None:
        raise UsageError("there is no rating to take back.", code="nothing-to-undo")
    return rate(connection, task, rater, rating_id=rating_id, grade=None, reason=WITHDRAWN)


def add(
    connection: Connection,
    project: int,
    query: int,
    document: int,
    rater: int,
    *,
    rating_id: str,
    grade: float | None,
    reason: str | None = None,
    **more: Any,
) -> Recorded:
    """Record a rating of a pair that is no task; ``more`` are other fields of `Rating`.

    Raises:
        UsageError: as `rate`.
    """
    _refuse_wrong(connection, project, grade, reason)
    values = {
        "rating_id": rating_id, "project": project, "task": None, "query": query,
        "document": document, "rater": rater, "grade": grade, "reason": reason, "comment": None,
        "seconds": None, "guideline": None, "at": None, "final": False, "training": False, **more,
    }  # fmt: skip
    return _add(connection, values)


def _refuse_wrong(
    connection: Connection, project: int, grade: float | None, reason: str | None
) -> None:
    if grade is None:
        if not reason:
            raise UsageError("give a grade, or a reason why there is none.", code="missing-grade")
        return
    possible = [each.grade for each in projects.grades(connection, project)]
    if possible and grade not in possible:
        on = ", ".join(f"{each:g}" for each in possible)
        raise UsageError(f"grade {grade:g} is not on the scale ({on}).", code="grade-outside-scale")


@cache
def _insertion(dialect: str) -> sa.Executable:
    """Insert a rating that corrects the rater's last one, if there is one."""
    given = {name: sa.bindparam(f"new_{name}", type_=ratings.c[name].type) for name in _GIVEN}
    before = (
        sa.select(ratings.c.rating_id)
        .where(*(ratings.c[name] == given[name] for name in _KEY))
        .order_by(ratings.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    made = insert_of(dialect, ratings).values(given | {"corrects": before})
    return made.on_conflict_do_nothing(index_elements=["rating_id"]).returning(
        *columns_of(Rating, ratings)
    )


def _add(connection: Connection, values: dict[str, Any]) -> Recorded:
    """Insert a rating, or find the same."""
    new = {"recorded_at": now(), "source": "", **values}
    filled = {f"new_{name}": new[name] for name in _GIVEN}
    recorded = connection.execute(_insertion(connection.dialect.name), filled).first()
    if recorded is not None:
        return Recorded(value_of(Rating, recorded), new=True)
    same = ratings.c.rating_id == values["rating_id"]
    found = value_of(Rating, connection.execute(sa.select(ratings).where(same)).one())
    other = [name for name in _CONTENT if getattr(found, name) != values[name]]
    if other:
        raise UsageError(
            f"the id {values['rating_id']!r} was used for a rating with another {other[0]}; a new "
            "rating needs a new id.",
            code="rating-conflict",
        )
    return Recorded(found, new=False)


@cache
def _answering(dialect: str) -> sa.Executable:
    names = ("task", "rater", "state", "until", "grade", "at", "doubt", "distance")
    given = {name: sa.bindparam(f"new_{name}", type_=assignments.c[name].type) for name in names}
    made = insert_of(dialect, assignments).values(given)
    new = {name: made.excluded[name] for name in names[2:]}
    return made.on_conflict_do_update(index_elements=["task", "rater"], set_=new)


def _answer(
    connection: Connection,
    task: int,
    rater: int,
    grade: float | None,
    of_model: Mapping[str, Any],
    *,
    withdrawn: bool,
) -> None:
    moment = now()
    values = {
        "new_task": task, "new_rater": rater, "new_state": "locked" if withdrawn else "answered",
        "new_until": moment + LEASE if withdrawn else None, "new_grade": grade, "new_at": moment,
        **of_model,
    }  # fmt: skip
    connection.execute(_answering(connection.dialect.name), values)


def of_rater(
    connection: Connection, project: int, rater: int, *, before: int | None = None, most: int = 50
) -> list[Rating]:
    """What a rater said in a project, the last first; the page before a number."""
    here = sa.and_(ratings.c.project == project, ratings.c.rater == rater)
    here = here if before is None else sa.and_(here, ratings.c.id < before)
    chosen = sa.select(ratings).where(here).order_by(ratings.c.id.desc()).limit(most)
    return [value_of(Rating, row) for row in connection.execute(chosen)]


def find(connection: Connection, rating_id: str) -> Rating | None:
    """A rating by the id that its client made."""
    row = connection.execute(sa.select(ratings).where(ratings.c.rating_id == rating_id)).first()
    return None if row is None else value_of(Rating, row)


def table(
    connection: Connection,
    project: int,
    *,
    batch: int | None = None,
    kind: str | None = None,
    only: Collection[int] | None = None,
    name: str = "ratings",
) -> Ratings:
    """The ratings of a project as a table, in the order in which they were recorded.

    Corrections are later rows, as everywhere in rankgate; ratings of trainings are left out. The
    final word on a disagreement is a rating of the rater ``FINAL``, for the rule adjudicated.

    Args:
        connection: of a store.
        project: whose.
        batch: of one batch only.
        kind: of people or models only (``person``, ``model``).
        only: of raters with these numbers only.
        name: of the table.

    Raises:
        InputError: there are none.
    """
    columns = ("grade", "reason", "at", "seconds", "comment", "guideline", "final")
    chosen = (
        sa.select(
            queries.c.query_id, documents.c.doc_id, raters.c.name.label("rater"),
            *(ratings.c[column] for column in columns),
        )
        .join(queries, queries.c.id == ratings.c.query)
        .join(documents, documents.c.id == ratings.c.document)
        .join(raters, raters.c.id == ratings.c.rater)
        .where(ratings.c.project == project, ratings.c.training.is_(False))
        .order_by(ratings.c.id)
    )  # fmt: skip
    if batch is not None:
        chosen = chosen.join(tasks, tasks.c.id == ratings.c.task).where(tasks.c.batch == batch)
    if kind is not None:
        chosen = chosen.where(raters.c.kind == kind)
    if only is not None:
        chosen = chosen.where(raters.c.id.in_(only))
    rows = [tuple(row) for row in connection.execute(chosen)]
    if not rows:
        raise InputError("there are no ratings.", source=name, code="no-judgments")
    schema = ("query_id", "doc_id", "rater", *columns)
    found = pl.DataFrame(rows, schema=dict(zip(schema, _TYPES, strict=True)), orient="row")
    found = found.with_columns(
        pl.when("final").then(pl.lit(FINAL)).otherwise("rater").alias("rater")
    )
    scale = projects.scale(connection, project)
    return Ratings(found.drop("final"), name, scale, Place(name))


FINAL = "final word"
"""The rater of final words in `table`."""

_TYPES = (pl.String, pl.String, pl.String, pl.Float64, pl.String, pl.Datetime("us", "UTC"),
          pl.Float64, pl.String, pl.String, pl.Boolean)  # fmt: skip


def graded_pairs(connection: Connection, project: int) -> list[tuple[str, str]]:
    """The pairs of a project that have a grade: query and document."""
    graded = (
        sa.select(ratings.c.query, ratings.c.document)
        .where(ratings.c.project == project, ratings.c.grade.is_not(None),
               ratings.c.training.is_(False))
        .distinct()
        .subquery()
    )  # fmt: skip
    chosen = (
        sa.select(queries.c.query_id, documents.c.doc_id)
        .join(graded, graded.c.query == queries.c.id)
        .join(documents, documents.c.id == graded.c.document)
    )
    return [(query, doc) for query, doc in connection.execute(chosen)]


def has_grades(connection: Connection, project: int) -> bool:
    """True if a project has grades that count: others than those of trainings."""
    here = sa.exists().where(ratings.c.project == project, ratings.c.training.is_(False),
                             ratings.c.grade.is_not(None))  # fmt: skip
    return bool(connection.scalar(sa.select(here)))


def facts(connection: Connection, project: int, *, after: int = 0) -> Iterator[Rating]:
    """Every rating of a project after a number, as it is in the store."""
    chosen = sa.select(ratings).where(ratings.c.project == project, ratings.c.id > after)
    for row in connection.execute(chosen.order_by(ratings.c.id)):
        yield value_of(Rating, row)


def new_rating_id() -> str:
    """An id for a rating that is given here."""
    return str(uuid4())


assert {each.name for each in fields(Rating)} == set(ratings.c.keys())
