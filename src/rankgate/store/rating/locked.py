"""A task that is being answered: locked until the transaction ends, with what its answer needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.frozen import dataclass
from rankgate.store.rows import unknown, value_of
from rankgate.store.tables.material import guidelines
from rankgate.store.tables.work import batches, tasks

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
        tasks.c.id, tasks.c.project, tasks.c.query, tasks.c.document, tasks.c.subject,
        tasks.c.state, tasks.c.gold, tasks.c.gold_why, batches.c.kind,
        sa.func.coalesce(batches.c.guideline, _CURRENT).label("guideline"),
    )
    .join(batches, batches.c.id == tasks.c.batch)
    .where(tasks.c.id == sa.bindparam("number"))
    .with_for_update(of=tasks, key_share=True)
)  # fmt: skip


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
    guideline: str | None


def lock(connection: Connection, task: int) -> LockedTask:
    """Lock a task until the transaction ends.

    Raises:
        UsageError: there is none.
    """
    row = connection.execute(_BY_NUMBER, {"number": task}).first()
    if row is None:
        raise unknown("task", task)
    return value_of(LockedTask, row)
