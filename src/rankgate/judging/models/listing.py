"""The models of a project: identity, ratings, cost, admission, jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.judging.models.job import models_by_number
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.models import admissions, answers, jobs

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.models.model_job import Job
    from rankgate.store.stored_project import StoredProject


def models_of(connection: Connection, project: int) -> list[dict[str, Any]]:
    """Each model that rated or has a job in a project, with its ratings and admission."""
    model_raters = models_by_number(connection)
    totals = answers.totals(connection, project)
    last = admissions.admissions_by_rater(connection, project)
    with_jobs = {job.rater for job in jobs.list_jobs(connection, project)}
    rows = []
    for number in sorted(totals.keys() | with_jobs):
        rater, rater_totals = model_raters[number], totals.get(number, answers.Totals())
        admission = last.get(number)
        rows.append(
            {
                "rater": number,
                "name": rater.name,
                "model": rater.identity["model"],
                "prompt": rater.identity["template"]["name"],
                "prompt_sha256": rater.identity["template"]["sha256"],
                **vars(rater_totals),
                "admission": None if admission is None else admission.verdict,
                "admitted_at": None if admission is None else admission.at,
                "admitted": admission is not None and admission.verdict == "pass",
            }
        )
    return rows


def job_view(connection: Connection, job: Job) -> dict[str, Any]:
    """A job with its progress."""
    progress = jobs.progress(connection, job)
    names = (
        "id",
        "rater",
        "name",
        "state",
        "endpoint",
        "total",
        "problem",
        "created_at",
        "started_at",
        "ended_at",
    )
    abandoned = job.state in {"running", "cancelling"} and jobs.is_free(job)
    limits = {name: job.settings.get(name) for name in ("calls", "tokens", "ceiling")}
    return {
        **{name: getattr(job, name) for name in names},
        **vars(progress),
        "limits": limits,
        "review": dict(job.settings.get("review") or {}),
        "under_way": job.state in jobs.UNDER_WAY,
        "abandoned": abandoned,
    }


def list_models(project: StoredProject) -> StoreListing:
    """The models of a project as a result."""
    names = ("name", "model", "prompt", "graded", "without_grade", "requests", "cost", "admission")
    with project.store.read() as connection:
        model_rows = models_of(connection, project.number)
    rows = tuple({name: row[name] for name in names} for row in model_rows)
    return StoreListing(f"{project.store.name} project {project.name}", "models", rows)
