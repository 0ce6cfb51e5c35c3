"""A job of a model, as a value."""

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
        project: in which project.
        rater: the model.
        name: the name of the job, for people.
        state: ``waiting``, ``running``, ``cancelling``; ``done``, ``cancelled``, ``stopped`` by a
            limit, ``failed``.
        endpoint: the server's name of the endpoint; None for jobs of the command line.
        settings: the settings of requests, the limits, and the answers for review; without keys.
        total: tasks.
        problem: why it was stopped or failed.
        owner: the process that works on it: host and number.
        until: the end of the lease of that process.
        created_at, created_by, started_at, ended_at: when, and by whom.
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
