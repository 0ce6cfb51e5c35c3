"""The latest answers of a rater, and tasks with all their answers.

A rater's ratings and preferences are in one list. Tasks with all their answers come page by
page; the answers of a rater can be withdrawn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rating import next_task, ratings
from rankgate.store.rating import tasks as tasks_of
from rankgate.store.rating.ratings import WITHDRAWN
from rankgate.store.rating.task_state import lock_tasks
from rankgate.store.rows import last_number
from rankgate.store.tables.rating_tables import (
    assignments,
    batches,
    documents,
    preferences,
    queries,
    raters,
    tasks,
)
from rankgate.store.tables.rating_tables import ratings as ratings_table

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Answer:
    """The part of a rating or a preference that the rating page needs.

    Attributes:
        task: the number.
        grade: the grade of a rating.
        choice: the side that a preference is for, as it was shown.
        reason, comment, seconds: further data of the rating.
    """

    task: int | None
    grade: float | None
    choice: str | None
    reason: str | None
    comment: str | None
    seconds: float | None


def _latest_of_table(
    table: sa.Table,
    grade: sa.ColumnElement[Any],
    choice: sa.ColumnElement[Any],
    *more: sa.ColumnElement[bool],
) -> sa.Select[Any]:
    """The latest answers of a rater in one table."""
    columns = table.c
    answers = (
        sa.select(
            columns.task,
            grade.label("grade"),
            choice.label("choice"),
            columns.reason,
            columns.comment,
            columns.seconds,
            columns.recorded_at,
            columns.id,
        )
        .where(columns.project == sa.bindparam("project"), columns.rater == sa.bindparam("rater"), *more)
        .order_by(columns.id.desc())
        .limit(sa.bindparam("most"))
        .subquery()
    )
    return sa.select(answers)


_ALL_ANSWERS = sa.union_all(
    _latest_of_table(ratings_table, ratings_table.c.grade, sa.null(), ratings_table.c.final.is_(False)),
    _latest_of_table(preferences, sa.cast(sa.null(), sa.Double), preferences.c.choice),
).subquery()
_LATEST = (
    sa.select(
        _ALL_ANSWERS.c.task,
        _ALL_ANSWERS.c.grade,
        _ALL_ANSWERS.c.choice,
        _ALL_ANSWERS.c.reason,
        _ALL_ANSWERS.c.comment,
        _ALL_ANSWERS.c.seconds,
    )
    .order_by(_ALL_ANSWERS.c.recorded_at.desc(), _ALL_ANSWERS.c.id.desc())
    .limit(sa.bindparam("most"))
)


def latest_answers(connection: Connection, project: int, rater: int, limit: int) -> list[Answer]:
    """The answers of a rater in a project, newest first, without final decisions."""
    rows = connection.execute(_LATEST, {"project": project, "rater": rater, "most": limit})
    return [Answer(*row) for row in rows]


@dataclass(frozen=True)
class AnsweredTasks:
    """The tasks of a project or a batch that a rater had answered at some time.

    Attributes:
        answered: the number of answers.
        still_open: the number of these tasks that are open.
        rating, preference: the numbers of the last rating and preference in the store at that time.
    """

    answered: int
    still_open: int
    rating: int
    preference: int


def count_answered(
    connection: Connection, project: int, rater: int, batch: int | None = None
) -> AnsweredTasks:
    """Count the tasks that a rater has answered; the time grows with their number."""
    last_numbers = (
        connection.scalar(last_number(table, project)) or 0 for table in (ratings_table, preferences)
    )
    return AnsweredTasks(*tasks_of.count_answered(connection, project, rater, batch), *last_numbers)


def has_many_answers(connection: Connection, rater: int, limit: int) -> bool:
    """True if a rater has answered very many tasks in any project."""
    answers = sa.select(sa.literal(1)).where(assignments.c.rater == rater, assignments.c.state == "answered")
    first_answers = answers.limit(limit).subquery()
    return connection.scalar(sa.select(sa.func.count()).select_from(first_answers)) == limit


def count_since(
    connection: Connection, project: int, rater: int, earlier_count: AnsweredTasks, batch: int | None = None
) -> tuple[int, int]:
    """Update the counts of a rater's answered tasks, and of those still open.

    Later answers are added to an earlier count. Tasks that other raters have completed since then
    still count as open.
    """
    values = {"project": project, "rater": rater, "batch": batch}
    numbers = {"rating": earlier_count.rating, "preference": earlier_count.preference}
    changes = connection.execute(_ALL_CHANGES if batch is None else _BATCH_CHANGES, values | numbers)
    answered, still_open = zip(*changes, strict=True)
    return (
        earlier_count.answered + sum(int(change or 0) for change in answered),
        earlier_count.still_open + sum(int(change or 0) for change in still_open),
    )


def _changes_in_table(table: sa.Table, name_of_number: str, *, in_batch: bool) -> sa.Select[Any]:
    """Count the tasks newly answered since earlier counts, minus tasks no longer answered."""
    rater: sa.BindParameter[int] = sa.bindparam("rater")
    last_number: sa.BindParameter[int] = sa.bindparam(name_of_number)
    earlier_rows = table.alias()
    later_tasks = (
        sa.select(table.c.task)
        .where(
            table.c.project == sa.bindparam("project"),
            table.c.rater == rater,
            table.c.id > last_number,
            table.c.task.is_not(None),
            *_opinions(table),
        )
        .distinct()
        .subquery()
    )
    was_answered = (
        sa.select(sa.func.coalesce(earlier_rows.c.reason, "") != WITHDRAWN)
        .where(
            earlier_rows.c.task == later_tasks.c.task,
            earlier_rows.c.rater == rater,
            earlier_rows.c.id <= last_number,
            *_opinions(earlier_rows),
        )
        .order_by(earlier_rows.c.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    is_answered = sa.exists().where(
        assignments.c.task == later_tasks.c.task,
        assignments.c.rater == rater,
        assignments.c.state == "answered",
    )
    change = sa.case((is_answered, 1), else_=0) - sa.case((was_answered, 1), else_=0)
    joined = later_tasks.join(tasks, tasks.c.id == later_tasks.c.task).join(
        batches, batches.c.id == tasks.c.batch
    )
    open_change = sa.case((tasks_of.IS_ASKED, change), else_=0)
    statement = sa.select(sa.func.sum(change), sa.func.sum(open_change)).select_from(joined)
    return statement.where(tasks.c.batch == sa.bindparam("batch")) if in_batch else statement


def _opinions(table: sa.FromClause) -> list[sa.ColumnElement[bool]]:
    """The condition for rows that are not final decisions."""
    return [table.c.final.is_(False)] if "final" in table.c else []


_ALL_CHANGES, _BATCH_CHANGES = (
    sa.union_all(
        _changes_in_table(ratings_table, "rating", in_batch=in_batch),
        _changes_in_table(preferences, "preference", in_batch=in_batch),
    )
    for in_batch in (False, True)
)


@dataclass(frozen=True)
class TaskFilter:
    """A filter of tasks by batch, state, query (id or text), and a rater who answered."""

    batch: int | None = None
    state: str | None = None
    query: str | None = None
    rater: int | None = None


@dataclass(frozen=True)
class RaterGrade:
    """The grade that a rater gave a pair; None if the rater could not tell."""

    rater: str
    grade: float | None


@dataclass(frozen=True)
class Pair:
    """A task to grade, with its answers.

    Attributes:
        task: the number.
        batch: the name of the batch.
        query_id, text, doc_id: the ids and text of the pair.
        state: ``open``, ``done``, ``disputed``.
        gold: the known grade, if the task is a hidden question.
        answers: the answers of all raters.
    """

    task: int
    batch: str
    query_id: str
    text: str | None
    doc_id: str
    state: str
    gold: float | None
    answers: Sequence[RaterGrade]


def list_pairs(
    connection: Connection, project: int, task_filter: TaskFilter, *, after: int = 0, most: int = 50
) -> list[Pair]:
    """Tasks after a number, in the order of their numbers, so that new ratings do not move pages.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        task_filter: the condition of the tasks.
        after: the number of the last task seen.
        most: the largest number of tasks.
    """
    statement = (
        sa.select(
            tasks.c.id,
            batches.c.name,
            queries.c.query_id,
            queries.c.text,
            documents.c.doc_id,
            tasks.c.state,
            tasks.c.gold,
        )
        .join(batches, batches.c.id == tasks.c.batch)
        .join(queries, queries.c.id == tasks.c.query)
        .join(documents, documents.c.id == tasks.c.document)
        .where(*_conditions(project, task_filter), tasks.c.id > after, tasks.c.other_document.is_(None))
        .order_by(tasks.c.id)
        .limit(most)
    )
    rows = connection.execute(statement).all()
    answered = (
        sa.select(assignments.c.task, raters.c.name, assignments.c.grade)
        .join(raters, raters.c.id == assignments.c.rater)
        .where(assignments.c.task.in_([row.id for row in rows]), assignments.c.state == "answered")
        .order_by(assignments.c.task, raters.c.name)
    )
    answers: dict[int, list[RaterGrade]] = defaultdict(list)
    for task, rater, grade in connection.execute(answered):
        answers[task].append(RaterGrade(rater, grade))
    return [Pair(*row, answers=answers[row.id]) for row in rows]


def _conditions(project: int, task_filter: TaskFilter) -> list[sa.ColumnElement[bool]]:
    conditions = [tasks.c.project == project]
    if task_filter.batch is not None:
        conditions.append(tasks.c.batch == task_filter.batch)
    if task_filter.state is not None:
        conditions.append(tasks.c.state == task_filter.state)
    if task_filter.query is not None:
        is_query = sa.or_(queries.c.query_id == task_filter.query, queries.c.text == task_filter.query)
        query_numbers = sa.select(queries.c.id).where(queries.c.project == project, is_query)
        conditions.append(tasks.c.query.in_(query_numbers))
    if task_filter.rater is not None:
        is_answered = sa.and_(assignments.c.rater == task_filter.rater, assignments.c.state == "answered")
        conditions.append(tasks.c.id.in_(sa.select(assignments.c.task).where(is_answered)))
    return conditions


def withdraw_answers(
    connection: Connection, project: int, rater: int, task_filter: TaskFilter, *, most: int = 10_000
) -> int:
    """Withdraw a rater's answers, so that the tasks are asked again; return their number.

    The ratings stay in the store; each withdrawal is a later rating.

    Args:
        connection: a connection to a store, for writing.
        project: the project of the tasks.
        rater: the rater of the answers.
        task_filter: the condition of the tasks.
        most: the largest number of answers.
    """
    rater_filter = TaskFilter(task_filter.batch, task_filter.state, task_filter.query, rater)
    statement = sa.select(tasks.c.id).where(
        *_conditions(project, rater_filter), tasks.c.document.is_not(None), tasks.c.other_document.is_(None)
    )
    numbers = list(connection.scalars(statement.order_by(tasks.c.id).limit(most)))
    lock_tasks(connection, numbers)
    for number in numbers:
        ratings.withdraw(connection, number, rater, rating_id=f"reset-{uuid4()}")
        next_task.release(connection, number, rater)
    return len(numbers)
