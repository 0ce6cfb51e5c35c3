"""Jobs of models, and requests without a saved answer.

A request to a model is recorded before it is sent, and deleted when its answer is saved. A job
records the tasks that a model rates, its progress, and the process that runs it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Collection, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.models import model_answers_by_request
from rankgate.store.models.model_job import Job
from rankgate.store.rows import (
    MAX_AHEAD,
    chunks_of,
    get_by_number,
    insert,
    list_values,
    new_id,
    now,
    value_of,
)
from rankgate.store.tables.model_tables import job_tasks, model_answers, model_jobs, open_requests
from rankgate.store.tables.rating_tables import assignments

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


UNREAD = "no answer: the program ended before it was read"


def add_request(
    connection: Connection, job: int, task: int, request: str, tokens: tuple[int, int], cost: float | None
) -> None:
    """Record a request before it is sent, with its largest possible usage."""
    values = {
        "job": job,
        "task": task,
        "request": request,
        "input_tokens": tokens[0],
        "output_tokens": tokens[1],
        "cost": cost,
        "at": now(),
    }
    connection.execute(sa.insert(open_requests).values(values))


def delete_requests(connection: Connection, job: int, task: int) -> None:
    """Delete a task's requests, because their outcome is saved or they cost nothing."""
    is_task_request = sa.and_(open_requests.c.job == job, open_requests.c.task == task)
    connection.execute(sa.delete(open_requests).where(is_task_request))


def count_unread(connection: Connection, job: Job) -> None:
    """Record the unread requests of a dead process as answers, because they may have cost money."""
    is_job_request = open_requests.c.job == job.id
    rows = connection.execute(sa.select(open_requests).where(is_job_request).order_by(open_requests.c.id))
    for row in rows.all():
        model_answers_by_request.record_answer(
            connection,
            job,
            row.task,
            row.request,
            answered=False,
            grade=None,
            reason=UNREAD,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            cost=row.cost,
            attempts=1,
        )
    connection.execute(sa.delete(open_requests).where(is_job_request))


LEASE = timedelta(seconds=30)
"""The time for which a job stays with a process that does not renew its lease."""

UNDER_WAY = ("waiting", "running", "cancelling")


@dataclass(frozen=True)
class JobProgress:
    """The progress of a job.

    Attributes:
        done: tasks with an answer.
        requests: the number of requests sent.
        input_tokens, output_tokens: the number of tokens of these requests.
        cost: the cost of the requests with known prices.
        failed: the number of requests without an answer.
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
    settings: JsonObject | None = None,
    created_by: int | None = None,
) -> Job:
    """Add a waiting job; the arguments are the fields of `Job`.

    Raises:
        UsageError: the model has a job under way in this project.
    """
    is_model_job = sa.and_(model_jobs.c.project == project, model_jobs.c.rater == rater)
    active_statement = sa.select(model_jobs.c.id).where(is_model_job, model_jobs.c.state.in_(UNDER_WAY))
    if (active_job := connection.scalar(active_statement)) is not None:
        raise UsageError(
            f"this model has a job under way ({active_job}); wait for it, or cancel it.", code="job-active"
        )
    number = new_id(
        connection,
        model_jobs,
        project=project,
        rater=rater,
        name=name,
        endpoint=endpoint,
        settings=dict(settings or {}),
        total=len(tasks),
        created_at=now(),
        created_by=created_by,
    )
    rows = [{"job": number, "task": task} for task in tasks]
    for chunk in chunks_of(rows):
        connection.execute(sa.insert(job_tasks), chunk)
    return get(connection, number)


def get(connection: Connection, job: int) -> Job:
    """A job by number.

    Raises:
        UsageError: the job does not exist.
    """
    return get_by_number(connection, Job, model_jobs, job, "job")


def list_jobs(connection: Connection, project: int, rater: int | None = None) -> list[Job]:
    """The jobs of a project, or of one model in a project, newest first."""
    statement = sa.select(model_jobs).where(model_jobs.c.project == project)
    if rater is not None:
        statement = statement.where(model_jobs.c.rater == rater)
    return list_values(connection, Job, statement.order_by(model_jobs.c.id.desc()).limit(200))


def tasks_of(connection: Connection, job: int) -> list[int]:
    """The numbers of a job's tasks."""
    statement = sa.select(job_tasks.c.task).where(job_tasks.c.job == job).order_by(job_tasks.c.task)
    return list(connection.scalars(statement))


def progress(connection: Connection, job: Job) -> JobProgress:
    """The progress of a job, with its cost."""
    answered_tasks = (
        sa.select(sa.func.count())
        .select_from(job_tasks.join(assignments, assignments.c.task == job_tasks.c.task))
        .where(job_tasks.c.job == job.id, assignments.c.rater == job.rater, assignments.c.state == "answered")
    )
    column = model_answers.c
    sums = sa.select(
        *(
            sa.func.coalesce(sa.func.sum(amount), 0)
            for amount in (column.attempts, column.input_tokens, column.output_tokens, column.cost)
        ),
        sa.func.coalesce(sa.func.sum(sa.case((column.answered, 0), else_=1)), 0),
    ).where(column.job == job.id)
    usage = connection.execute(sums).one()
    return JobProgress(
        done=connection.scalar(answered_tasks) or 0,
        requests=int(usage[0]),
        input_tokens=int(usage[1]),
        output_tokens=int(usage[2]),
        cost=float(usage[3]),
        failed=int(usage[4]),
    )


def update_job(connection: Connection, job: int, settings: JsonObject, tasks: Collection[int] = ()) -> None:
    """Change the settings of a job, and add new tasks."""
    statement = insert(connection, job_tasks).on_conflict_do_nothing()
    rows = [{"job": job, "task": task} for task in tasks]
    for chunk in chunks_of(rows):
        connection.execute(statement, chunk)
    total = sa.select(sa.func.count()).where(job_tasks.c.job == job)
    values = {"settings": dict(settings), "total": connection.scalar(total) or 0}
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))


def cancel(connection: Connection, job: int) -> Job:
    """Cancel a job, so that its process ends; saved answers stay."""
    is_job = model_jobs.c.id == job
    cancel_waiting = sa.update(model_jobs).where(is_job, model_jobs.c.state == "waiting")
    connection.execute(cancel_waiting.values(state="cancelled", ended_at=now()))
    cancel_running = sa.update(model_jobs).where(is_job, model_jobs.c.state == "running")
    connection.execute(cancel_running.values(state="cancelling"))
    job_row = get(connection, job)
    if job_row.state == "cancelling" and is_free(job_row):  # no process will end the job
        end(connection, job, "cancelled")
    return get(connection, job)


def resume(connection: Connection, job: int) -> Job:
    """Set an ended job to waiting again.

    Raises:
        UsageError: the job is active or done; another job of the model is active.
    """
    job_row = get(connection, job)
    if job_row.state in UNDER_WAY and not is_free(job_row):
        raise UsageError("the job is under way.", code="job-active")
    is_other_job = sa.and_(
        model_jobs.c.project == job_row.project,
        model_jobs.c.rater == job_row.rater,
        model_jobs.c.id != job,
        model_jobs.c.state.in_(UNDER_WAY),
    )
    if connection.scalar(sa.select(model_jobs.c.id).where(is_other_job)) is not None:
        raise UsageError("this model has another job under way.", code="job-active")
    update = sa.update(model_jobs).where(model_jobs.c.id == job)
    connection.execute(update.values(state="waiting", problem="", ended_at=None, until=None))
    return get(connection, job)


def claim(connection: Connection, job: int, owner: str) -> bool:
    """Claim a job that waits or whose process died; False if another process has the job."""
    row = connection.execute(sa.select(model_jobs).where(model_jobs.c.id == job).with_for_update()).first()
    if row is None or row.state not in UNDER_WAY or not is_free(value_of(Job, row)):
        return False
    count_unread(connection, value_of(Job, row))
    moment = now()
    values = {
        "state": "running",
        "owner": owner,
        "until": moment + LEASE,
        "started_at": row.started_at or moment,
    }
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))
    return True


def renew_lease(connection: Connection, job: int, owner: str) -> bool:
    """Renew the lease of a job; False if the job is cancelled or another process has it."""
    is_owned = sa.and_(model_jobs.c.id == job, model_jobs.c.owner == owner)
    update_result = connection.execute(
        sa.update(model_jobs).where(is_owned, model_jobs.c.state == "running").values(until=now() + LEASE)
    )
    return bool(update_result.rowcount)


def end(connection: Connection, job: int, state: str, problem: str = "") -> None:
    """Record the end of a job and its reason; requests without a saved answer are counted."""
    count_unread(connection, get(connection, job))
    values = {"state": state, "problem": problem, "until": None, "ended_at": now()}
    connection.execute(sa.update(model_jobs).where(model_jobs.c.id == job).values(values))


def is_free(job: Job) -> bool:
    """True if no live process runs a job: it was never claimed, or its lease has ended."""
    if job.until is None or not timedelta(0) <= job.until - now() <= MAX_AHEAD:
        return True
    host, _, number = job.owner.rpartition(":")
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid():
        return False
    with suppress(PermissionError):  # another process has a valid lease
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return True
    return False


def this_process() -> str:
    """The name of this process as the owner of jobs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def waiting_jobs(connection: Connection) -> Iterator[Job]:
    """Jobs of the server that wait or whose process died, the oldest first."""
    statement = sa.select(model_jobs).where(
        model_jobs.c.state.in_(UNDER_WAY), model_jobs.c.endpoint.is_not(None)
    )
    for row in connection.execute(statement.order_by(model_jobs.c.id)).all():
        job = value_of(Job, row)
        if is_free(job):
            yield job
