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
    """The values of one job; one row a query.

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
        """Allocate undefined values for what the job computes."""
        return cls(
            np.full(T, np.nan),
            np.zeros(T, bool),
            np.zeros(T, bool) if job.counts_hits else None,
            None if job.metric.weight is None else np.ones(T),
        )

    def put(self, rows: NDArray[np.int64], block_values: JobValues) -> None:
        """Copy the values of some queries."""
        self.value[rows], self.lacking[rows] = block_values.value, block_values.lacking
        if self.hit is not None and block_values.hit is not None:
            self.hit[rows] = block_values.hit
        if self.weight is not None and block_values.weight is not None:
            self.weight[rows] = block_values.weight


def compute_values(block: Block, jobs: Sequence[Job]) -> tuple[JobValues, ...]:
    """The values of some jobs for the queries of a block."""
    job_values = [JobValues.empty(job, len(block.aligned.codes)) for job in jobs]
    for view in dict.fromkeys(job.metric.view for job in jobs):
        view_pairs = [
            pair for pair in zip(jobs, job_values, strict=True) if pair[0].metric.view == view
        ]
        for rows, kernel_input in block.seen_as(view):
            if view == RANKING:
                _compute_rankings(block, rows, kernel_input, view_pairs)
                continue
            for job, values in view_pairs:
                value = _compute(block, rows, job, kernel_input)
                values.put(
                    rows, JobValues(value, _without_relevant(block, rows, job, kernel_input))
                )
    return tuple(job_values)


def _compute_rankings(
    block: Block, rows: NDArray[np.int64], judged: Judged, jobs: Sequence[tuple[Job, JobValues]]
) -> None:
    """Run kernels over one block of rankings; what several conventions share is computed once."""
    levels = {level: judged.at_level(level) for level in {1, *(job.level for job, _ in jobs)}}
    values_by_kernel: dict[str, Floats] = {}
    for job, values in jobs:
        level = levels[job.level]
        if job.kernel not in values_by_kernel:
            values_by_kernel[job.kernel] = _compute(block, rows, job, level)
        value, has_no_relevant = values_by_kernel[job.kernel], level.relevant == 0
        hit = None if not job.counts_hits else count(level.hits(job.level, job.cutoff)) > 0
        if job.how.forced:
            value, unseen = _apply_forced(value, level, job)
            has_no_relevant &= ~unseen
        weight = job.metric.weigh(level, job.defaults)
        values.put(rows, JobValues(value, has_no_relevant, hit, weight))


def _without_relevant(block: Block, rows: NDArray[np.int64], job: Job, kernel_input: Any) -> Flags:  # noqa: ANN401
    """True for queries without a relevant document, as far as a view knows."""
    if job.metric.view == SUBTOPICS:
        none: Flags = kernel_input.at_level(job.level).subtopics == 0
        return none
    return block.judgments.best(block.aligned.codes[rows]) < max(job.level, 0)


def _compute(block: Block, rows: NDArray[np.int64], job: Job, kernel_input: Any) -> Floats:  # noqa: ANN401
    """The values of a block; where a user's function fails, the error names the query.

    Raises:
        InputError: a grade that is too great for the metric, which would become infinite.
    """
    try:
        with np.errstate(over="raise"):
            value = job.metric.compute(kernel_input, job.defaults)
    except (FloatingPointError, OverflowError):
        raise _too_great(block, rows, job) from None
    except FunctionError as error:
        codes = block.aligned.codes[rows]
        query = block.judgments.query_ids[int(codes[error.row or 0])]
        location = f"query '{query}'"
        if error.row is None and len(codes) > 1:
            location = f"{len(codes)} queries, the first being '{query}'"
        problem = f"{error.problem}; it was computed for {location}."
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


def _apply_forced(value: Floats, block: Judged, job: Job) -> tuple[Floats, Flags]:
    """Values with what the convention sets for a kind of empty, instead of the kernel's.

    Returns:
        ``(T,)`` values, and ``(T,)`` which of them it takes away because nothing there is
        judged or retrieved, whether or not there is something relevant.
    """
    empty = block.retrieved == 0
    is_judged = block.known & (block.grade >= 0)
    if job.cutoff is not None:
        is_judged &= block.rank <= job.cutoff
    kinds = {
        "nothing": empty & (block.judged == 0),
        "no_judgments": block.judged == 0,
        "without_relevant": block.relevant == 0,
        "nothing_retrieved": empty,
        "nothing_judged": ~is_judged.any(axis=-1),
        "no_hit": block.relevant_retrieved == 0,
        "zero": value == 0,
    }
    out, is_open = value.copy(), np.ones(len(value), bool)
    is_unseen = np.zeros(len(value), bool)
    for kind, hit in kinds.items():
        if kind in job.how.forced:
            set_to = job.how.forced[kind]
            out[is_open & hit] = np.nan if set_to is None else set_to
            is_unseen |= is_open & hit & (set_to is None and kind != "without_relevant")
            is_open &= ~hit
    return out, is_unseen
