"""A job of a model in a store: which tasks, how it is asked, and what people look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.costs import Prices
from rankgate.judging.models.identity import Identity, identity_for, rater_of
from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_design import PoolDesign
from rankgate.store.kept import runs
from rankgate.store.material import queries
from rankgate.store.models import jobs
from rankgate.store.people import raters
from rankgate.store.rating import batches, task_numbers

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Judge
    from rankgate.store.database import Connection
    from rankgate.store.kept.blobs import Blobs
    from rankgate.store.models.model_job import Job
    from rankgate.store.people.raters import Rater

_HOW = ("concurrency", "retries", "timeout", "backoff", "ceiling", "calls", "tokens", "again")


@dataclass(frozen=True)
class Review:
    """What people look at, of what a model graded.

    Attributes:
        distance: a grade that is as far from people's, or farther, is a disagreement; None: none.
        confidence: a grade of lower confidence, where people are not asked; None: none.
    """

    distance: float | None = None
    confidence: float | None = 0.5

    @classmethod
    def usual(cls, scale: Mapping[float, str]) -> Review:
        """Two grades apart, or one on a scale of two; a confidence below one half."""
        grades = sorted(scale)
        return cls(grades[min(2, len(grades) - 1)] - grades[0])


def settings_of(judge: Judge, review: Review) -> dict[str, Any]:
    """How a model is asked, without its key."""
    found: dict[str, Any] = {name: getattr(judge, name) for name in _HOW}
    prices = judge.prices
    found["prices"] = None if prices is None else [prices.input, prices.output]
    return {**found, "review": vars(review)}


def judge_of(rater: Rater, job: Job, key_from: str | None) -> Judge:
    """The judge of a job."""
    found = dict(job.settings)
    prices = found.get("prices")
    how = {name: found[name] for name in _HOW if name in found}
    return Identity(rater.identity).judge(
        **how, prices=None if prices is None else Prices(*prices), key_from=key_from
    )


def add_job(
    connection: Connection,
    project: int,
    judge: Judge,
    numbers: list[int],
    *,
    name: str,
    review: Review | None = None,
    endpoint: str | None = None,
    created_by: int | None = None,
) -> Job:
    """Add a job that waits for a process.

    Args:
        connection: of a store, to write.
        project: whose tasks.
        judge: the model.
        numbers: of tasks.
        name: what it rates, for people.
        review: what people look at.
        endpoint: the server's name of the endpoint; None for the command line.
        created_by: a user.

    Raises:
        UsageError: nothing to rate; a job of this model is under way; no scale; no template.
    """
    if not numbers:
        raise UsageError("there is nothing to rate in it.", code="nothing-to-rate")
    identity = identity_for(connection, project, judge)
    rater = rater_of(connection, identity)
    settings = settings_of(judge, review or Review.usual(identity.scale))
    return jobs.add(
        connection, project, rater.id, numbers, name=name, endpoint=endpoint, settings=settings,
        created_by=created_by,
    )  # fmt: skip


def tasks_of_batch(connection: Connection, project: int, batch: str) -> list[int]:
    """The tasks of a batch that a model may rate.

    Raises:
        UsageError: no such batch; one of preferences, or a training.
    """
    found = batches.named(connection, project, batch)
    if found.kind != "rating":
        problem = f"the batch {batch} is of kind {found.kind}; a model rates single documents."
        raise UsageError(problem, code="unsupported-batch")
    return task_numbers.of_batch(connection, found.id)


def tasks_to_depth(
    connection: Connection,
    blobs: Blobs,
    project: int,
    names: list[str],
    depth: int,
    *,
    batch: str,
    rater: int | None = None,
) -> list[int]:
    """The tasks of what runs rank first; pairs that are in no batch get one for models alone.

    Args:
        connection: of a store, to write.
        blobs: of the store.
        project: whose runs.
        names: of runs.
        depth: documents of each list; those of archived queries are left out.
        batch: the name of the new batch; people are not asked there.
        rater: a model; the pairs that it has rated are left out.

    Raises:
        UsageError: no such run; the name of the batch is taken.
    """
    found = pool(
        [runs.read(connection, blobs, project, name) for name in names],
        PoolDesign(depth=depth),
    )
    archived = queries.archived_ids(connection, project)
    pairs = found.table.select("query_id", "doc_id").filter(
        pl.col("query_id").is_in(archived).not_()
    )
    known = task_numbers.of_pairs(connection, project)
    wanted = list(pairs.iter_rows())
    new = pairs.filter([pair not in known for pair in wanted])
    if len(new):
        made = batches.add(connection, project, batch, most=0)
        batches.change(connection, made.id, state="closed")
        batches.add_pairs(connection, made, new)
        known = task_numbers.of_pairs(connection, project)
    done = set() if rater is None else task_numbers.answered_by(connection, project, rater)
    return sorted({known[pair] for pair in wanted} - done)


def models(connection: Connection) -> dict[int, Rater]:
    """Every model with an identity, by number."""
    found = raters.listed(connection)
    return {each.id: each for each in found if each.kind == raters.MODEL and each.identity}
