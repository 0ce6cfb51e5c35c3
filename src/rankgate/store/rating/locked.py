"""A task that is being answered: locked until the transaction ends, with what its answer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import unknown_error, value_of
from rankgate.store.tables.material import guidelines, queries
from rankgate.store.tables.work import assignments, batches, tasks

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
            (
                sa.or_(batches.c.archived_at.is_not(None), queries.c.archived_at.is_not(None)),
                "closed",
            ),
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
        id, project, query, document: numbers; lists of runs have no document.
        subject: what is rated, in words.
        state: before the answer.
        gold: the known grade, if there is one.
        gold_why: its reason.
        kind: of its batch.
        batch_state: ``open``, ``paused`` or ``closed``, as where it or the query is archived.
        guideline: the version that its raters follow, if there is one.
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
        UsageError: there is none.
    """
    row = connection.execute(_BY_NUMBER, {"number": task}).first()
    if row is None:
        raise unknown_error("task", task)
    return value_of(LockedTask, row)


def refuse_unassigned(connection: Connection, task: LockedTask, rater: int) -> None:
    """Refuse an answer of a rater who was not given the task, or whose batch or query is closed.

    A rater whose lease has ended may still answer: what was rated without a connection is kept.

    Raises:
        UsageError: the task is not theirs; the batch or the query is closed.
    """
    if task.batch_state == "closed":
        problem = "the batch or the query of this task is closed; nothing more is rated in it."
        raise UsageError(problem, code="batch-closed")
    if not is_assigned(connection, task.id, rater):
        raise UsageError(
            "this task was not given to you; take the next one.", code="task-not-assigned"
        )


def is_assigned(connection: Connection, task: int, rater: int) -> bool:
    """True if a rater was given a task, whether or not they answered it since."""
    has_assignment = sa.exists().where(assignments.c.task == task, assignments.c.rater == rater)
    return bool(connection.scalar(sa.select(has_assignment)))
