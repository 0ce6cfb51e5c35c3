"""Scheduled jobs: what is run by the clock."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import (
    find_by_name,
    get_by_number,
    insert,
    list_rows,
    now,
    unknown_error,
    value_of,
)
from rankgate.store.tables.people import projects
from rankgate.store.tables.watching import scheduled_jobs as jobs

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Job:
    """A scheduled job.

    Attributes:
        id: the number.
        project: the number of its project.
        name: unique in the project.
        kind: what it does, such as ``snapshot``, ``evaluation``, ``kpi``.
        schedule: when, in five fields of cron.
        timezone: of the schedule.
        settings: all else.
        enabled: True if it runs.
        created_at, changed_at: moments.
        changed_by: a user.
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
    settings: Mapping[str, Any] | None = None,
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
    statement = insert(connection, jobs).values(
        project=project, name=name, created_at=moment, **values
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=["project", "name"], set_=values)
    )
    return get_job(connection, project, name)


def get_job(connection: Connection, project: int, name: str) -> Job:
    """A job of a project by name.

    Raises:
        UsageError: there is none.
    """
    job = find_by_name(connection, Job, jobs, project, name)
    if job is None:
        raise unknown_error("job", name)
    return job


def job_by_number(connection: Connection, job: int) -> Job:
    """A job of any project by number, for who runs it.

    Raises:
        UsageError: there is none.
    """
    return get_by_number(connection, Job, jobs, job, "job")


def list_jobs(connection: Connection, project: int) -> list[Job]:
    """The jobs of a project, the oldest first."""
    return list_rows(connection, Job, jobs, project)


def list_enabled(connection: Connection) -> list[Job]:
    """The enabled jobs of all projects that are not archived."""
    active_projects = sa.select(projects.c.id).where(projects.c.archived_at.is_(None))
    statement = sa.select(jobs).where(jobs.c.enabled, jobs.c.project.in_(active_projects))
    rows = connection.execute(statement.order_by(jobs.c.id))
    return [value_of(Job, row) for row in rows]
