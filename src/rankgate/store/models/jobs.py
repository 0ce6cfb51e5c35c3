"""Jobs of models: which tasks a model rates, how far it is, and which process works on it."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.models import requests
from rankgate.store.models.model_job import Job
from rankgate.store.rows import AHEAD, PIECE, insert, new_id, now, numbered, value_of
from rankgate.store.tables.models import job_tasks, model_answers, model_jobs
from rankgate.store.tables.work import assignments

if TYPE_CHECKING:
    from sqlalchemy import Connection

LEASE = timedelta(seconds=30)
"""How long a job stays with a process that gives no sign of life."""

UNDER_WAY = ("waiting", "running", "cancelling")


@dataclass(frozen=True)
class JobProgress:
    """How far a job is.

    Attributes:
        done: tasks with an answer.
        requests: that were sent.
        input_tokens, output_tokens: of them.
        cost: of them, as far as prices are known.
        failed: requests that got no answer.
    """

    done: int
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float
    failed: int


def add(
    connection: Connection,
    project: int,
    rater: int,
    tasks: Collection[int],
    *,
    name: str = "",
    endpoint: str | None = None,
    settings: Mapping[str, Any] | None = None,
    created_by: int | None = None,
) -> Job:
    """Add a job that waits; arguments as the fields of `Job`.

    Raises:
        UsageError: the model has a job under way in this project.
    """
    mine = sa.and_(model_jobs.c.project == project, model_jobs.c.rater == rater)
    busy = sa.select(model_jobs.c.id).where(mine, model_jobs.c.state.in_(UNDER_WAY))
    if (other := connection.scalar(busy)) is not None:
        raise UsageError(
            f"this model has a job under way ({other}); wait for it, or cancel it.",
            code="job-active",
        )
    number = new_id(
        connection, model_jobs, project=project, rater=rater, name=name, endpoint=endpoint,
        settings=dict(settings or {}), total=len(tasks), created_at=now(), created_by=created_by,
    )  # fmt: skip
    rows = [{"job": number, "task": task} for task in tasks]
    for begin in range(0, len(rows), PIECE):
        connection.execute(sa.insert(job_tasks), rows[begin : begin + PIECE])
    return get(connection, number)


def get(connection: Connection, job: int) -> Job:
    """A job by number.

    Raises:
        UsageError: there is none.
    """
    return numbered(connection, Job, model_jobs, job, "job")


def listed(connection: Connection, project: int, rater: int | None = None) -> list[Job]:
    """The jobs of a project, or of one model in it, the last first."""
    chosen = sa.select(model_jobs).where(model_jobs.c.project == project)
    if rater is not None:
        chosen = chosen.where(model_jobs.c.rater == rater)
    found = connection.execute(chosen.order_by(model_jobs.c.id.desc()).limit(200))
    return [value_of(Job, row) for row in found]


def tasks_of(connection: Connection, job: int) -> list[int]:
    """The numbers of a job's tasks."""
    chosen = sa.select(job_tasks.c.task).where(job_tasks.c.job == job).order_by(job_tasks.c.task)
    return list(connection.scalars(chosen))


def progress(connection: Connection, job: Job) -> JobProgress:
    """How far a job is, with what it cost."""
    done = (
        sa.select(sa.func.count())
        .select_from(job_tasks.join(assignments, assignments.c.task == job_tasks.c.task))
        .where(
            job_tasks.c.job == job.id,
            assignments.c.rater == job.rater,
            assignments.c.state == "answered",
        )
    )
    column = model_answers.c
    sums = sa.select(
        *(sa.func.coalesce(sa.func.sum(each), 0)
          for each in (column.attempts, column.input_tokens, column.output_tokens, column.cost)),
        sa.func.coalesce(sa.func.sum(sa.case((column.answered, 0), else_=1)), 0),
    ).where(column.job == job.id)  # fmt: skip
    spent = connection.execute(sums).one()
    return JobProgress(
        done=connection.scalar(done) or 0, requests=int(spent[0]), input_tokens=int(spent[1]),
        output_tokens=int(spent[2]), cost=float(spent[3]), failed=int(spent[4]),
    )  # fmt: skip


def renew(
    connection: Connection, job: int, settings: Mapping[str, Any], tasks: Collection[int] = ()
) -> None:
    """Give a job other settings, and tasks that came since."""
    made = insert(connection, job_tasks).on_conflict_do_nothing()
    rows = [{"job": job, "task": task} for task in tasks]
    for begin in range(0, len(rows), PIECE):
        connection.execute(made, rows[begin : begin + PIECE])
    total = sa.select(sa.func.count()).where(job_tasks.c.job == job)
    values = {"settings": dict(settings), "total": connection.scalar(total) or 0}
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))


def cancel(connection: Connection, job: int) -> Job:
    """Ask the process that works on a job to end it; what is answered stays."""
    here = model_jobs.c.id == job
    waiting = sa.update(model_jobs).where(here, model_jobs.c.state == "waiting")
    connection.execute(waiting.values(state="cancelled", ended_at=now()))
    running = sa.update(model_jobs).where(here, model_jobs.c.state == "running")
    connection.execute(running.values(state="cancelling"))
    found = get(connection, job)
    if found.state == "cancelling" and is_free(found):  # nobody is there to end it
        end(connection, job, "cancelled")
    return get(connection, job)


def resume(connection: Connection, job: int) -> Job:
    """Let a job that ended wait for a process again.

    Raises:
        UsageError: it is under way, or done; another job of the model is under way.
    """
    found = get(connection, job)
    if found.state in UNDER_WAY and not is_free(found):
        raise UsageError("the job is under way.", code="job-active")
    mine = sa.and_(model_jobs.c.project == found.project, model_jobs.c.rater == found.rater,
                   model_jobs.c.id != job, model_jobs.c.state.in_(UNDER_WAY))  # fmt: skip
    if connection.scalar(sa.select(model_jobs.c.id).where(mine)) is not None:
        raise UsageError("this model has another job under way.", code="job-active")
    again = sa.update(model_jobs).where(model_jobs.c.id == job)
    connection.execute(again.values(state="waiting", problem="", ended_at=None, until=None))
    return get(connection, job)


def claim(connection: Connection, job: int, owner: str) -> bool:
    """Take a job that waits, or whose process is gone; False if another process has it."""
    found = connection.execute(
        sa.select(model_jobs).where(model_jobs.c.id == job).with_for_update()
    ).first()
    if found is None or found.state not in UNDER_WAY or not is_free(value_of(Job, found)):
        return False
    requests.count_unread(connection, value_of(Job, found))
    moment = now()
    values = {"state": "running", "owner": owner, "until": moment + LEASE,
              "started_at": found.started_at or moment}  # fmt: skip
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))
    return True


def keep(connection: Connection, job: int, owner: str) -> bool:
    """Keep a job; False if it is cancelled, or another process has it."""
    mine = sa.and_(model_jobs.c.id == job, model_jobs.c.owner == owner)
    changed = connection.execute(
        sa.update(model_jobs)
        .where(mine, model_jobs.c.state == "running")
        .values(until=now() + LEASE)
    )
    return bool(changed.rowcount)


def end(connection: Connection, job: int, state: str, problem: str = "") -> None:
    """Note that a job ended, and why; requests whose answers are not kept are counted."""
    requests.count_unread(connection, get(connection, job))
    values = {"state": state, "problem": problem, "until": None, "ended_at": now()}
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))


def is_free(job: Job) -> bool:
    """Whether no living process has a job: nobody took it, or it gives no sign of life."""
    if job.until is None or not timedelta(0) <= job.until - now() <= AHEAD:
        return True
    host, _, number = job.owner.rpartition(":")
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid():
        return False
    with suppress(PermissionError):  # it lives, and is somebody else's
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return True
    return False


def this_process() -> str:
    """The owner of jobs that this process works on."""
    return f"{socket.gethostname()}:{os.getpid()}"


def free(connection: Connection) -> Iterator[Job]:
    """Jobs of the server that wait for a process, or whose process is gone, the oldest first."""
    chosen = sa.select(model_jobs).where(
        model_jobs.c.state.in_(UNDER_WAY), model_jobs.c.endpoint.is_not(None)
    )
    for row in connection.execute(chosen.order_by(model_jobs.c.id)).all():
        found = value_of(Job, row)
        if is_free(found):
            yield found
