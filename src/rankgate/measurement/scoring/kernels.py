"""Kernels run over the blocks of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import FunctionError, InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.judged import count
from rankgate.measurement.metrics.views import RANKING, SUBTOPICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.judged import Judged
    from rankgate.measurement.scoring.alignment.block import Block
    from rankgate.measurement.scoring.job import Job

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class JobValues:
    """What one job has computed; one row a query.

    Attributes:
        value: ``(T,)``, NaN where undefined.
        lacking: ``(T,)``, whether the query has no relevant document at the job's level;
            False where the convention takes the value away for another reason.
        hit: ``(T,)``, whether one is within the cutoff; None unless the convention asks.
        weight: ``(T,)``, what the query weighs in the mean; None where all weigh the same.
    """

    value: Floats
    lacking: Flags
    hit: Flags | None = None
    weight: Floats | None = None

    @classmethod
    def empty(cls, job: Job, T: int) -> JobValues:
        """Nothing yet, with room for what the job computes."""
        return cls(
            np.full(T, np.nan),
            np.zeros(T, bool),
            np.zeros(T, bool) if job.counts_hits else None,
            None if job.metric.weight is None else np.ones(T),
        )

    def put(self, rows: NDArray[np.int64], other: JobValues) -> None:
        """Take over the values of some queries."""
        self.value[rows], self.lacking[rows] = other.value, other.lacking
        if self.hit is not None and other.hit is not None:
            self.hit[rows] = other.hit
        if self.weight is not None and other.weight is not None:
            self.weight[rows] = other.weight


def computed(block: Block, jobs: Sequence[Job]) -> tuple[JobValues, ...]:
    """The values of some jobs for the queries of a block."""
    found = [JobValues.empty(job, len(block.aligned.codes)) for job in jobs]
    for view in dict.fromkeys(job.metric.view for job in jobs):
        mine = [pair for pair in zip(jobs, found, strict=True) if pair[0].metric.view == view]
        for rows, seen in block.seen_as(view):
            if view == RANKING:
                _rankings(block, rows, seen, mine)
                continue
            for job, values in mine:
                value = _computed(block, rows, job, seen)
                values.put(rows, JobValues(value, _lacking(block, rows, job, seen)))
    return tuple(found)


def _rankings(
    block: Block, rows: NDArray[np.int64], judged: Judged, jobs: Sequence[tuple[Job, JobValues]]
) -> None:
    """Run kernels over one block of rankings; what several conventions share is computed once."""
    levels = {at: judged.at_level(at) for at in {1, *(job.level for job, _ in jobs)}}
    known: dict[str, Floats] = {}
    for job, values in jobs:
        level = levels[job.level]
        if job.kernel not in known:
            known[job.kernel] = _computed(block, rows, job, level)
        value, lacking = known[job.kernel], level.relevant == 0
        hit = None if not job.counts_hits else count(level.hits(job.level, job.cutoff)) > 0
        if job.how.forced:
            value, unseen = _forced(value, level, job)
            lacking &= ~unseen
        weight = job.metric.weigh(level, job.defaults)
        values.put(rows, JobValues(value, lacking, hit, weight))


def _lacking(block: Block, rows: NDArray[np.int64], job: Job, seen: Any) -> Flags:  # noqa: ANN401
    """Which queries have no relevant document, as far as a view knows them."""
    if job.metric.view == SUBTOPICS:
        none: Flags = seen.at_level(job.level).subtopics == 0
        return none
    return block.judgments.best(block.aligned.codes[rows]) < max(job.level, 0)


def _computed(block: Block, rows: NDArray[np.int64], job: Job, seen: Any) -> Floats:  # noqa: ANN401
    """The values of a block; where a user's function fails, the error names the query.

    Raises:
        InputError: a grade that is too great for the metric, which would become infinite.
    """
    try:
        with np.errstate(over="raise"):
            value = job.metric.compute(seen, job.defaults)
    except (FloatingPointError, OverflowError):
        raise _too_great(block, rows, job) from None
    except FunctionError as error:
        codes = block.aligned.codes[rows]
        query = block.judgments.query_ids[int(codes[error.row or 0])]
        where = f"query '{query}'"
        if error.row is None and len(codes) > 1:
            where = f"{len(codes)} queries, the first being '{query}'"
        problem = f"{error.problem}; it was computed for {where}."
        raise UsageError(problem, code="function-failed") from error
    if np.isinf(value).any():
        raise _too_great(block, rows, job)
    return value


def _too_great(block: Block, rows: NDArray[np.int64], job: Job) -> InputError:
    """The error for numbers that overflow; it names the grade that is farthest from 0."""
    judgments, codes = block.judgments, block.aligned.codes[rows]
    owner, places = judgments.rows(codes)
    farthest = int(np.argmax(np.abs(judgments.grades[places])))
    problem = (
        f"{job.label}: grade {judgments.grades[places][farthest]:g} of query "
        f"'{judgments.query_ids[int(codes[owner[farthest]])]}' makes the value infinite; bring "
        "the grades to a smaller scale, or give them other gains."
    )
    return InputError(problem, source=judgments.name, code="grade-outside-scale")


def _forced(value: Floats, block: Judged, job: Job) -> tuple[Floats, Flags]:
    """Values with what the convention sets for a kind of empty, instead of the kernel's.

    Returns:
        ``(T,)`` values, and ``(T,)`` which of them it takes away because nothing there is
        judged or retrieved, whether or not there is something relevant.
    """
    empty = block.retrieved == 0
    seen = block.known & (block.grade >= 0)
    if job.cutoff is not None:
        seen &= block.rank <= job.cutoff
    kinds = {
        "nothing": empty & (block.judged == 0),
        "no_judgments": block.judged == 0,
        "without_relevant": block.relevant == 0,
        "nothing_retrieved": empty,
        "nothing_judged": ~seen.any(axis=-1),
        "no_hit": block.relevant_retrieved == 0,
        "zero": value == 0,
    }
    out, open_ = value.copy(), np.ones(len(value), bool)
    unseen = np.zeros(len(value), bool)
    for kind, hit in kinds.items():
        if kind in job.how.forced:
            set_to = job.how.forced[kind]
            out[open_ & hit] = np.nan if set_to is None else set_to
            unseen |= open_ & hit & (set_to is None and kind != "without_relevant")
            open_ &= ~hit
    return out, unseen
