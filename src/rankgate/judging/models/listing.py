"""What is known of the models of a project: identity, ratings, cost, admission, jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.judging.models.job import models
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.models import admissions, answers, jobs

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.models.model_job import Job
    from rankgate.store.stored_project import StoredProject


def models_of(connection: Connection, project: int) -> list[dict[str, Any]]:
    """Each model that rated or has a job in a project, with its ratings and admission."""
    known = models(connection)
    totals = answers.totals(connection, project)
    last = admissions.last(connection, project)
    with_jobs = {each.rater for each in jobs.listed(connection, project)}
    rows = []
    for number in sorted(totals.keys() | with_jobs):
        rater, found = known[number], totals.get(number, answers.Totals())
        admission = last.get(number)
        rows.append(
            {
                "rater": number,
                "name": rater.name,
                "model": rater.identity["model"],
                "prompt": rater.identity["template"]["name"],
                "prompt_sha256": rater.identity["template"]["sha256"],
                **vars(found),
                "admission": None if admission is None else admission.verdict,
                "admitted_at": None if admission is None else admission.at,
                "admitted": admission is not None and admission.verdict == "pass",
            }
        )
    return rows


def job_view(connection: Connection, job: Job) -> dict[str, Any]:
    """A job with its progress."""
    done = jobs.progress(connection, job)
    names = ("id", "rater", "name", "state", "endpoint", "total", "problem", "created_at",
             "started_at", "ended_at")  # fmt: skip
    abandoned = job.state in {"running", "cancelling"} and jobs.is_free(job)
    limits = {name: job.settings.get(name) for name in ("calls", "tokens", "ceiling")}
    return {
        **{name: getattr(job, name) for name in names},
        **vars(done),
        "limits": limits,
        "review": dict(job.settings.get("review") or {}),
        "under_way": job.state in jobs.UNDER_WAY,
        "abandoned": abandoned,
    }


def list_models(stored: StoredProject) -> StoreListing:
    """The models of a project as a result."""
    names = ("name", "model", "prompt", "graded", "without_grade", "requests", "cost", "admission")
    with stored.store.read() as connection:
        found = models_of(connection, stored.number)
    rows = tuple({name: each[name] for name in names} for each in found)
    return StoreListing(f"{stored.store.name} project {stored.name}", "models", rows)
