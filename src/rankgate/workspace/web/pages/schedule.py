"""Scheduled jobs of a project: their times, the results of the last runs, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.store.people.audit import Actor
from rankgate.store.records import job_runs, jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.clock import next_due
from rankgate.workspace.records.schedule.jobs import read_jobs, set_jobs
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found

if TYPE_CHECKING:
    from rankgate.store.records.job_runs import JobRun
    from rankgate.store.records.jobs import Job
    from rankgate.workspace.web.asked import WebRequest

_MAX_RUNS = 50


def schedule_page(request: WebRequest) -> PageReply:
    """Every job with its next run, and the latest runs."""
    can_manage = _can_manage(request)
    with request.store.read() as connection:
        project_jobs = jobs.list_jobs(connection, request.project.id)
        latest = job_runs.runs_of_project(connection, request.project.id, most=_MAX_RUNS)
        names = {job.id: job.name for job in project_jobs}
        last = {job.id: job_runs.last_run(connection, job.id) for job in project_jobs}
    rows = [_job_view(job, last[job.id], may=can_manage) for job in project_jobs]
    runs = [_run_view(job_run, names[job_run.job], may=can_manage) for job_run in latest]
    return PageReply("schedule.html", {"jobs": rows, "runs": runs}, {"may": can_manage})


def run_page(request: WebRequest) -> PageReply:
    """One run, with its log for managers."""
    with request.store.read() as connection:
        names = {job.id: job.name for job in jobs.list_jobs(connection, request.project.id)}
        job_run = job_runs.get_job_run(connection, request.path["run"])
    if job_run.job not in names:
        raise not_found("run")
    can_manage = _can_manage(request)
    data = _run_view(job_run, names[job_run.job], may=can_manage) | (
        {"log": job_run.log} if can_manage else {}
    )
    return PageReply("schedule_run.html", data, {"may": can_manage})


def add_jobs(request: WebRequest) -> ActionReply:
    """Add jobs, or replace those of the same names."""
    text = request.values["jobs"].replace("\r\n", "\n")
    new_jobs = read_jobs(text, "jobs")
    with request.store.write() as connection:
        actor = Actor(request.user.name, request.user.id)
        set_jobs(connection, request.project.id, new_jobs, actor, others=False)
    return ActionReply(request.at("schedule"), {"jobs": [job.name for job in new_jobs]})


def change_job(request: WebRequest) -> ActionReply:
    """Disable a job, or enable it again."""
    with request.store.write() as connection:
        job = jobs.get_job(connection, request.project.id, request.path["job"])
        enabled = bool(request.values["enabled"])
        jobs.save_job(
            connection,
            request.project.id,
            job.name,
            kind=job.kind,
            schedule=job.schedule,
            timezone=job.timezone,
            settings=job.settings,
            enabled=enabled,
            user=request.user.id,
        )
        request.record(connection, "job.change", job.name, enabled=enabled)
    return ActionReply(request.at("schedule"), {"job": job.name, "enabled": enabled})


def start_job(request: WebRequest) -> ActionReply:
    """Run a job as soon as the scheduler looks."""
    with request.store.write() as connection:
        job = jobs.get_job(connection, request.project.id, request.path["job"])
        planned_run = job_runs.plan_run(connection, job.id, now())
        request.record(connection, "job.start", job.name)
    return ActionReply(request.at("schedule"), {"run": planned_run.id})


def _can_manage(request: WebRequest) -> bool:
    return request.role in {"admin", "manager"}


def _job_view(job: Job, last: JobRun | None, *, may: bool) -> dict[str, Any]:
    due_at = next_due(job.schedule, job.timezone, now()) if job.enabled else None
    fields = {
        "name": job.name,
        "kind": job.kind,
        "schedule": job.schedule,
        "timezone": job.timezone,
        "enabled": job.enabled,
        "next": due_at,
        "last": None if last is None else last.due_at,
        "state": "" if last is None else last.state,
    }
    return fields | ({"settings": dict(job.settings)} if may else {})


def _run_view(run: JobRun, name: str, *, may: bool) -> dict[str, Any]:
    fields = {
        "id": run.id,
        "job": name,
        "due_at": run.due_at,
        "state": run.state,
        "tries": run.tries,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "record": run.record,
    }
    return fields | ({"error": run.error} if may else {})
