"""What is to be computed, and what was measured of it: a plan, and measurements that merge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.scores import MeanParts, Scores
from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.views import LISTS, RANKING, SEQUENCES
from rankgate.measurement.scoring.alignment.block import Block, Origin, Way
from rankgate.measurement.scoring.facts import BlockValues, Facts, zeros_relevant
from rankgate.measurement.scoring.input_cautions import input_cautions
from rankgate.measurement.scoring.job import Job
from rankgate.measurement.scoring.kernels import JobValues, computed
from rankgate.measurement.scoring.mean import filled, of_parts, parts, terms

if TYPE_CHECKING:
    from rankgate.data.run import Duplicates
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.list_values import ListBlock, ListValues

SHOWN = 10
"""The cutoff at which every result says how much was judged."""


class Source(Origin, Protocol):
    """Rankings that are measured: a file, a frame, a dictionary, a matrix, lists."""

    @property
    def duplicates(self) -> Duplicates | None:
        """The one way to treat duplicates, where rankings have none; else None."""

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The blocks of a plan; each query that retrieved anything is in one for each way."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Metrics under conventions.

    Attributes:
        conventions: whose numbers are wanted.
        jobs: for each of them the metrics of rankings and of subtopics, and those with a view of
            their own.
        duplicates: treats all ways alike, if known that nothing is ranked twice.
        lists: the metrics on lists by label, which follow the one convention that there is then.
    """

    conventions: tuple[Convention, ...]
    jobs: tuple[tuple[Job, ...], ...]
    duplicates: Duplicates | None = None
    lists: Mapping[str, ListMetric] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        metrics: Sequence[tuple[str, Metric]],
        conventions: Sequence[Convention],
        duplicates: Duplicates | None = None,
    ) -> Plan:
        """The plan for metrics under conventions, each with its label."""
        lists = {name: cast("ListMetric", each) for name, each in metrics if each.view == LISTS}
        some = [pair for pair in metrics if pair[1].view not in {LISTS, SEQUENCES}]
        jobs = tuple(tuple(Job.of(*pair, how) for pair in some) for how in conventions)
        assert not lists or len(conventions) == 1, "lists are formed by one convention"
        return cls(tuple(conventions), jobs, duplicates, lists)

    def way(self, how: Convention) -> Way:
        """How a convention forms rankings."""
        return Way(self.duplicates or how.duplicates, how.alignment)

    @cached_property
    def ways(self) -> Mapping[Way, tuple[Job, ...]]:
        """The jobs of every way; ways that no metric needs say the counts behind the means."""
        grouped: dict[Way, list[Job]] = {self.way(how): [] for how in self.conventions}
        for job in (job for some in self.jobs for job in some):
            grouped.setdefault(self.way(job.how), []).append(job)
        return {way: tuple(jobs) for way, jobs in grouped.items()}

    def by_rule(self) -> Iterator[tuple[Duplicates, list[Way]]]:
        """The ways, by how they treat duplicates: each needs its own reading."""
        for rule in dict.fromkeys(way.duplicates for way in self.ways):
            yield rule, [way for way in self.ways if way.duplicates == rule]

    @cached_property
    def cutoffs(self) -> Mapping[Duplicates, tuple[int, ...]]:
        """Where the share of judged documents is wanted, by how duplicates are treated."""
        found: dict[Duplicates, set[int]] = {way.duplicates: {SHOWN} for way in self.ways}
        for way, jobs in self.ways.items():
            ranked = [job.cutoff for job in jobs if job.metric.view == RANKING]
            found[way.duplicates] |= {cutoff for cutoff in ranked if cutoff is not None}
        return {rule: tuple(sorted(cuts)) for rule, cuts in found.items()}

    def depth(self, way: Way) -> int | None:
        """How far rankings have to be looked at; None is to their end."""
        depths = [None if way.alignment.judged_only else SHOWN]
        depths += [job.depth for job in self.ways[way]]
        known = [depth for depth in depths if depth is not None]
        return max(known) if len(known) == len(depths) else None

    def measure(self, block: Block | ListBlock) -> Measurement:
        """The values of a block of whole queries, or of the lists of whole users.

        Raises:
            UsageError: a kernel of the user's own fails, and the error names a query; a metric on
                lists needs what is not there.
        """
        if not isinstance(block, Block):
            return Measurement(self, lists=block.measure(self.lists))
        jobs = self.ways[block.way]
        values = computed(block, jobs)
        part = BlockValues.of(block, values, self.cutoffs[block.way.duplicates])
        return Measurement(self, (part,))


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured so far; the queries of two that are merged differ.

    Attributes:
        plan: what is measured.
        parts: what was measured on each block.
        lists: what metrics on lists measured; None before the first block of lists.
    """

    plan: Plan
    parts: tuple[BlockValues, ...] = ()
    lists: ListValues | None = None

    def merge(self, other: Measurement) -> Measurement:
        """Both together."""
        lists = self.lists or other.lists
        if self.lists is not None and other.lists is not None:
            lists = self.lists.merge(other.lists)
        return Measurement(self.plan, self.parts + other.parts, lists)

    def scores(self, source: Source, *, strict: bool = True) -> list[Scores]:
        """The scores under each convention.

        Args:
            source: what was measured.
            strict: whether it is an error that the run has no judged query.

        Raises:
            InputError: that error; the convention refuses missing or unknown queries, or queries
                without relevant documents.
        """
        return [self.score(i, source, strict=strict) for i in range(len(self.plan.conventions))]

    def score(self, i: int, source: Source, *, strict: bool = True, exact: bool = False) -> Scores:
        """The scores under one of the conventions; arguments as of `scores`.

        Args:
            i: which one.
            source: what was measured.
            strict: as of `scores`.
            exact: whether what means are made of is kept too, for batches to add up.
        """
        how, index = self.plan.conventions[i], source.judgments
        facts = self._facts(self.plan.way(how), index)
        if strict or facts.present.any():
            facts.refuse(source, how)
        counted = facts.present if how.missing == "leave_out" else np.ones_like(facts.present)
        values, why, means = {}, {}, {}
        made_of: dict[str, tuple[ExactMean, int]] = {}
        for job in self.plan.jobs[i]:
            found = self._values(job, len(index.query_ids))
            values[job.label], why[job.label] = filled(
                found.value[counted],
                found.lacking[counted],
                present=facts.present[counted],
                retrieved=facts.retrieved[counted],
                job=job,
            )
            weight = None if found.weight is None else found.weight[counted]
            hit = None if found.hit is None else found.hit[counted]
            own = values[job.label], why[job.label], job
            means[job.label] = of_parts(parts(*own, weight, hit), job, facts.unknown)
            if exact:
                hits = 0 if hit is None else int(np.count_nonzero(hit))
                made_of[job.label] = ExactMean.of(*terms(*own, weight)), hits
        zeros = zeros_relevant(self.plan.jobs[i], index)
        cautions = input_cautions(source, facts, self.plan.jobs[i])
        counts = facts.counts(counted, zeros, cautions)
        shares = facts.known_shares(counted) if exact else {}
        lists = self.lists.parts if exact and self.lists is not None else None
        judged_at = {k: ExactMean.of(share) for k, share in shares.items()}
        made = MeanParts(made_of, judged_at, lists, facts.judged_documents)
        query_ids = index.query_ids.filter(pl.Series(counted))
        scores = Scores(
            source.name,
            source.tag,
            query_ids,
            values,
            why,
            means,
            counts,
            how.to_dict(),
            parts=made,
        )
        return scores if self.lists is None else self.lists.added_to(scores)

    def _facts(self, way: Way, index: JudgmentIndex) -> Facts:
        return Facts.of(
            [part for part in self.parts if part.way == way],
            len(index.query_ids),
            self.plan.cutoffs[way.duplicates],
        )

    def _values(self, job: Job, T: int) -> JobValues:
        """The values of one job for all queries."""
        way = self.plan.way(job.how)
        at = next(i for i, each in enumerate(self.plan.ways[way]) if each is job)
        found = JobValues.empty(job, T)
        for part in self.parts:
            if part.way == way:
                found.put(part.codes, part.values[at])
        return found
