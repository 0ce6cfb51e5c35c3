"""Plans of computations, and measurements that can be merged, including metrics on lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.memory.ids import find_positions
from rankgate.data.run_scores import MeanParts, RunScores
from rankgate.measurement.metrics.judged_block import ExactMean
from rankgate.measurement.metrics.lists.list_input import Sums
from rankgate.measurement.metrics.lists.list_metric import partial_result
from rankgate.measurement.metrics.metric_declaration import LISTS, RANKING, SEQUENCES
from rankgate.measurement.scoring.alignment.aligned_run import apply_depth
from rankgate.measurement.scoring.alignment.kernel_inputs import Block, BlockSource, RankingMode
from rankgate.measurement.scoring.scoring_facts import BlockValues, Facts, input_cautions, zeros_relevant
from rankgate.measurement.scoring.scoring_job import (
    NOTHING_RETRIEVED,
    Job,
    JobValues,
    compute_values,
    fill_undefined,
    mean_of_parts,
    parts,
    sum_terms,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.run import Duplicates
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.lists.list_metric import ListMetric, PartialResult
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.aligned_run import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention


@dataclass(frozen=True, eq=False)
class ListBlock:
    """The lists of whole users, as input of metrics on lists.

    Attributes:
        listed: the lists, with data on items and users.
        users: ``(T,)``, the users of the lists; may be empty if only numbers are needed.
    """

    listed: Listed
    users: pl.Series

    def measure(self, metrics: Mapping[str, ListMetric]) -> ListValues:
        """Measure metrics on the lists; shared sums are computed once.

        Raises:
            UsageError: an input of a metric is missing.
        """
        sums: dict[object, Sums] = {}
        raw_values: dict[str, Sums | Floats] = {}
        for label, metric in metrics.items():
            if metric.merge != "items":
                raw_values[label] = metric.values(self.listed)
                continue
            metric.refuse_lacking(self.listed)
            if metric.sums_key not in sums:
                sums[metric.sums_key] = metric.sums(self.listed)
            raw_values[label] = sums[metric.sums_key]
        return ListValues(metrics, self.users, self.listed.lengths == 0, raw_values)


@dataclass(frozen=True, eq=False)
class ListValues:
    """The values of metrics on lists; values to merge must have different users.

    Attributes:
        metrics: the metrics by label.
        users: ``(T,)``, see `ListBlock`.
        empty: ``(T,)``, True for empty lists.
        found: the values by label, in the form that the metric merges: ``(T,)`` values of lists
            (``mean``), sums over lists (``items``), or ``(T, M)`` terms to be added (``ratio``).
    """

    metrics: Mapping[str, ListMetric]
    users: pl.Series
    empty: NDArray[np.bool_]
    found: Mapping[str, Sums | Floats]

    def merge(self, other: ListValues) -> ListValues:
        """Combine the values of two sets of users."""
        return ListValues(
            self.metrics,
            pl.concat([self.users, other.users]),
            np.concatenate([self.empty, other.empty]),
            {label: _merge_values(raw, other.found[label]) for label, raw in self.found.items()},
        )

    @cached_property
    def values(self) -> dict[str, Floats]:
        """The values of single lists, for metrics that have such values."""
        return {
            label: raw
            for label, raw in self.found.items()
            if self.metrics[label].merge == "mean" and not isinstance(raw, Sums)
        }

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The number of each metric for all lists; NaN if it is undefined."""
        return {label: metric.number(self.found[label]) for label, metric in self.metrics.items()}

    @property
    def parts(self) -> list[PartialResult]:
        """The parts of the numbers in the order of the metrics; batches can be added."""
        return [partial_result(metric, self.found[label]) for label, metric in self.metrics.items()]

    def added_to(self, scores: RunScores) -> RunScores:
        """Add the values on the lists to scores of the same users' rankings.

        A metric about all lists together has a mean, but no values of single users.
        """
        rows = find_positions(scores.query_ids, self.users)
        values, reason_codes = dict(scores.values), dict(scores.why)
        for label, user_values in self.values.items():
            values[label] = user_values[rows]
            empty = np.isnan(values[label]) & self.empty[rows]
            reason_codes[label] = np.where(empty, NOTHING_RETRIEVED, 0).astype(np.int8)
        return replace(scores, values=values, why=reason_codes, means={**scores.means, **self.numbers})


def _merge_values(left: Sums | Floats, right: Sums | Floats) -> Sums | Floats:
    if isinstance(left, Sums) and isinstance(right, Sums):
        return left + right
    assert not isinstance(left, Sums)
    assert not isinstance(right, Sums)
    return np.concatenate([left, right])


JUDGED_CUTOFF = 10
"""The cutoff of the share of judged documents in every result."""


class Source(BlockSource, Protocol):
    """Rankings to be measured: a file, a frame, a dictionary, a matrix, lists."""

    @property
    def duplicates(self) -> Duplicates | None:
        """The only rule for duplicates, if rankings have no duplicates; else None."""

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The blocks of a plan; each query with documents is in one block per ranking mode."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Metrics under conventions.

    Attributes:
        conventions: the conventions to score under.
        jobs: for each convention the metrics of rankings and of subtopics, and those with their own
            view.
        duplicates: the rule for all ranking modes, if no document is ranked twice.
        lists: the metrics on lists by label, which use the only convention of such a plan.
    """

    conventions: tuple[Convention, ...]
    jobs: tuple[tuple[Job, ...], ...]
    duplicates: Duplicates | None = None
    lists: Mapping[str, ListMetric] = field(default_factory=dict)

    @classmethod
    def from_conventions(
        cls,
        metrics: Sequence[tuple[str, Metric]],
        conventions: Sequence[Convention],
        duplicates: Duplicates | None = None,
    ) -> Plan:
        """Make the plan for metrics under conventions, each with its label."""
        lists = {name: cast("ListMetric", metric) for name, metric in metrics if metric.view == LISTS}
        ranking_metrics = [pair for pair in metrics if pair[1].view not in {LISTS, SEQUENCES}]
        jobs = tuple(
            tuple(Job.from_convention(*pair, convention) for pair in ranking_metrics)
            for convention in conventions
        )
        assert not lists or len(conventions) == 1, "lists are formed by one convention"
        return cls(tuple(conventions), jobs, duplicates, lists)

    def ranking_mode(self, how: Convention) -> RankingMode:
        """The ranking mode of a convention."""
        return RankingMode(self.duplicates or how.duplicates, how.alignment)

    @cached_property
    def ways(self) -> Mapping[RankingMode, tuple[Job, ...]]:
        """The jobs of every ranking mode, including modes that are used only for counts."""
        grouped: dict[RankingMode, list[Job]] = {
            self.ranking_mode(convention): [] for convention in self.conventions
        }
        for job in (job for convention_jobs in self.jobs for job in convention_jobs):
            grouped.setdefault(self.ranking_mode(job.how), []).append(job)
        return {mode: tuple(jobs) for mode, jobs in grouped.items()}

    def by_rule(self) -> Iterator[tuple[Duplicates, list[RankingMode]]]:
        """The ranking modes by rule for duplicates; each rule needs a separate reading."""
        for rule in dict.fromkeys(mode.duplicates for mode in self.ways):
            yield rule, [mode for mode in self.ways if mode.duplicates == rule]

    @cached_property
    def cutoffs(self) -> Mapping[Duplicates, tuple[int, ...]]:
        """The cutoffs for shares of judged documents, by the rule for duplicates."""
        cutoffs_by_rule: dict[Duplicates, set[int]] = {mode.duplicates: {JUDGED_CUTOFF} for mode in self.ways}
        for mode, jobs in self.ways.items():
            rank_cutoffs = [job.cutoff for job in jobs if job.metric.view == RANKING]
            cutoffs_by_rule[mode.duplicates] |= {cutoff for cutoff in rank_cutoffs if cutoff is not None}
        return {rule: tuple(sorted(cuts)) for rule, cuts in cutoffs_by_rule.items()}

    def depth(self, mode: RankingMode) -> int | None:
        """The depth to which rankings are needed; None means to their end."""
        depths = [None if mode.alignment.judged_only else JUDGED_CUTOFF]
        depths += [job.depth for job in self.ways[mode]]
        finite_depths = [depth for depth in depths if depth is not None]
        return max(finite_depths) if len(finite_depths) == len(depths) else None

    def measure(self, block: Block | ListBlock) -> Measurement:
        """The values of a block of whole queries, or of the lists of whole users.

        Raises:
            UsageError: a user's kernel fails (the error names a query), or an input of a metric on
              lists is missing.
        """
        if not isinstance(block, Block):
            return Measurement(self, lists=block.measure(self.lists))
        jobs = self.ways[block.way]
        values = compute_values(block, jobs)
        block_values = BlockValues.collect(block, values, self.cutoffs[block.way.duplicates])
        return Measurement(self, (block_values,))

    def values_of_ranks(self, ranks: Mapping[RankingMode, JudgedRanks], judgments: JudgmentIndex) -> Floats:
        """(M, T) the values of the only convention's metrics; NaN if undefined.

        Args:
            ranks: the judged documents in every ranking mode; depth and the rule for unjudged
                documents are applied here.
            judgments: the judgments.
        """
        (jobs,) = self.jobs
        values = np.empty((len(jobs), len(judgments.query_ids)))
        for mode, mode_jobs in self.ways.items():
            block = Block(mode, apply_depth(ranks[mode], mode.alignment), judgments)
            for job, job_values in zip(mode_jobs, compute_values(block, mode_jobs), strict=True):
                values[jobs.index(job)], _ = fill_undefined(
                    job_values.value,
                    job_values.lacking,
                    present=block.aligned.present,
                    retrieved=block.aligned.retrieved,
                    job=job,
                )
        return values


@dataclass(frozen=True, eq=False)
class Measurement:
    """Measured values; measurements to merge must have different queries.

    Attributes:
        plan: the plan.
        parts: the values of each block.
        lists: the values of metrics on lists; None before the first block of lists.
    """

    plan: Plan
    parts: tuple[BlockValues, ...] = ()
    lists: ListValues | None = None

    def merge(self, other: Measurement) -> Measurement:
        """Combine two measurements."""
        lists = self.lists or other.lists
        if self.lists is not None and other.lists is not None:
            lists = self.lists.merge(other.lists)
        return Measurement(self.plan, self.parts + other.parts, lists)

    def scores(self, source: Source, *, strict: bool = True) -> list[RunScores]:
        """The scores under each convention.

        Args:
            source: the source that was measured.
            strict: True to raise an error if the run has no judged query.

        Raises:
            InputError: the run has no judged query and `strict` is true, or the convention does not
                accept missing or unknown queries, or queries without relevant documents.
        """
        return [self.score(i, source, strict=strict) for i in range(len(self.plan.conventions))]

    def score(self, i: int, source: Source, *, strict: bool = True, exact: bool = False) -> RunScores:
        """The scores under one of the conventions; arguments as in `scores`.

        Args:
            i: the position of the convention.
            source: the source that was measured.
            strict: see `scores`.
            exact: True to also keep the parts of means, so that batches can be added.
        """
        convention, index = self.plan.conventions[i], source.judgments
        facts = self._facts(self.plan.ranking_mode(convention), index)
        matches = facts.match_ids(source) if strict else {}
        if strict or facts.present.any():
            facts.refuse(source, convention)
        is_counted = facts.present if convention.missing == "leave_out" else np.ones_like(facts.present)
        unrated = int((~index.is_rated).sum()) if self.plan.jobs[i] else 0  # lists have parts of their own
        if unrated and convention.unrated == "left_out" and (exact or index.is_rated.any()):
            is_counted = is_counted & index.is_rated
        values, reason_codes, means = {}, {}, {}
        made_of: dict[str, tuple[ExactMean, int]] = {}
        for job in self.plan.jobs[i]:
            job_values = self._values(job, len(index.query_ids))
            values[job.label], reason_codes[job.label] = fill_undefined(
                job_values.value[is_counted],
                job_values.lacking[is_counted],
                present=facts.present[is_counted],
                retrieved=facts.retrieved[is_counted],
                job=job,
            )
            weight = None if job_values.weight is None else job_values.weight[is_counted]
            hit = None if job_values.hit is None else job_values.hit[is_counted]
            mean_inputs = values[job.label], reason_codes[job.label], job
            means[job.label] = mean_of_parts(parts(*mean_inputs, weight, hit), job, len(facts.unknown))
            if exact:
                hits = 0 if hit is None else int(np.count_nonzero(hit))
                made_of[job.label] = ExactMean.from_values(*sum_terms(*mean_inputs, weight)), hits
        zeros = zeros_relevant(self.plan.jobs[i], index)
        cautions = input_cautions(source, facts, self.plan.jobs[i], matches, convention)
        counts = facts.counts(is_counted, zeros, unrated, cautions)
        judged_shares = facts.known_shares(is_counted) if exact else {}
        lists = self.lists.parts if exact and self.lists is not None else None
        judged_at = {k: ExactMean.from_values(share) for k, share in judged_shares.items()}
        mean_parts = MeanParts(made_of, judged_at, lists, facts.judged_documents)
        query_ids = index.query_ids.filter(pl.Series(is_counted))
        scores = RunScores(
            source.name,
            source.tag,
            query_ids,
            values,
            reason_codes,
            means,
            counts,
            convention.to_dict(),
            parts=mean_parts,
        )
        return scores if self.lists is None else self.lists.added_to(scores)

    def _facts(self, mode: RankingMode, index: JudgmentIndex) -> Facts:
        return Facts.combine(
            [block for block in self.parts if block.way == mode],
            len(index.query_ids),
            self.plan.cutoffs[mode.duplicates],
        )

    def _values(self, job: Job, T: int) -> JobValues:
        """The values of one job for all queries."""
        mode = self.plan.ranking_mode(job.how)
        job_index = next(i for i, mode_job in enumerate(self.plan.ways[mode]) if mode_job is job)
        job_values = JobValues.empty(job, T)
        for block in self.parts:
            if block.way == mode:
                job_values.put(block.codes, block.values[job_index])
        return job_values
