"""Lock tasks during an answer, and set their state: open, done or disputed.

A task is locked, together with the data for its answer, until the transaction ends. The state of a
task follows from its answers and the strategy of the batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import unknown_error, value_of
from rankgate.store.tables.rating_tables import (
    assignments,
    batches,
    guidelines,
    queries,
    raters,
    ratings,
    tasks,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection


_CURRENT = (
    sa.select(guidelines.c.version)
    .where(guidelines.c.project == tasks.c.project)
    .order_by(guidelines.c.id.desc())
    .limit(1)
    .correlate(tasks)
    .scalar_subquery()
)
_BY_NUMBER: sa.Select[Any] = (
    sa.select(
        tasks.c.id,
        tasks.c.project,
        tasks.c.query,
        tasks.c.document,
        tasks.c.subject,
        tasks.c.state,
        tasks.c.gold,
        tasks.c.gold_why,
        batches.c.kind,
        sa.case(
            (sa.or_(batches.c.archived_at.is_not(None), queries.c.archived_at.is_not(None)), "closed"),
            else_=batches.c.state,
        ).label("batch_state"),
        sa.func.coalesce(batches.c.guideline, _CURRENT).label("guideline"),
    )
    .join(batches, batches.c.id == tasks.c.batch)
    .join(queries, queries.c.id == tasks.c.query)
    .where(tasks.c.id == sa.bindparam("number"))
    .with_for_update(of=tasks, key_share=True)
)


@dataclass(frozen=True)
class LockedTask:
    """A task whose row is locked.

    Attributes:
        id, project, query, document: numbers; a task on lists of runs has no document.
        subject: a description of the rated pair.
        state: the state before the answer.
        gold: the known grade, if there is one.
        gold_why: the reason for the known grade.
        kind: the kind of its batch.
        batch_state: ``open``, ``paused`` or ``closed``; also ``closed`` if the batch or the query
            is archived.
        guideline: the version that raters follow, if any.
    """

    id: int
    project: int
    query: int
    document: int | None
    subject: str
    state: str
    gold: float | None
    gold_why: str
    kind: str
    batch_state: str
    guideline: str | None


def lock_task(connection: Connection, task: int) -> LockedTask:
    """Lock a task until the transaction ends.

    Raises:
        UsageError: the task does not exist.
    """
    row = connection.execute(_BY_NUMBER, {"number": task}).first()
    if row is None:
        raise unknown_error("task", task)
    return value_of(LockedTask, row)


_CHUNK_TASKS = 500


def lock_tasks(connection: Connection, numbers: Iterable[int]) -> None:
    """Lock tasks before their ratings are added, in the order of their numbers.

    A rating locks its task and then its kept counts; a transaction with many ratings must not wait
    for a task while it has locked counts.
    """
    if connection.dialect.name == "sqlite":  # only one transaction writes at a time
        return
    ordered_numbers = sorted(numbers)
    for begin in range(0, len(ordered_numbers), _CHUNK_TASKS):
        chunk = ordered_numbers[begin : begin + _CHUNK_TASKS]
        statement = sa.select(tasks.c.id).where(tasks.c.id.in_(chunk)).order_by(tasks.c.id)
        connection.execute(statement.with_for_update(key_share=True)).all()


def refuse_unassigned(connection: Connection, task: LockedTask, rater: int) -> None:
    """Refuse an answer to a closed batch or query, or by a rater who was not given the task.

    A rater whose lease has ended may still answer, so that offline ratings are kept.

    Raises:
        UsageError: the task was not given to the rater; the batch or the query is closed.
    """
    if task.batch_state == "closed":
        problem = "the batch or the query of this task is closed; nothing more is rated in it."
        raise UsageError(problem, code="batch-closed")
    if not is_assigned(connection, task.id, rater):
        raise UsageError("this task was not given to you; take the next one.", code="task-not-assigned")


def is_assigned(connection: Connection, task: int, rater: int) -> bool:
    """True if a rater was given a task, even if the rater has not answered it since."""
    has_assignment = sa.exists().where(assignments.c.task == task, assignments.c.rater == rater)
    return bool(connection.scalar(sa.select(has_assignment)))


# statements are built once, because building takes longer than running
_NUMBER: sa.BindParameter[int] = sa.bindparam("number")
_LAST_FINAL = (
    sa.select(ratings.c.grade)
    .where(ratings.c.task == tasks.c.id, ratings.c.final)
    .order_by(ratings.c.id.desc())
    .limit(1)
    .correlate(tasks)
    .scalar_subquery()
)
_ANSWERS = (
    sa.select(
        tasks.c.gold,
        batches.c.kind,
        batches.c.strategy,
        batches.c.most,
        batches.c.state,
        _LAST_FINAL.label("final"),
        assignments.c.grade,
        assignments.c.choice,
        assignments.c.doubt,
        assignments.c.distance,
        raters.c.kind.label("of"),
    )
    .join(batches, batches.c.id == tasks.c.batch)
    .outerjoin(assignments, sa.and_(assignments.c.task == tasks.c.id, assignments.c.state == "answered"))
    .outerjoin(raters, raters.c.id == assignments.c.rater)
    .where(tasks.c.id == _NUMBER)
)
_UPDATE = sa.update(tasks).where(tasks.c.id == _NUMBER)


def settle(connection: Connection, task: int) -> str:
    """Recount people's answers to a task; return its new state.

    Models do not count, but where one doubts, or is far from people's grades, the task is
    disputed, so that somebody has the final word.
    """
    number = {"number": task}
    answers = connection.execute(_ANSWERS, number).all()
    row = answers[0]
    people = [answer for answer in answers if answer.of == "person"]
    models = [answer for answer in answers if answer.of == "model"]
    people_answers = [answer.choice if answer.grade is None else answer.grade for answer in people]
    grades = [answer for answer in people_answers if answer not in ("", "none")]
    everybody = row.gold is not None or row.kind == "training"
    if everybody:
        state = "open"
    elif row.final is not None:  # a final decision was recorded, and not withdrawn
        state = "done"
    else:
        state = state_of(grades, len(people_answers), row.strategy, row.most)
        if state == "disputed" and row.kind in {"documents", "lists"}:
            state = "done"  # for preferences, a difference is a valid result
        if models:
            asks_people = bool(row.most) and row.state != "closed"
            state = with_models(state, grades, models, asked=asks_people)
    counts = {"grades": len(grades), "answers": len(people_answers), "state": state}
    connection.execute(_UPDATE, number | counts)
    return state


def with_models(state: str, grades: Sequence[float | str], models: Sequence[Any], *, asked: bool) -> str:
    """The state of a task that models rated, too.

    Args:
        state: the state by people's answers.
        grades: the grades that people gave.
        models: the ratings of models, with ``grade``, ``doubt``, and ``distance``: the smallest
            difference that is a disagreement (None: never).
        asked: True if people rate the task; otherwise a grade without doubt by a model is enough.
    """
    if state == "open":
        doubt = any(model.doubt for model in models)
        return "open" if asked else "disputed" if doubt else "done"
    numbers = [grade for grade in grades if not isinstance(grade, str)]
    if state == "disputed" or not numbers:
        return state
    common_grade = Counter(numbers).most_common(1)[0][0]
    far = any(
        model.grade is not None
        and model.distance is not None
        and abs(model.grade - common_grade) >= model.distance
        for model in models
    )
    return "disputed" if far else state


def require_answered(
    connection: Connection, task: int, rater: int, is_same_answer: sa.ColumnElement[bool]
) -> None:
    """Check that a rater has an answer that can be withdrawn.

    Raises:
        UsageError: the rater has no answer, and no withdrawn answer with the same id.
    """
    is_assignment = sa.and_(assignments.c.task == task, assignments.c.rater == rater)
    state = connection.scalar(sa.select(assignments.c.state).where(is_assignment))
    if state != "answered" and not connection.scalar(sa.select(sa.exists().where(is_same_answer))):
        raise UsageError("there is no rating to take back.", code="nothing-to-undo")


def state_of(grades: Sequence[float | str], answers: int, strategy: str, max_answers: int) -> str:
    """The state of a task by people's answers.

    Args:
        grades: the grades, or the preferred sides.
        answers: the number of answers, including answers without a grade.
        strategy: the strategy of the batch.
        max_answers: the number of answers without a result after which a task is disputed.

    >>> state_of([2], 1, "1", 5), state_of([2, 0], 2, "2", 5), state_of([2, 0, 2], 3, "agree", 5)
    ('done', 'disputed', 'done')
    """
    counts = Counter(grades).most_common()
    if not answers:
        return "open"
    if strategy == "agree":
        if counts and counts[0][1] >= 2:
            return "done"
        return "disputed" if answers >= max_answers else "open"
    needed = int(strategy)
    if len(grades) >= needed:
        majority = counts[0][1] * 2 > len(grades)
        return "done" if majority else "disputed"
    return "disputed" if answers >= max(needed, max_answers) else "open"
