"""Values as they come in, block after block, for one or several conventions at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.errors import FunctionError, UsageError
from rankgate.scoring.blocks import blocks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rankgate.metrics.declare import Metric
    from rankgate.metrics.judged import Judged
    from rankgate.scoring.align import Aligned
    from rankgate.scoring.convention import Alignment, Convention
    from rankgate.scoring.index import Laid


@dataclass(frozen=True)
class Job:
    """One metric under one convention.

    Attributes:
        label: what results call the metric.
        metric: the metric.
        how: the choices that hold for it.
        defaults: the parameters that the convention gives it.
    """

    label: str
    metric: Metric
    how: Convention
    defaults: Mapping[str, Any]

    @classmethod
    def of(cls, label: str, metric: Metric, how: Convention) -> Job:
        """A metric under a convention's choices for it."""
        own = how.for_metric(metric)
        return cls(label, metric, own, own.defaults(metric))

    @cached_property
    def kernel(self) -> str:
        """The metric with all that it is called with: equal words, equal values."""
        return f"{self.metric!r} {sorted(self.metric.bound(self.defaults).items())} {self.level}"

    @cached_property
    def level(self) -> float:
        """The smallest grade that counts as relevant."""
        bound = {**self.defaults, **dict(self.metric.given)}
        level: float = bound.get("rel", self.metric.rel or 1)
        return level


@dataclass
class Values:
    """What one job has computed; one row a judged query.

    Attributes:
        value: ``(T,)``, NaN where undefined.
        lacking: ``(T,)``, whether the query has no relevant document at the job's level;
            False where the convention takes the value away for another reason.
        hit: ``(T,)``, whether one stands within the cutoff; noted where the convention asks.
        weight: ``(T,)``, what the query weighs in the mean.
    """

    value: NDArray[np.float64]
    lacking: NDArray[np.bool_]
    hit: NDArray[np.bool_]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, T: int) -> Values:
        """Nothing yet."""
        return cls(np.full(T, np.nan), np.zeros(T, bool), np.zeros(T, bool), np.ones(T))


@dataclass
class Facts:
    """What an alignment says of the queries, whatever the metric."""

    present: NDArray[np.bool_]
    retrieved: NDArray[np.int64]
    lacking: NDArray[np.bool_]
    shares: dict[int, NDArray[np.float64]]
    ties: int = 0
    unknown: int = 0
    against_scores: int = 0

    @classmethod
    def of(cls, T: int, cutoffs: Sequence[int]) -> Facts:
        """Nothing yet."""
        shares = {k: np.full(T, np.nan) for k in cutoffs}
        return cls(np.zeros(T, bool), np.zeros(T, np.int64), np.zeros(T, bool), shares)

    def add(self, aligned: Aligned) -> None:
        """Note some queries."""
        self.ties += aligned.ties
        self.unknown += aligned.unknown
        self.against_scores += aligned.against_scores
        self.present[aligned.codes] |= aligned.present
        self.retrieved[aligned.codes] = aligned.retrieved
        for k, share in self.shares.items():
            share[aligned.codes] = _judged_at(aligned, k)


@dataclass
class Tally:
    """All jobs, grouped by how they form rankings.

    Attributes:
        jobs: the jobs of each alignment, with the values of each.
        facts: what each alignment says of the queries.
    """

    jobs: dict[Alignment, list[tuple[Job, Values]]]
    facts: dict[Alignment, Facts]
    index: Laid = field(repr=False)

    @classmethod
    def of(cls, jobs: Sequence[Job], also: Sequence[Alignment], index: Laid, shown: int) -> Tally:
        """Nothing computed yet.

        Args:
            jobs: what to compute.
            also: alignments whose facts are wanted, though no metric may need them.
            index: the judgments.
            shown: a cutoff at which the share of judged documents is wanted in any case.
        """
        T = len(index.query_ids)
        cuts = {dict(job.metric.given).get("cutoff") for job in jobs}
        cutoffs = sorted({shown} | {cut for cut in cuts if isinstance(cut, int)})
        grouped: dict[Alignment, list[tuple[Job, Values]]] = {each: [] for each in also}
        for job in jobs:
            grouped.setdefault(job.how.alignment, []).append((job, Values.of(T)))
        return cls(grouped, {each: Facts.of(T, cutoffs) for each in grouped}, index)

    def add(self, aligned: Aligned, how: Alignment) -> None:
        """Run the kernels of one alignment over some queries."""
        self.facts[how].add(aligned)
        for codes, block in blocks(aligned, self.index):
            levels = {
                at: block.at_level(at) for at in {1, *(job.level for job, _ in self.jobs[how])}
            }
            computed: dict[str, NDArray[np.float64]] = {}
            self.facts[how].lacking[codes] = levels[1].relevant == 0
            for job, values in self.jobs[how]:
                level = levels[job.level]
                values.lacking[codes] = level.relevant == 0
                if job.how.no_hits is not None:
                    hits = level.hits(job.level, dict(job.metric.given).get("cutoff"))
                    values.hit[codes] = hits.any(axis=-1)
                if job.kernel not in computed:  # conventions often agree in all parameters
                    computed[job.kernel] = self._computed(job, level, codes)
                value = computed[job.kernel]
                if (weight := job.metric.weigh(level, job.defaults)) is not None:
                    values.weight[codes] = weight
                if job.how.forced:
                    value, unseen = _forced(value, level, job)
                    values.lacking[codes] &= ~unseen
                values.value[codes] = value

    def _computed(self, job: Job, block: Judged, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The values of a block; where a user's function fails, the error names the query."""
        try:
            return job.metric.compute(block, job.defaults)
        except FunctionError as error:
            query = self.index.query_ids[int(codes[error.row or 0])]
            where = f"query '{query}'"
            if error.row is None and len(codes) > 1:
                where = f"{len(codes)} queries, the first being '{query}'"
            raise UsageError(
                f"{error.problem}; it was computed for {where}.", code="function-failed"
            ) from error


def _forced(
    value: NDArray[np.float64], block: Judged, job: Job
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values with what the convention sets for a kind of empty, whatever the kernel says.

    Returns:
        ``(T,)`` values, and ``(T,)`` which of them it takes away because nothing there is
        judged or retrieved, whether or not there is something relevant.
    """
    empty = block.retrieved == 0
    cutoff = dict(job.metric.given).get("cutoff")
    seen = block.known & (block.grade >= 0)
    if cutoff is not None:
        seen &= block.rank <= cutoff
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


def _judged_at(aligned: Aligned, k: int) -> NDArray[np.float64]:
    """Judged documents among the first k over the documents there; NaN for an empty ranking."""
    seen = aligned.owner[(aligned.rank <= k) & (aligned.grade >= 0)]
    judged = np.bincount(seen, minlength=len(aligned.codes))
    places = np.minimum(aligned.retrieved, k)
    out: NDArray[np.float64] = np.full(len(places), np.nan)
    return np.divide(judged, places, out=out, where=places > 0)
