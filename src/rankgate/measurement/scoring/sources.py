"""Sources of rankings: yield blocks of whole queries for a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.run import SCHEMA, ScatteredError
from rankgate.measurement.scoring.alignment.align import align, empty_ranks
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.alignment.met import align_batch, align_scattered
from rankgate.measurement.scoring.plan import Measurement, Plan

if TYPE_CHECKING:
    from rankgate.data.run import Duplicates, Run
    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.alignment.met import AlignedRun
    from rankgate.measurement.scoring.convention import Alignment
    from rankgate.measurement.scoring.plan import Source

_Result = TypeVar("_Result")


def measure(plan: Plan, source: Source) -> Measurement:
    """Measure a plan over all blocks of a source.

    Raises:
        InputError, DuplicateError: an error in the rankings.
        UsageError: a kernel of the user's own fails.
    """

    def over(rankings: Source) -> Measurement:
        return reduce(
            Measurement.merge, map(plan.measure, rankings.blocks(plan)), Measurement(plan)
        )

    if not isinstance(source, RunSource):
        return add_empty_queries(over(source), source)
    return add_empty_queries(source.over_queries(over), source)


def add_empty_queries(total: Measurement, source: Source) -> Measurement:
    """Add the queries that retrieved nothing to a measurement."""
    T, plan = len(source.judgments.query_ids), total.plan
    codes = source.judgments.codes(source.zero)
    is_in_run = np.zeros(T, bool)
    is_in_run[codes[codes >= 0]] = True
    unknown = int((codes < 0).sum())
    for mode in plan.ways:
        has_results = np.zeros(T, bool)
        for block in total.parts:
            if block.way == mode:
                has_results[block.codes] = block.retrieved > 0
        absent = np.flatnonzero(~has_results)
        if len(absent) or unknown:
            empty = replace(empty_ranks(absent, is_in_run[absent]), unknown=unknown)
            total = total.merge(plan.measure(Block(mode, empty, source.judgments)))
    return total


@dataclass(frozen=True, eq=False)
class RunSource:
    """A run: a file, a frame or a dictionary.

    Attributes:
        run: the rankings.
        judgments: what they are measured against.
        scattered: True if the rows of a query are apart, as was found when they were read.
    """

    run: Run
    judgments: JudgmentIndex
    scattered: bool = False
    duplicates: Duplicates | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""
        return self.run.tag

    @property
    def label(self) -> str:
        """The file, for errors."""
        return self.run.place.label

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        queries = self.run.queries
        if queries is None:
            return pl.Series([], dtype=pl.String)
        return queries.filter(pl.col("state") == "zero")["query_id"]

    @property
    def cautions(self) -> Mapping[str, str]:
        """The cautions from reading the run."""
        return self.run.cautions

    def first_rows(self) -> pl.DataFrame:
        """The first rows of the run."""
        return next(iter(self.run.pieces()), pl.DataFrame(schema=SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """Yield the judged documents of each batch in every ranking mode of the plan."""
        for rule, ways in plan.by_rule():
            rankings = self.run.rankings
            if rankings is not None and all(_ranks_all_rows(mode.alignment) for mode in ways):
                from rankgate.measurement.scoring.alignment.mapping import align_mapping

                for mode in ways:
                    aligned = align_mapping(rankings, self.judgments, mode.alignment)
                    yield Block(mode, aligned, self.judgments)
                continue
            for aligned_run in self.met(rule):
                for mode in ways:
                    yield Block(mode, align(aligned_run, mode.alignment), self.judgments)

    def over_queries(self, use: Callable[[RunSource], _Result]) -> _Result:
        """Call a function on the source; call it again if the rows of a query are apart.

        Raises:
            InputError, DuplicateError: as ``Run.table``.
        """
        try:
            return use(self)
        except ScatteredError:
            pass  # free what the error holds before all rows are read again
        return use(replace(self, scattered=True))

    def formed(
        self, rule: Duplicates, alignments: Iterable[Alignment]
    ) -> Iterator[list[JudgedRanks]]:
        """Yield the judged documents of each batch, with ranks, in each alignment."""
        for aligned_run in self.met(rule):
            yield [align(aligned_run, alignment) for alignment in alignments]

    def met(self, rule: Duplicates) -> Iterator[AlignedRun]:
        """Yield batches aligned with judgments."""
        if self.scattered:
            return iter((align_scattered(self.run, rule, self.judgments),))
        return map(
            partial(align_batch, index=self.judgments), self.run.batches(rule)
        )  # keeps no batch


def _ranks_all_rows(how: Alignment) -> bool:
    """True if rankings are all the rows by their scores, as a dictionary is ranked at once."""
    every_row = how.above is None and how.absent is None and how.own_id == "kept"
    return how.order == "score" and every_row
