"""Set and list jobs from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.declare.toml import TomlFile
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.material import projects
from rankgate.store.records import job_runs, jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.clock import next_due
from rankgate.workspace.records.schedule.jobs import JOBS_CODE, read_jobs, set_jobs

if TYPE_CHECKING:
    from rankgate.store.store import Store


def set_jobs_from_file(store: Store, project: str, file: Path) -> tuple[str, ...]:
    """Replace the jobs of a project by those of a file; return their names.

    Raises:
        UsageError: no such project.
        InputError: the file cannot be read; with the line.
    """
    TomlFile.read(file, code=JOBS_CODE)  # an error names the file
    new_jobs = read_jobs(file.read_text(encoding="utf-8-sig"), str(file))
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        set_jobs(connection, project_id, new_jobs)
    return tuple(job.name for job in new_jobs)


def list_jobs(store: Store, project: str) -> StoreListing:
    """The jobs of a project with their last run and the next one.

    Raises:
        UsageError: no such project.
    """
    rows = []
    with store.read() as connection:
        for job in jobs.list_jobs(connection, projects.get_by_name(connection, project).id):
            last_run = job_runs.last_run(connection, job.id)
            due_at = next_due(job.schedule, job.timezone, now()) if job.enabled else None
            rows.append(
                {
                    "job": job.name,
                    "kind": job.kind,
                    "schedule": job.schedule,
                    "last": "" if last_run is None else f"{last_run.due_at:%Y-%m-%d %H:%M}",
                    "state": "" if last_run is None else last_run.state,
                    "next": "disabled" if due_at is None else f"{due_at:%Y-%m-%d %H:%M}",
                }
            )
    return StoreListing(store.name, "jobs", tuple(rows))


def list_runs(store: Store, project: str, job: str | None = None) -> StoreListing:
    """The latest runs of a project's jobs, or of one job.

    Raises:
        UsageError: no such project or job.
    """
    with store.read() as connection:
        project_id = projects.get_by_name(connection, project).id
        names = {job.id: job.name for job in jobs.list_jobs(connection, project_id)}
        if job is None:
            project_runs = job_runs.runs_of_project(connection, project_id)
        else:
            project_runs = job_runs.list_runs(
                connection, jobs.get_job(connection, project_id, job).id
            )
    rows = tuple(
        {
            "run": run.id,
            "job": names[run.job],
            "due": f"{run.due_at:%Y-%m-%d %H:%M}",
            "state": run.state,
            "tries": run.tries,
            "record": run.record or "",
            "error": run.error,
        }
        for run in project_runs
    )
    return StoreListing(store.name, "runs", rows)
