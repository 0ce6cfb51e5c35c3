"""Scheduled jobs and their runs.

Each run is due once, executed by one process, retried after failures, and logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import (
    find_by_name,
    get_by_number,
    has_ended,
    insert,
    list_rows,
    list_values,
    now,
    unknown_error,
    update_row,
    value_of,
)
from rankgate.store.tables.people_tables import projects
from rankgate.store.tables.record_tables import scheduled_jobs
from rankgate.store.tables.record_tables import scheduled_jobs as jobs
from rankgate.store.tables.record_tables import scheduled_runs as runs

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class Job:
    """A scheduled job.

    Attributes:
        id: the number.
        project: the number of its project.
        name: unique in the project.
        kind: the kind of work, such as ``snapshot``, ``evaluation``, ``kpi``.
        schedule: the five fields of a cron schedule.
        timezone: the time zone of the schedule.
        settings: all other settings.
        enabled: True if the job runs on its schedule.
        created_at, changed_at: the times of creation and of the last change.
        changed_by: the user who changed the job last.
    """

    id: int
    project: int
    name: str
    kind: str
    schedule: str
    timezone: str
    settings: Mapping[str, Any]
    enabled: bool
    created_at: datetime
    changed_at: datetime
    changed_by: int | None


def save_job(
    connection: Connection,
    project: int,
    name: str,
    *,
    kind: str,
    schedule: str,
    timezone: str = "UTC",
    settings: JsonObject | None = None,
    enabled: bool = True,
    user: int | None = None,
) -> Job:
    """Add a job, or replace the job of the same name."""
    moment = now()
    values = {
        "kind": kind,
        "schedule": schedule,
        "timezone": timezone,
        "enabled": enabled,
        "settings": dict(settings or {}),
        "changed_at": moment,
        "changed_by": user,
    }
    statement = insert(connection, jobs).values(project=project, name=name, created_at=moment, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["project", "name"], set_=values))
    return get_job(connection, project, name)


def get_job(connection: Connection, project: int, name: str) -> Job:
    """A job of a project by name.

    Raises:
        UsageError: the job or run does not exist.
    """
    job = find_by_name(connection, Job, jobs, project, name)
    if job is None:
        raise unknown_error("job", name)
    return job


def job_by_number(connection: Connection, job: int) -> Job:
    """A job of any project by number, for the process that runs it.

    Raises:
        UsageError: the job or run does not exist.
    """
    return get_by_number(connection, Job, jobs, job, "job")


def list_jobs(connection: Connection, project: int) -> list[Job]:
    """The jobs of a project, the oldest first."""
    return list_rows(connection, Job, jobs, project)


def list_enabled(connection: Connection) -> list[Job]:
    """The enabled jobs of all projects that are not archived."""
    active_projects = sa.select(projects.c.id).where(projects.c.archived_at.is_(None))
    statement = sa.select(jobs).where(jobs.c.enabled, jobs.c.project.in_(active_projects))
    return list_values(connection, Job, statement.order_by(jobs.c.id))


_UNDER_WAY = ("waiting", "running")


@dataclass(frozen=True)
class JobRun:
    """A run of a job.

    Attributes:
        id: the number.
        job: the number of its job.
        due_at: the time when the run was due; a job has one run for each such time.
        state: ``waiting``, ``running``, ``done``, ``failed``, ``missed``.
        tries: the number of attempts.
        next_try_at: the earliest time of the next attempt; None means now.
        started_at, finished_at: the start and end of the last attempt.
        owner: the process that executes the run.
        until: the end of the process's lease.
        log: the log of the last attempt.
        error: the error of the last attempt.
        record: the number of the record created by the run.
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

    @property
    def under_way(self) -> bool:
        """True if the run is waiting or running."""
        return self.state in _UNDER_WAY


def plan_run(connection: Connection, job: int, due_at: datetime, *, state: str = "waiting") -> JobRun:
    """Add the run of a job for a time at which it is due, once for each time.

    Args:
        connection: a connection to a store, for writing.
        job: the number of the job.
        due_at: the time when the run is due.
        state: ``waiting``, or ``missed`` if the run will not be executed later.
    """
    statement = insert(connection, runs).values(job=job, due_at=due_at, state=state)
    connection.execute(statement.on_conflict_do_nothing(index_elements=["job", "due_at"]))
    is_run = sa.and_(runs.c.job == job, runs.c.due_at == due_at)
    return value_of(JobRun, connection.execute(sa.select(runs).where(is_run)).one())


def has_waiting_run(connection: Connection, moment: datetime) -> bool:
    """True if a waiting run may begin at a given time."""
    is_ready = sa.or_(runs.c.next_try_at.is_(None), has_ended(runs.c.next_try_at, moment))
    statement = sa.select(runs.c.id).where(runs.c.state == "waiting", is_ready).limit(1)
    return connection.scalar(statement) is not None


def cancel_run(connection: Connection, run: int, error: str) -> bool:
    """End a waiting or running run; its process stops. False if the run had already ended.

    Args:
        connection: a connection to a store, for writing.
        run: the number of the run.
        error: the reason.
    """
    is_open = sa.and_(runs.c.id == run, runs.c.state.in_(_UNDER_WAY))
    values = {
        "state": "failed",
        "owner": "",
        "until": None,
        "next_try_at": None,
        "finished_at": now(),
        "error": error,
    }
    return bool(connection.execute(sa.update(runs).where(is_open).values(**values)).rowcount)


def take_run(
    connection: Connection, owner: str, *, lease: timedelta, moment: datetime | None = None
) -> JobRun | None:
    """Begin the next run that waits or whose process died; None if there is no such run."""
    begin_time = moment or now()
    is_waiting = sa.and_(
        runs.c.state == "waiting",
        sa.or_(runs.c.next_try_at.is_(None), has_ended(runs.c.next_try_at, begin_time)),
    )
    is_abandoned = sa.and_(runs.c.state == "running", has_ended(runs.c.until, begin_time))
    order = (runs.c.due_at, runs.c.id)
    statement = sa.select(runs.c.id).where(sa.or_(is_waiting, is_abandoned)).order_by(*order).limit(1)
    number = connection.scalar(statement.with_for_update(skip_locked=True))
    if number is None:
        return None
    values = {
        "state": "running",
        "owner": owner,
        "until": begin_time + lease,
        "started_at": begin_time,
        "finished_at": None,
        "tries": runs.c.tries + 1,
        "next_try_at": None,
        "log": "",
        "error": "",
    }
    update_row(connection, runs, number, **values)
    return get_job_run(connection, number)


def begin_run(connection: Connection, run: int, owner: str, *, lease: timedelta) -> JobRun:
    """Begin a run by number, as a command does; its number of attempts grows by 1."""
    begin_time = now()
    values = {
        "state": "running",
        "owner": owner,
        "until": begin_time + lease,
        "started_at": begin_time,
        "finished_at": None,
        "tries": runs.c.tries + 1,
        "log": "",
        "error": "",
    }
    update_row(connection, runs, run, **values)
    return get_job_run(connection, run)


def renew_lease(connection: Connection, run: int, owner: str, *, lease: timedelta, log: str) -> bool:
    """Renew the lease of a run and save its log so far; False if another process has the run."""
    is_owned = sa.and_(runs.c.id == run, runs.c.owner == owner, runs.c.state == "running")
    values = {"until": now() + lease, "log": log}
    return bool(connection.execute(sa.update(runs).where(is_owned).values(**values)).rowcount)


def mark_done(connection: Connection, run: int, owner: str, *, log: str, record: int | None = None) -> None:
    """Record that a run has succeeded."""
    values = {"state": "done", "finished_at": now(), "until": None, "log": log, "record": record}
    _end(connection, run, owner, values)


def mark_failed(
    connection: Connection, run: int, owner: str, *, log: str, error: str, next_try_at: datetime | None
) -> None:
    """Record a failed attempt and the time of the next one, if any."""
    state = "failed" if next_try_at is None else "waiting"
    values = {
        "state": state,
        "finished_at": now(),
        "until": None,
        "log": log,
        "error": error,
        "next_try_at": next_try_at,
    }
    _end(connection, run, owner, values)


def _end(connection: Connection, run: int, owner: str, values: dict[str, object]) -> None:
    is_owned = sa.and_(runs.c.id == run, runs.c.owner == owner)
    connection.execute(sa.update(runs).where(is_owned).values(**values))


def get_job_run(connection: Connection, run: int) -> JobRun:
    """A run by number.

    Raises:
        UsageError: the job or run does not exist.
    """
    return get_by_number(connection, JobRun, runs, run, "run of a job")


def last_run(connection: Connection, job: int, *, until: datetime | None = None) -> JobRun | None:
    """The run of a job that was due last, optionally up to a given time; None without runs."""
    statement = sa.select(runs).where(runs.c.job == job).order_by(runs.c.due_at.desc()).limit(1)
    rows = connection.execute(statement if until is None else statement.where(runs.c.due_at <= until))
    return next((value_of(JobRun, run) for run in rows), None)


def list_runs(connection: Connection, job: int, *, most: int = 100) -> list[JobRun]:
    """The latest runs of a job, newest first."""
    statement = sa.select(runs).where(runs.c.job == job).order_by(runs.c.due_at.desc()).limit(most)
    return list_values(connection, JobRun, statement)


def runs_of_project(connection: Connection, project: int, *, most: int = 100) -> list[JobRun]:
    """The latest runs of all jobs of a project, newest first."""
    statement = (
        sa.select(runs)
        .join(scheduled_jobs, scheduled_jobs.c.id == runs.c.job)
        .where(scheduled_jobs.c.project == project)
        .order_by(runs.c.due_at.desc(), runs.c.id.desc())
        .limit(most)
    )
    return list_values(connection, JobRun, statement)
