"""A job of a model, as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Job:
    """A job of a model.

    Attributes:
        id: the number.
        project: the number of the project.
        rater: the number of the model.
        name: the name of the job that people see.
        state: ``waiting``, ``running``, ``cancelling``; ``done``, ``cancelled``, ``stopped`` by a
            limit, ``failed``.
        endpoint: the server's name of the endpoint; None for jobs of the command line.
        settings: the settings of requests, the limits, and the answers for review; without keys.
        total: the number of tasks.
        problem: the reason why the job stopped or failed.
        owner: the process that runs the job: host and process number.
        until: the end of this process's lease.
        created_at, created_by, started_at, ended_at: the times, and the user who created the job.
    """

    id: int
    project: int
    rater: int
    name: str
    state: str
    endpoint: str | None
    settings: Mapping[str, Any]
    total: int
    problem: str
    owner: str
    until: datetime | None
    created_at: datetime
    created_by: int | None
    started_at: datetime | None
    ended_at: datetime | None
