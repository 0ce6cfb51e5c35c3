"""``rankgate rate --llm`` on a batch of a store: the same call continues an earlier one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.judging.llm.client import Client
from rankgate.judging.llm.protocols import WIRES
from rankgate.judging.llm.rate import key_of
from rankgate.judging.models.identity import ensure_rater, identity_for
from rankgate.judging.models.job import Review, add_job, settings_of, tasks_of_batch
from rankgate.judging.models.run import JobRun
from rankgate.store.models import jobs

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Judge
    from rankgate.store.stored_project import StoredProject


def rate_batch(
    stored: StoredProject, batch: str, judge: Judge, review: Review | None = None
) -> JobRun:
    """The work of a model on a batch; what it answered before is not asked again.

    A job that ended early goes on, with the limits given now; what it spent counts.

    Args:
        stored: an open project.
        batch: its name.
        judge: the model, and how it is asked.
        review: what people look at.

    Raises:
        UsageError: no such batch; another process works on it; no key, no scale, no template;
            a judge under attack.
    """
    if judge.attack != "none":
        problem = "grades under an attack are no ratings of documents; leave --project out."
        raise UsageError(problem, code="conflicting-options")
    # an invalid address or key is found before anything is written
    Client(WIRES[judge.protocol], judge.url, key_of(judge.key_from), timeout=judge.timeout)
    with stored.write() as connection:
        numbers = tasks_of_batch(connection, stored.number, batch)
        identity = identity_for(connection, stored.number, judge)
        rater = ensure_rater(connection, identity)
        earlier_jobs = [
            job
            for job in jobs.list_jobs(connection, stored.number, rater.id)
            if job.name == batch and job.endpoint is None and job.state != "done"
        ]
        if (
            earlier_jobs
            and earlier_jobs[0].state in jobs.UNDER_WAY
            and not jobs.is_free(earlier_jobs[0])
        ):
            raise UsageError(
                f"another process works on {batch} with this model; wait until it ends.",
                code="job-active",
            )
        if earlier_jobs:
            job = jobs.resume(connection, earlier_jobs[0].id)
            settings = settings_of(judge, review or Review.usual(identity.scale))
            jobs.update_job(connection, job.id, settings, numbers)
        else:
            job = add_job(connection, stored.number, judge, numbers, name=batch, review=review)
    return JobRun(stored.store, job.id, judge.key_from)
