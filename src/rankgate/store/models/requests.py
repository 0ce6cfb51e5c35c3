"""Requests to models from before they are sent until their answer is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.models import answers
from rankgate.store.rows import now
from rankgate.store.tables.models import open_requests

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.models.model_job import Job

UNREAD = "no answer: the program ended before it was read"


def add_request(
    connection: Connection,
    job: int,
    task: int,
    request: str,
    tokens: tuple[int, int],
    cost: float | None,
) -> None:
    """Record a request before it is sent, with the most that it can take."""
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
    """Delete the requests of a task, as its outcome is kept or they took nothing."""
    is_task_request = sa.and_(open_requests.c.job == job, open_requests.c.task == task)
    connection.execute(sa.delete(open_requests).where(is_task_request))


def count_unread(connection: Connection, job: Job) -> None:
    """Record the requests whose process ended as answers that nobody read: they may have cost."""
    is_job_request = open_requests.c.job == job.id
    rows = connection.execute(
        sa.select(open_requests).where(is_job_request).order_by(open_requests.c.id)
    )
    for row in rows.all():
        answers.record_answer(
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
