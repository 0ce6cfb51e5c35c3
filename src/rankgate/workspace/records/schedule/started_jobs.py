"""Jobs that users start by a button: one run at a time, for all users.

Such a job is stored like other jobs, without a schedule. The job is disabled, so that only the
button starts it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.store.material import projects
from rankgate.store.records import scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.job_settings import make_job

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.records.scheduled_jobs import Job, JobRun


_PREFIX = "step-"
"""The prefix of the names of these jobs."""

_NO_SCHEDULE = "0 0 1 1 *"
_STEP_LINE = re.compile(r"^step (\d+) of (\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class StartedRun:
    """A run started by a button, or the run that already existed.

    Attributes:
        run: the run.
        new: False if the run already existed.
    """

    run: JobRun
    new: bool


def is_started_by_hand(job: Job) -> bool:
    """True if only a button can start a job."""
    return job.name.startswith(_PREFIX)


def find_step_job(connection: Connection, project: int, step: str) -> Job | None:
    """The job of a step; None if the step was never started."""
    jobs = scheduled_jobs.list_jobs(connection, project)
    return next((job for job in jobs if job.name == f"{_PREFIX}{step}"), None)


def start_step(
    connection: Connection,
    project: int,
    step: str,
    kind: str,
    values: Mapping[str, Any],
    *,
    last_run_seen: int | None,
    user: int | None = None,
) -> StartedRun:
    """Start a step, unless it is running or was started since the sender last saw it.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        step: the name of the step.
        kind: the kind of its job.
        values: the values of the kind's parameters; None values are left out.
        last_run_seen: the number of the last run that the sender saw; None if there was no run.
        user: the user who starts the step.

    Raises:
        InputError: a value does not fit.
    """
    new_job = make_job(
        {
            "name": f"{_PREFIX}{step}",
            "kind": kind,
            "schedule": _NO_SCHEDULE,
            "enabled": False,
            "retries": 0,
            **values,
        }
    )
    projects.lock(connection, project)
    job = find_step_job(connection, project, step)
    last = None if job is None else scheduled_jobs.last_run(connection, job.id)
    if last is not None and (last.under_way or last.id != last_run_seen):
        return StartedRun(last, new=False)
    job = scheduled_jobs.save_job(
        connection,
        project,
        new_job.name,
        kind=new_job.kind,
        schedule=new_job.schedule,
        settings=dict(new_job.settings),
        enabled=False,
        user=user,
    )
    return StartedRun(scheduled_jobs.plan_run(connection, job.id, now()), new=True)


def read_progress(log: str) -> tuple[int, int] | None:
    r"""The last step in a log, and the number of steps; None if there are none.

    >>> read_progress("$ rankgate snapshot shop queries\nstep 3 of 40\nstep 17 of 40\n")
    (17, 40)
    """
    steps = _STEP_LINE.findall(log)
    return (int(steps[-1][0]), int(steps[-1][1])) if steps else None
