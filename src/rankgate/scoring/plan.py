"""What is to be computed: metrics under conventions, grouped by how rankings are formed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.metrics.views import LISTS, RANKING, SUBTOPICS
from rankgate.scoring.blocks import blocks
from rankgate.scoring.job import Job
from rankgate.scoring.kernels import computed
from rankgate.scoring.measurement import Measurement, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from rankgate.data.run import Duplicates
    from rankgate.metrics.declare import Metric
    from rankgate.metrics.views import View
    from rankgate.scoring.align import Aligned
    from rankgate.scoring.convention import Alignment, Convention
    from rankgate.scoring.judgments import JudgmentIndex

SHOWN = 10
"""The cutoff at which every result says how much was judged."""


@dataclass(frozen=True)
class Way:
    """How rankings are formed: what a document ranked twice is, and the alignment."""

    duplicates: Duplicates
    alignment: Alignment


@dataclass(frozen=True, eq=False)
class Block:
    """Whole queries, whose rankings are formed in one way.

    Attributes:
        way: how they are formed.
        aligned: their judged documents, with ranks and grades.
        judgments: what they are measured against.
    """

    way: Way
    aligned: Aligned
    judgments: JudgmentIndex

    def seen_as(self, view: View) -> Iterable[tuple[NDArray[np.int64], Any]]:
        """What kernels of a view see: places among the queries of the block, and the input."""
        if view == RANKING:
            return blocks(self.aligned, self.judgments)
        if view == SUBTOPICS:
            from rankgate.scoring.subtopics import subtopic_blocks  # noqa: PLC0415 - few need it

            return subtopic_blocks(self.aligned, self.judgments)
        assert view.build is not None  # noqa: S101 - only views of a user's own have other names
        return view.build(self)


class Source(Protocol):
    """Rankings that are measured: a file, a frame, a dictionary, a matrix, lists, …"""

    @property
    def name(self) -> str:
        """What results call the run."""

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""

    @property
    def label(self) -> str:
        """Where it comes from, for errors."""

    @property
    def judgments(self) -> JudgmentIndex:
        """What it is measured against."""

    @property
    def duplicates(self) -> Duplicates | None:
        """The one way to treat duplicates, where rankings have none; else None."""

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The blocks of a plan; each query that retrieved anything is in one for each way."""

    def query_ids(self) -> pl.Series:
        """Some queries of the run, for the error where none of them is judged."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Metrics under conventions.

    Attributes:
        conventions: whose numbers are wanted.
        jobs: for each of them the metrics.
        duplicates: treats all ways alike, where it is known that nothing is ranked twice.
    """

    conventions: tuple[Convention, ...]
    jobs: tuple[tuple[Job, ...], ...]
    duplicates: Duplicates | None = None

    @classmethod
    def of(
        cls,
        metrics: Sequence[tuple[str, Metric]],
        conventions: Sequence[Convention],
        duplicates: Duplicates | None = None,
    ) -> Plan:
        """The plan for metrics of rankings and of subtopics; those of lists are left out."""
        some = [(label, metric) for label, metric in metrics if metric.view != LISTS]
        jobs = tuple(tuple(Job.of(*pair, how) for pair in some) for how in conventions)
        return cls(tuple(conventions), jobs, duplicates)

    def way(self, how: Convention) -> Way:
        """How a convention forms rankings."""
        return Way(self.duplicates or how.duplicates, how.alignment)

    @cached_property
    def ways(self) -> Mapping[Way, tuple[Job, ...]]:
        """The jobs of every way; ways that no metric needs say what stands behind the means."""
        grouped: dict[Way, list[Job]] = {self.way(how): [] for how in self.conventions}
        for job in (job for some in self.jobs for job in some):
            grouped.setdefault(self.way(job.how), []).append(job)
        return {way: tuple(jobs) for way, jobs in grouped.items()}

    def by_rule(self) -> Iterator[tuple[Duplicates, list[Way]]]:
        """The ways, by how they treat duplicates: each needs a reading of its own."""
        for rule in dict.fromkeys(way.duplicates for way in self.ways):
            yield rule, [way for way in self.ways if way.duplicates == rule]

    @cached_property
    def cutoffs(self) -> Mapping[Duplicates, tuple[int, ...]]:
        """Where the share of judged documents is wanted, by how duplicates are treated."""
        found: dict[Duplicates, set[int]] = {way.duplicates: {SHOWN} for way in self.ways}
        for way, jobs in self.ways.items():
            found[way.duplicates] |= {job.cutoff for job in jobs if job.cutoff is not None}
        return {rule: tuple(sorted(cuts)) for rule, cuts in found.items()}

    def depth(self, way: Way) -> int | None:
        """How far rankings have to be looked at; None is to their end."""
        depths = [None if way.alignment.judged_only else SHOWN]
        depths += [job.depth for job in self.ways[way]]
        known = [depth for depth in depths if depth is not None]
        return max(known) if len(known) == len(depths) else None

    def measure(self, block: Block) -> Measurement:
        """The values of a block of whole queries.

        Raises:
            UsageError: a kernel of the user's own fails; the error names a query.
        """
        jobs = self.ways[block.way]
        values = computed(block, jobs)
        part = Part.of(block, values, self.cutoffs[block.way.duplicates])
        return Measurement(self, (part,))
