"""The next task of a rater, chosen in one query and locked for the rater."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.store.rating import batches
from rankgate.store.rows import insert, now
from rankgate.store.tables.columns import Moment
from rankgate.store.tables.rating_tables import assignments, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection, TextClause


LEASE = timedelta(minutes=10)
"""The time for which a task is kept for the rater who has it on the screen."""

RESERVATION = timedelta(days=30)
"""The time for which an assigned task is reserved for its rater; later, any rater may get it."""

RATERS_PER_START = 16
"""Raters who begin a batch at the same position; more raters would only find locked tasks."""

_TRIES = 50

_WANTED = """CASE b.strategy WHEN '1' THEN 1 WHEN '2' THEN 2 WHEN '3' THEN 3
    ELSE CASE WHEN x.grades < 2 THEN 2 ELSE x.grades + 1 END END"""

_ROOM = f"""(x.gold IS NOT NULL OR b.kind = 'training' OR x.grades + (
    SELECT COUNT(*) FROM assignments other WHERE other.task = x.id AND other.rater <> :rater
        AND other.state = 'locked' AND other.until > :now) < {_WANTED})"""

_SHOWN = """NOT EXISTS (SELECT 1 FROM queries q
    WHERE q.id = x.query AND q.archived_at IS NOT NULL)"""

_FREE = f"""b.reserved = 0 AND x.batch = b.id AND x.state = 'open' AND {_ROOM} AND {_SHOWN}
    AND NOT EXISTS (SELECT 1 FROM assignments mine WHERE mine.task = x.id AND mine.rater = :rater
        AND mine.state IN ('answered', 'later'))"""

# Order of choice: the task on the rater's screen; tasks from the rater's position in the order of
# the batch; tasks from its beginning; postponed tasks. Sixteen raters begin a batch at its start,
# the next sixteen at 62 % of it, and so on by the golden ratio (40503 of 65536; a position has 62
# bits). Inner limits keep both databases from reading more batches than needed.
_NEXT = f"""
SELECT task FROM (
    SELECT COALESCE(
        (SELECT x.id FROM assignments mine JOIN tasks x ON mine.task = x.id
            WHERE mine.rater = :rater AND mine.state = 'locked' AND mine.until > :now
                AND x.batch = b.id AND x.state = 'open' AND {_SHOWN}
            ORDER BY mine.at LIMIT 1),
        (SELECT x.id FROM tasks x WHERE {_FREE} AND x.priority = b.top
            AND x.place >= b.here ORDER BY x.place LIMIT 1 [lock]),
        (SELECT x.id FROM tasks x WHERE {_FREE} AND x.priority = b.top
            AND x.place < b.here ORDER BY x.place LIMIT 1 [lock]),
        (SELECT x.id FROM tasks x WHERE {_FREE} AND x.priority < b.top
            ORDER BY x.priority DESC, x.place LIMIT 1 [lock]),
        (SELECT x.id FROM assignments mine JOIN tasks x ON mine.task = x.id
            WHERE mine.rater = :rater AND mine.state = 'later' AND {_ROOM}
                AND x.batch = b.id AND x.state = 'open' AND {_SHOWN}
            ORDER BY mine.at LIMIT 1 [lock])
    ) AS task
    FROM (
        SELECT every.*, [reserved] AS reserved,
            COALESCE(c.place, CASE every.strategy WHEN '1' THEN :start ELSE (
                SELECT COUNT(*) / {RATERS_PER_START} * 40503 % 65536 * 70368744177664
                FROM cursors begun WHERE begun.batch = every.id) END) AS here, (
            SELECT MAX(open.priority) FROM tasks open
            WHERE open.batch = every.id AND open.state = 'open') AS top
        FROM batches every LEFT JOIN cursors c ON c.batch = every.id AND c.rater = :rater
        WHERE every.project = :project AND every.state = 'open'
            AND every.archived_at IS NULL [only] [barred]
        ORDER BY CASE every.kind WHEN 'training' THEN 0 ELSE 1 END, every.priority DESC,
            every.deadline IS NULL, every.deadline, every.id
        LIMIT 10000
    ) b LIMIT 10000 OFFSET 0
) found WHERE task IS NOT NULL LIMIT 1
"""

_CLAIM = f"""
INSERT INTO assignments (task, rater, state, until, choice, at)
SELECT x.id, :rater, 'locked', :until, '', :now
FROM tasks x JOIN batches b ON b.id = x.batch
WHERE x.id = :task AND x.state = 'open' AND {_ROOM} AND {_SHOWN}
ON CONFLICT (task, rater) DO UPDATE SET state = 'locked', until = CASE
    WHEN assignments.state = 'locked' AND assignments.until > :until THEN assignments.until
    ELSE :until END, at = CASE
    WHEN assignments.state = 'locked' THEN assignments.at ELSE :now END
WHERE assignments.state <> 'answered'
RETURNING task
"""


_LOCKED = sa.select(tasks.c.id).where(tasks.c.id == sa.bindparam("number")).with_for_update()

_MOVE = """
INSERT INTO cursors (batch, rater, place) SELECT x.batch, :rater, x.place FROM tasks x
WHERE x.id = :task
ON CONFLICT (batch, rater) DO UPDATE SET place = excluded.place
"""


@cache
def _statement(sql: str, *moments: str) -> TextClause:
    """Build and cache a statement, because compiling its names takes longer than running it."""
    lists = (name for name in ("barred", "reserved") if f":{name}" in sql)
    return sa.text(sql).bindparams(
        *(sa.bindparam(name, type_=Moment) for name in moments),
        *(sa.bindparam(name, expanding=True) for name in lists),
    )


def take(
    connection: Connection,
    project: int,
    rater: int,
    *,
    batch: int | None = None,
    barred: Collection[int] = (),
    reserved: Collection[int] = (),
    lease: timedelta = LEASE,
    moment: datetime | None = None,
) -> int | None:
    """The next task of a rater, kept for them until the lease ends; None when all are done.

    The task on the rater's screen is returned again. All raters use one seeded order. If one grade
    per pair is enough, raters begin at different positions, so that they rarely meet; otherwise
    sixteen raters begin at the same position, so that pairs are completed early.

    Args:
        connection: a connection to a store, for writing.
        project: the project of the tasks.
        rater: the number of the rater.
        batch: the number of one batch; all by default.
        barred: the numbers of batches from which no task is given.
        reserved: the numbers of batches from which the rater gets only reserved tasks.
        lease: the duration of the lock of the task.
        moment: the time, for tests.

    Returns:
        The number of the task.
    """
    values: dict[str, Any] = {"project": project, "rater": rater, "now": moment or now()}
    values["start"] = batches.start_position(rater)
    if batch is not None:
        values["batch"] = batch
    sql = _NEXT.replace("[only]", "" if batch is None else "AND every.id = :batch")
    sql = sql.replace("[barred]", "AND every.id NOT IN :barred" if barred else "")
    sql = sql.replace("[reserved]", "CASE WHEN every.id IN :reserved THEN 1 ELSE 0 END" if reserved else "0")
    lists = {name: sorted(numbers) for name, numbers in (("barred", barred), ("reserved", reserved))}
    values |= {name: numbers for name, numbers in lists.items() if numbers}
    without_locks = sql.replace("[lock]", "")
    postgres = connection.dialect.name == "postgresql"
    unlocked = sql.replace("[lock]", "FOR UPDATE OF x SKIP LOCKED") if postgres else without_locks
    for _ in range(_TRIES):  # another rater may take the task between the two statements
        task = connection.scalar(_statement(unlocked, "now"), values)
        if task is None and postgres:  # locked tasks may need more answers
            task = connection.scalar(_statement(without_locks, "now"), values)
            if task is not None:
                connection.execute(_LOCKED, {"number": task})
        if task is None:
            return None
        begin = moment or now()  # its row is locked, or the rater already has the lease
        if _claim_task(connection, task, rater, begin, begin + lease):
            connection.execute(_statement(_MOVE), {"task": task, "rater": rater})
            return int(task)
    return None


def claim(
    connection: Connection, task: int, rater: int, *, lease: timedelta = LEASE, moment: datetime | None = None
) -> bool:
    """Keep a task for a rater, or extend its lease; False if it is done or taken by others."""
    begin = moment or now()
    if connection.dialect.name == "postgresql":  # after a wait, earlier locks are visible
        connection.execute(_LOCKED, {"number": task})
    return _claim_task(connection, task, rater, begin, begin + lease)


def _claim_task(connection: Connection, task: int, rater: int, begin: datetime, until: datetime) -> bool:
    values = {"task": task, "rater": rater, "now": begin, "until": until}
    row = connection.execute(_statement(_CLAIM, "now", "until"), values).first()
    return row is not None


def assign(connection: Connection, batch: int, rater: int, *, moment: datetime | None = None) -> int:
    """Reserve the open tasks of a batch for one rater, in place of earlier reservations.

    Other raters with one of the tasks on their screen may still answer it.

    Returns:
        The number of newly assigned tasks.
    """
    begin = moment or now()
    is_reserved = sa.and_(assignments.c.state == "locked", assignments.c.until > begin + RESERVATION / 2)
    open_tasks = sa.select(tasks.c.id).where(tasks.c.batch == batch, tasks.c.state == "open")
    of_others = sa.and_(assignments.c.task.in_(open_tasks), assignments.c.rater != rater)
    connection.execute(
        sa.update(assignments).where(of_others, assignments.c.state == "locked").values(until=begin)
    )
    settled = sa.select(assignments.c.task).where(
        assignments.c.rater == rater, sa.or_(is_reserved, assignments.c.state == "answered")
    )
    new_tasks = connection.scalars(open_tasks.where(tasks.c.id.not_in(settled))).all()
    if new_tasks:
        reservation = {"state": "locked", "until": begin + RESERVATION}
        rows = [{"task": task, "rater": rater, "at": begin, **reservation} for task in new_tasks]
        connection.execute(
            insert(connection, assignments).on_conflict_do_update(
                index_elements=["task", "rater"], set_=reservation
            ),
            rows,
        )
    return len(new_tasks)


def give(connection: Connection, task: int, rater: int) -> None:
    """Give a task to a rater who chose it, even if other raters have it or have answered it."""
    moment = now()
    row = {"task": task, "rater": rater, "state": "locked", "until": moment + LEASE, "at": moment}
    connection.execute(insert(connection, assignments).on_conflict_do_nothing(), row)


def release(connection: Connection, task: int, rater: int) -> None:
    """Release a task that a rater does not want to answer now."""
    is_assignment = sa.and_(assignments.c.task == task, assignments.c.rater == rater)
    connection.execute(sa.delete(assignments).where(is_assignment, assignments.c.state == "locked"))


def postpone(connection: Connection, task: int, rater: int) -> None:
    """Postpone a task until the rater has finished all other tasks."""
    statement = insert(connection, assignments).values(
        task=task, rater=rater, state="later", until=None, at=now()
    )
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["task", "rater"],
            set_={"state": "later", "until": None, "at": statement.excluded.at},
            where=assignments.c.state != "answered",
        )
    )
