"""The kinds of jobs: a new one is a file in this folder, or an entry point of a package."""

from __future__ import annotations

from rankgate.core.declare import Registry, find_declared
from rankgate.workspace.records.schedule.kind import JobKind

JOBS = Registry(
    JobKind, "kind of job", lambda: find_declared(__name__, JobKind), group="rankgate.jobs"
)
"""Every kind of job, by name."""
