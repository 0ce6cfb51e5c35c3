"""Jobs, each with one metric and one convention, and their values.

Kernels run over the blocks of a plan. Means are computed with the convention's rules for kinds of
empty, rounding, and aggregation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.errors import FunctionError, InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.metrics.judged_block import count
from rankgate.measurement.metrics.metric_declaration import RANKING, SUBTOPICS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Flags, Floats
    from rankgate.measurement.metrics.judged_block import Judged
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.kernel_inputs import Block
    from rankgate.measurement.scoring.convention import Convention


@dataclass(frozen=True)
class Job:
    """One metric with one convention.

    Attributes:
        label: the metric's name in results.
        metric: the metric.
        how: the convention's choices for it.
        defaults: the parameters that the convention sets for it.
    """

    label: str
    metric: Metric
    how: Convention
    defaults: Mapping[str, Any]

    @classmethod
    def from_convention(cls, label: str, metric: Metric, how: Convention) -> Job:
        """Make the job for a metric and the convention's choices for it."""
        metric_convention = how.for_metric(metric)
        return cls(label, metric, metric_convention, metric_convention.defaults(metric))

    @cached_property
    def kernel(self) -> str:
        """A key of the metric with its arguments; jobs with equal keys have equal values."""
        return f"{self.metric!r} {sorted(self.metric.bound(self.defaults).items())} {self.level}"

    @cached_property
    def level(self) -> float:
        """The smallest grade that counts as relevant."""
        bound = {**self.defaults, **dict(self.metric.given)}
        return bound.get("rel", self.metric.rel or 1)

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts, if the metric has one."""
        cutoff = dict(self.metric.given).get("cutoff")
        return cutoff if isinstance(cutoff, int) else None

    @property
    def counts_hits(self) -> bool:
        """True if the convention needs the queries with a relevant document within the cutoff."""
        return self.how.no_hits is not None and self.metric.view == RANKING

    @cached_property
    def depth(self) -> int | None:
        """The last rank that affects its value; None means the end of the list."""
        return None if "no_hit" in self.how.forced else self.metric.depth(self.defaults)

    def tail(self, best: float) -> Job | None:
        """The job for documents after the ends of lists; None if lists cannot continue.

        Args:
            best: the grade of these documents.
        """
        metric = self.metric
        if metric.residual is None:
            return None
        arguments = {**dict(metric.given), "best": best}
        tail_metric = replace(metric, kernel=metric.residual, given=tuple(sorted(arguments.items())))
        return replace(self, label=self.tail_label, metric=tail_metric)

    @property
    def tail_label(self) -> str:
        """The label of the `tail` job; it begins with a blank, unlike names of metrics."""
        return f" {self.label} tail"


@dataclass(frozen=True, eq=False)
class JobValues:
    """The values of one job, one row per query.

    Attributes:
        value: ``(T,)``, NaN if undefined.
        lacking: ``(T,)``, True if the query has no relevant document at the job's level; False if
            the convention removes the value for another reason.
        hit: ``(T,)``, True if a relevant document is within the cutoff; None if not needed.
        weight: ``(T,)``, the weight of the query in the mean; None if all weights are equal.
    """

    value: Floats
    lacking: Flags
    hit: Flags | None = None
    weight: Floats | None = None

    @classmethod
    def empty(cls, job: Job, T: int) -> JobValues:
        """Allocate undefined values for the fields that the job computes."""
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
        view_pairs = [pair for pair in zip(jobs, job_values, strict=True) if pair[0].metric.view == view]
        for rows, kernel_input in block.seen_as(view):
            if view == RANKING:
                _compute_rankings(block, rows, kernel_input, view_pairs)
                continue
            for job, values in view_pairs:
                value = _compute(block, rows, job, kernel_input)
                values.put(rows, JobValues(value, _without_relevant(block, rows, job, kernel_input)))
    return tuple(job_values)


def _compute_rankings(
    block: Block, rows: NDArray[np.int64], judged: Judged, jobs: Sequence[tuple[Job, JobValues]]
) -> None:
    """Run kernels over one block of rankings; conventions share equal values."""
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
    """True for queries without a relevant document, as far as the view has the data."""
    if job.metric.view == SUBTOPICS:
        return kernel_input.at_level(job.level).subtopics == 0
    return block.judgments.best(block.aligned.codes[rows]) < max(job.level, 0)


def _compute(block: Block, rows: NDArray[np.int64], job: Job, kernel_input: Any) -> Floats:  # noqa: ANN401
    """The values of a block; if a user's function fails, the error has the query.

    Raises:
        InputError: a grade is too large for the metric, so that the value would be infinite.
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
            location = f"{count_noun(len(codes), 'query')}, the first being '{query}'"
        problem = f"{error.problem}; it was computed for {location}."
        raise UsageError(problem, code="function-failed") from error
    if np.isinf(value).any():
        raise _too_great(block, rows, job)
    return value


def _too_great(block: Block, rows: NDArray[np.int64], job: Job) -> InputError:
    """The error for values that overflow; it names the grade farthest from 0."""
    judgments, codes = block.judgments, block.aligned.codes[rows]
    owner, places = judgments.rows(codes)
    farthest = int(np.argmax(np.abs(judgments.grades[places])))
    problem = (
        f"{job.label}: grade {judgments.grades[places][farthest]:g} of query "
        f"'{judgments.query_ids[int(codes[owner[farthest]])]}' makes the value infinite; bring the grades to "
        "a smaller scale, or give them other gains."
    )
    return InputError(problem, source=judgments.name, code="grade-outside-scale")


def _apply_forced(value: Floats, block: Judged, job: Job) -> tuple[Floats, Flags]:
    """Replace the kernel's values by those that the convention sets for a kind of empty.

    Returns:
        ``(T,)`` values, and ``(T,)`` True for values that are removed because nothing is judged or
        retrieved, with or without relevant documents.
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


_GEOMETRIC_FLOOR = 0.00001  # trec_eval's floor for a geometric mean

MISSING, NO_RELEVANT, NOTHING_RETRIEVED, NOTHING_JUDGED = 1, 2, 3, 4  # as in data.scores.REASONS


def fill_undefined(
    values: NDArray[np.float64],
    has_no_relevant: NDArray[np.bool_],
    *,
    present: NDArray[np.bool_],
    retrieved: NDArray[np.int64],
    job: Job,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Replace undefined values by the convention, with the reason for each.

    Args:
        values: ``(T,)`` from the kernel, NaN if undefined.
        has_no_relevant: ``(T,)``, True if the query has no relevant document.
        present: ``(T,)``, True if the run has the query.
        retrieved: ``(T,)``, the number of documents retrieved.
        job: the job of the values.

    Returns:
        ``(T,)`` values, NaN if still undefined, and ``(T,)`` positions in ``REASONS``.
    """
    left_out = ~present & (job.how.missing == "leave_out")
    undefined = np.isnan(values) | left_out
    reason_codes = np.zeros(len(values), np.int8)
    reason_codes[undefined] = NOTHING_JUDGED
    reason_codes[undefined & has_no_relevant] = NO_RELEVANT
    reason_codes[undefined & (retrieved == 0)] = NOTHING_RETRIEVED
    reason_codes[~present] = MISSING
    out = np.where(left_out, np.nan, values)
    for reason, value in _substitutes(job.how).items():
        out[undefined & (reason_codes == reason)] = np.nan if value is None else value
    return _round(out, job.how), reason_codes


def _substitutes(how: Convention) -> dict[int, float | None]:
    return {
        NO_RELEVANT: how.without_relevant,
        NOTHING_RETRIEVED: how.nothing_retrieved,
        NOTHING_JUDGED: how.nothing_judged,
        MISSING: None if how.missing == "leave_out" else 0.0,
    }


def _round(values: NDArray[np.float64], how: Convention) -> NDArray[np.float64]:
    """Round values to the convention's decimals, by its rounding rule."""
    if how.digits is None:
        return values
    if how.rounding == "even":
        return np.round(values, how.digits)
    scaled = values * 10.0**how.digits
    if how.rounding == "nearest":
        return np.floor(scaled + 0.5) / 10.0**how.digits
    # 0.29 · 100 is slightly less than 29 in binary, but must not become 28
    return np.floor(np.round(scaled, 9)) / 10.0**how.digits


def sum_terms(
    values: NDArray[np.float64],
    reason_codes: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The terms of the sum: counted values, or their logarithms, and their weights.

    Queries of a kind of empty that the convention leaves out do not count. Any other undefined
    value makes the sum undefined.

    Args:
        values: ``(T,)``, the values of queries.
        reason_codes: ``(T,)``, from ``filled``.
        job: the job of the values.
        weight: ``(T,)``, the weight of each query, if the metric has one.
    """
    out = np.zeros(len(values), bool)
    for reason, value in _substitutes(job.how).items():
        if value is None:
            out |= (reason_codes == reason) & np.isnan(values)
    summands = values[~out]
    if job.metric.aggregate == "geometric":
        summands = np.log(np.maximum(summands, _GEOMETRIC_FLOOR))
    weighted = job.metric.aggregate == "weighted" and weight is not None
    return summands, weight[~out] if weighted and weight is not None else None


def parts(
    values: NDArray[np.float64],
    reason_codes: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
    hit: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The parts of the aggregated number, added in query order as in trec_eval.

    Args:
        values: see `sum_terms`.
        reason_codes: see `sum_terms`.
        job: see `sum_terms`.
        weight: see `sum_terms`.
        hit: ``(T,)``, True if a query has a relevant document within the cutoff.

    Returns:
        ``(3,)``: the sum of the `sum_terms`; their number, or their weight; and the number of
        queries with a hit, NaN if the convention does not need it.
    """
    summands, weights = sum_terms(values, reason_codes, job, weight)
    hits = np.nan if hit is None else float(hit.sum())
    if not len(summands):
        return np.array([0.0, 0.0, hits])
    count = float(len(summands))
    if weights is not None:
        summands, count = summands * weights, float(np.cumsum(weights)[-1])
    return np.array([np.cumsum(summands)[-1], count, hits])


def mean_of_parts(sums: NDArray[np.float64], job: Job, unknown: int = 0) -> float:
    """The aggregated number for many queries; NaN for a mean without values.

    Args:
        sums: the result of ``parts``, or the sum of several results.
        job: the job of the values.
        unknown: queries of the run without judgments.
    """
    total, count, hits = (float(number) for number in sums)
    if job.how.no_hits is not None and hits == 0:
        return job.how.no_hits
    if not count:
        return float("nan")
    if job.metric.aggregate == "sum":
        return total
    if job.metric.aggregate != "weighted" and job.how.unknown == "zero":
        count += unknown
    return float(np.exp(total / count)) if job.metric.aggregate == "geometric" else total / count


def mean(values: NDArray[np.float64], reason_codes: NDArray[np.int8], job: Job, *, unknown: int = 0) -> float:
    """The aggregated number for `parts`; arguments as in `parts`."""
    return mean_of_parts(parts(values, reason_codes, job), job, unknown)
