"""Runs of scheduled jobs: due once, taken by one process, tried again, logged."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import insert, now, numbered, over, value_of
from rankgate.store.tables.watching import scheduled_jobs
from rankgate.store.tables.watching import scheduled_runs as runs

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class JobRun:
    """A run of a job.

    Attributes:
        id: the number.
        job: the number of its job.
        due_at: when it was due; a job has one run for each such moment.
        state: ``waiting``, ``running``, ``done``, ``failed``, ``missed``.
        tries: how often it was begun.
        next_try_at: not before; None is now.
        started_at, finished_at: of the last try.
        owner: the process that runs it.
        until: how long the process keeps it without a sign of life.
        log: lines of the last try.
        error: of the last try.
        record: the number of the record that it made.
    """

    id: int
    job: int
    due_at: datetime
    state: str
    tries: int
    next_try_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    owner: str
    until: datetime | None
    log: str
    error: str
    record: int | None


def plan(connection: Connection, job: int, due_at: datetime, *, state: str = "waiting") -> JobRun:
    """Add the run of a job that is due at a moment; there is one for each moment.

    Args:
        connection: of a store, to write.
        job: the number.
        due_at: when.
        state: ``waiting``, or ``missed`` where it is not made up for.
    """
    made = insert(connection, runs).values(job=job, due_at=due_at, state=state)
    connection.execute(made.on_conflict_do_nothing(index_elements=["job", "due_at"]))
    here = sa.and_(runs.c.job == job, runs.c.due_at == due_at)
    return value_of(JobRun, connection.execute(sa.select(runs).where(here)).one())


def take(
    connection: Connection, owner: str, *, lease: timedelta, moment: datetime | None = None
) -> JobRun | None:
    """Begin the next run that waits, or whose process gave no sign of life; None without any."""
    at = moment or now()
    waits = sa.and_(
        runs.c.state == "waiting",
        sa.or_(runs.c.next_try_at.is_(None), over(runs.c.next_try_at, at)),
    )
    left = sa.and_(runs.c.state == "running", over(runs.c.until, at))
    order = (runs.c.due_at, runs.c.id)
    chosen = sa.select(runs.c.id).where(sa.or_(waits, left)).order_by(*order).limit(1)
    number = connection.scalar(chosen.with_for_update(skip_locked=True))
    if number is None:
        return None
    values = {
        "state": "running", "owner": owner, "until": at + lease, "started_at": at,
        "finished_at": None, "tries": runs.c.tries + 1, "next_try_at": None, "log": "",
        "error": "",
    }  # fmt: skip
    connection.execute(sa.update(runs).where(runs.c.id == number).values(**values))
    return get(connection, number)


def begin(connection: Connection, run: int, owner: str, *, lease: timedelta) -> JobRun:
    """Begin a run by number, as a command does; its number of tries grows."""
    at = now()
    values = {"state": "running", "owner": owner, "until": at + lease, "started_at": at,
              "finished_at": None, "tries": runs.c.tries + 1, "log": "", "error": ""}  # fmt: skip
    connection.execute(sa.update(runs).where(runs.c.id == run).values(**values))
    return get(connection, run)


def alive(connection: Connection, run: int, owner: str, *, lease: timedelta, log: str) -> bool:
    """Give a sign of life with the log so far; False if the run is another process's now."""
    here = sa.and_(runs.c.id == run, runs.c.owner == owner, runs.c.state == "running")
    values = {"until": now() + lease, "log": log}
    return bool(connection.execute(sa.update(runs).where(here).values(**values)).rowcount)


def done(
    connection: Connection, run: int, owner: str, *, log: str, record: int | None = None
) -> None:
    """Note that a run has ended well."""
    values = {"state": "done", "finished_at": now(), "until": None, "log": log, "record": record}
    _end(connection, run, owner, values)


def failed(
    connection: Connection,
    run: int,
    owner: str,
    *,
    log: str,
    error: str,
    next_try_at: datetime | None,
) -> None:
    """Note that a try failed; it is tried again at a moment, or never."""
    state = "failed" if next_try_at is None else "waiting"
    values = {"state": state, "finished_at": now(), "until": None, "log": log, "error": error,
              "next_try_at": next_try_at}  # fmt: skip
    _end(connection, run, owner, values)


def _end(connection: Connection, run: int, owner: str, values: dict[str, object]) -> None:
    here = sa.and_(runs.c.id == run, runs.c.owner == owner)
    connection.execute(sa.update(runs).where(here).values(**values))


def get(connection: Connection, run: int) -> JobRun:
    """A run by number.

    Raises:
        UsageError: there is none.
    """
    return numbered(connection, JobRun, runs, run, "run of a job")


def last(connection: Connection, job: int, *, until: datetime | None = None) -> JobRun | None:
    """The run of a job that was due last, by a moment if one is named; None without any."""
    chosen = sa.select(runs).where(runs.c.job == job).order_by(runs.c.due_at.desc()).limit(1)
    row = connection.execute(chosen if until is None else chosen.where(runs.c.due_at <= until))
    return next((value_of(JobRun, run) for run in row), None)


def listed(connection: Connection, job: int, *, most: int = 100) -> list[JobRun]:
    """The latest runs of a job, the last first."""
    chosen = sa.select(runs).where(runs.c.job == job).order_by(runs.c.due_at.desc()).limit(most)
    return [value_of(JobRun, row) for row in connection.execute(chosen)]


def of_project(connection: Connection, project: int, *, most: int = 100) -> list[JobRun]:
    """The latest runs of all jobs of a project, the last first."""
    chosen = (
        sa.select(runs)
        .join(scheduled_jobs, scheduled_jobs.c.id == runs.c.job)
        .where(scheduled_jobs.c.project == project)
        .order_by(runs.c.due_at.desc(), runs.c.id.desc())
        .limit(most)
    )
    return [value_of(JobRun, row) for row in connection.execute(chosen)]
