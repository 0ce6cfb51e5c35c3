"""Set and list jobs from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.declare.toml import Toml
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.material import projects
from rankgate.store.records import job_runs, jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.clock import next_due
from rankgate.workspace.records.schedule.jobs import CODE, read_jobs, set_jobs

if TYPE_CHECKING:
    from rankgate.store.store import Store


def set_jobs_of(store: Store, project: str, file: Path) -> tuple[str, ...]:
    """Replace the jobs of a project by those of a file; their names.

    Raises:
        UsageError: no such project.
        InputError: the file cannot be read; with the line.
    """
    Toml.read(file, code=CODE)  # an error names the file
    found = read_jobs(file.read_text(encoding="utf-8-sig"), str(file))
    with store.write() as connection:
        number = projects.named(connection, project).id
        projects.refuse_archived(connection, number)
        set_jobs(connection, number, found)
    return tuple(each.name for each in found)


def list_jobs(store: Store, project: str) -> StoreListing:
    """The jobs of a project with their last run and the next one.

    Raises:
        UsageError: no such project.
    """
    rows = []
    with store.read() as connection:
        for each in jobs.listed(connection, projects.named(connection, project).id):
            last = job_runs.last(connection, each.id)
            due = next_due(each.schedule, each.timezone, now()) if each.enabled else None
            rows.append(
                {"job": each.name, "kind": each.kind, "schedule": each.schedule,
                 "last": "" if last is None else f"{last.due_at:%Y-%m-%d %H:%M}",
                 "state": "" if last is None else last.state,
                 "next": "disabled" if due is None else f"{due:%Y-%m-%d %H:%M}"}
            )  # fmt: skip
    return StoreListing(store.name, "jobs", tuple(rows))


def list_runs(store: Store, project: str, job: str | None = None) -> StoreListing:
    """The latest runs of a project's jobs, or of one job.

    Raises:
        UsageError: no such project or job.
    """
    with store.read() as connection:
        number = projects.named(connection, project).id
        names = {each.id: each.name for each in jobs.listed(connection, number)}
        if job is None:
            found = job_runs.of_project(connection, number)
        else:
            found = job_runs.listed(connection, jobs.get(connection, number, job).id)
    rows = tuple(
        {"run": each.id, "job": names[each.job], "due": f"{each.due_at:%Y-%m-%d %H:%M}",
         "state": each.state, "tries": each.tries, "record": each.record or "",
         "error": each.error}
        for each in found
    )  # fmt: skip
    return StoreListing(store.name, "runs", rows)
