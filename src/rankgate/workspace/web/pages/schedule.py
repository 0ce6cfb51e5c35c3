"""Scheduled jobs of a project: what runs when, how the last runs ended, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.store.people.audit import Actor
from rankgate.store.records import job_runs, jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.clock import next_due
from rankgate.workspace.records.schedule.jobs import read_jobs, set_jobs
from rankgate.workspace.web.replies import Done, Page, not_found

if TYPE_CHECKING:
    from rankgate.store.records.job_runs import JobRun
    from rankgate.store.records.jobs import Job
    from rankgate.workspace.web.asked import Asked

_MOST = 50


def page(asked: Asked) -> Page:
    """Every job with its next run, and the latest runs."""
    may = _may(asked)
    with asked.store.read() as connection:
        found = jobs.listed(connection, asked.project.id)
        latest = job_runs.of_project(connection, asked.project.id, most=_MOST)
        names = {each.id: each.name for each in found}
        last = {each.id: job_runs.last(connection, each.id) for each in found}
    rows = [_job(each, last[each.id], may=may) for each in found]
    runs = [_run(each, names[each.job], may=may) for each in latest]
    return Page("schedule.html", {"jobs": rows, "runs": runs}, {"may": may})


def run(asked: Asked) -> Page:
    """One run, with its log for managers."""
    with asked.store.read() as connection:
        names = {each.id: each.name for each in jobs.listed(connection, asked.project.id)}
        one = job_runs.get(connection, asked.path["run"])
    if one.job not in names:
        raise not_found("run")
    may = _may(asked)
    data = _run(one, names[one.job], may=may) | ({"log": one.log} if may else {})
    return Page("schedule_run.html", data, {"may": may})


def add(asked: Asked) -> Done:
    """Add jobs, or replace those of the same names."""
    text = asked.values["jobs"].replace("\r\n", "\n")
    found = read_jobs(text, "jobs")
    with asked.store.write() as connection:
        actor = Actor(asked.user.name, asked.user.id)
        set_jobs(connection, asked.project.id, found, actor, others=False)
    return Done(asked.at("schedule"), {"jobs": [each.name for each in found]})


def change(asked: Asked) -> Done:
    """Let a job rest, or run again."""
    with asked.store.write() as connection:
        old = jobs.get(connection, asked.project.id, asked.path["job"])
        enabled = bool(asked.values["enabled"])
        jobs.put(connection, asked.project.id, old.name, kind=old.kind, schedule=old.schedule,
                 timezone=old.timezone, settings=old.settings, enabled=enabled,
                 user=asked.user.id)  # fmt: skip
        asked.record(connection, "job.change", old.name, enabled=enabled)
    return Done(asked.at("schedule"), {"job": old.name, "enabled": enabled})


def start(asked: Asked) -> Done:
    """Let a job run as soon as the scheduler looks."""
    with asked.store.write() as connection:
        job = jobs.get(connection, asked.project.id, asked.path["job"])
        planned = job_runs.plan(connection, job.id, now())
        asked.record(connection, "job.start", job.name)
    return Done(asked.at("schedule"), {"run": planned.id})


def _may(asked: Asked) -> bool:
    return asked.role in {"admin", "manager"}


def _job(job: Job, last: JobRun | None, *, may: bool) -> dict[str, Any]:
    due = next_due(job.schedule, job.timezone, now()) if job.enabled else None
    found = {
        "name": job.name, "kind": job.kind, "schedule": job.schedule, "timezone": job.timezone,
        "enabled": job.enabled, "next": due, "last": None if last is None else last.due_at,
        "state": "" if last is None else last.state,
    }  # fmt: skip
    return found | ({"settings": dict(job.settings)} if may else {})


def _run(run: JobRun, name: str, *, may: bool) -> dict[str, Any]:
    found = {
        "id": run.id, "job": name, "due_at": run.due_at, "state": run.state, "tries": run.tries,
        "started_at": run.started_at, "finished_at": run.finished_at, "record": run.record,
    }  # fmt: skip
    return found | ({"error": run.error} if may else {})
