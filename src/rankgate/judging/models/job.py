"""A job of a model in a store: its tasks, its settings, and the grades that people review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.llm.costs import Prices
from rankgate.judging.models.identity import Identity, ensure_rater, identity_for
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

_SETTING_NAMES = (
    "concurrency",
    "retries",
    "timeout",
    "backoff",
    "ceiling",
    "calls",
    "tokens",
    "again",
)


@dataclass(frozen=True)
class Review:
    """Rules for the grades of a model that people review.

    Attributes:
        distance: a grade that is as far from people's, or farther, is a disagreement; None: none.
        confidence: a grade of lower confidence, where people are not asked; None: none.
    """

    distance: float | None = None
    confidence: float | None = 0.5

    @classmethod
    def usual(cls, scale: Mapping[float, str]) -> Review:
        """The default: two grades apart, or one on a scale of two; a confidence below one half."""
        grades = sorted(scale)
        return cls(grades[min(2, len(grades) - 1)] - grades[0])


def settings_of(judge: Judge, review: Review) -> dict[str, Any]:
    """The settings of a model's requests, without its key."""
    settings: dict[str, Any] = {name: getattr(judge, name) for name in _SETTING_NAMES}
    prices = judge.prices
    settings["prices"] = None if prices is None else [prices.input, prices.output]
    return {**settings, "review": vars(review)}


def judge_of(rater: Rater, job: Job, key_from: str | None) -> Judge:
    """The judge of a job."""
    settings = dict(job.settings)
    prices = settings.get("prices")
    judge_settings = {name: settings[name] for name in _SETTING_NAMES if name in settings}
    return Identity(rater.identity).judge(
        **judge_settings, prices=None if prices is None else Prices(*prices), key_from=key_from
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
    rater = ensure_rater(connection, identity)
    settings = settings_of(judge, review or Review.usual(identity.scale))
    return jobs.add(
        connection,
        project,
        rater.id,
        numbers,
        name=name,
        endpoint=endpoint,
        settings=settings,
        created_by=created_by,
    )


def tasks_of_batch(connection: Connection, project: int, batch: str) -> list[int]:
    """The tasks of a batch that a model may rate.

    Raises:
        UsageError: no such batch; one of preferences, or a training.
    """
    batch_row = batches.get_by_name(connection, project, batch)
    if batch_row.kind != "rating":
        problem = f"the batch {batch} is of kind {batch_row.kind}; a model rates single documents."
        raise UsageError(problem, code="unsupported-batch")
    return task_numbers.tasks_of_batch(connection, batch_row.id)


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
    top_pool = pool(
        [runs.read_stored_run(connection, blobs, project, name) for name in names],
        PoolDesign(depth=depth),
    )
    archived = queries.archived_ids(connection, project)
    pairs = top_pool.table.select("query_id", "doc_id").filter(
        pl.col("query_id").is_in(archived).not_()
    )
    task_of_pair = task_numbers.tasks_by_pair(connection, project)
    pair_list = list(pairs.iter_rows())
    new = pairs.filter([pair not in task_of_pair for pair in pair_list])
    if len(new):
        new_batch = batches.add_batch(connection, project, batch, most=0)
        batches.change_batch(connection, new_batch.id, state="closed")
        batches.add_pairs(connection, new_batch, new)
        task_of_pair = task_numbers.tasks_by_pair(connection, project)
    answered_tasks = (
        set() if rater is None else task_numbers.tasks_answered_by(connection, project, rater)
    )
    return sorted({task_of_pair[pair] for pair in pair_list} - answered_tasks)


def models_by_number(connection: Connection) -> dict[int, Rater]:
    """Every model with an identity, by number."""
    all_raters = raters.list_raters(connection)
    return {
        rater.id: rater for rater in all_raters if rater.kind == raters.MODEL and rater.identity
    }
