"""Score a run by measuring a plan on a source of rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import DuplicateError, RankgateError
from rankgate.core.frozen import dataclass
from rankgate.data.id_match import DO_NOT_FIT, NO_IDS
from rankgate.data.run import RUN_SCHEMA, ScatteredError
from rankgate.measurement.scoring.alignment.aligned_run import (
    align,
    align_batch,
    align_scattered,
    empty_ranks,
)
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import Block
from rankgate.measurement.scoring.scoring_plan import Measurement, Plan

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Duplicates, Run
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.aligned_run import AlignedRun, JudgedRanks
    from rankgate.measurement.scoring.convention import Alignment, Convention
    from rankgate.measurement.scoring.scoring_plan import Source


_Result = TypeVar("_Result")


def measure(plan: Plan, source: Source) -> Measurement:
    """Measure a plan over all blocks of a source.

    Raises:
        InputError, DuplicateError: the rankings have an error.
        UsageError: a kernel of the user fails.
    """

    def measure_source(rankings: Source) -> Measurement:
        return reduce(Measurement.merge, map(plan.measure, rankings.blocks(plan)), Measurement(plan))

    if not isinstance(source, RunSource):
        return add_empty_queries(measure_source(source), source)
    return add_empty_queries(source.over_queries(measure_source), source)


def add_empty_queries(total: Measurement, source: Source) -> Measurement:
    """Add the queries that retrieved nothing to a measurement."""
    T, plan = len(source.judgments.query_ids), total.plan
    codes = source.judgments.codes(source.zero)
    is_in_run = np.zeros(T, bool)
    is_in_run[codes[codes >= 0]] = True
    unknown = source.zero.filter(pl.Series(codes < 0))
    for mode in plan.ways:
        has_results = np.zeros(T, bool)
        for block in total.parts:
            if block.way == mode:
                has_results[block.codes] = block.retrieved > 0
        absent = np.flatnonzero(~has_results)
        if len(absent) or len(unknown):
            empty = replace(empty_ranks(absent, is_in_run[absent]), unknown=unknown)
            total = total.merge(plan.measure(Block(mode, empty, source.judgments)))
    return total


@dataclass(frozen=True, eq=False)
class RunSource:
    """A run from a file, a frame or a dictionary.

    Attributes:
        run: the rankings.
        judgments: the judgments.
        scattered: True if an earlier reading found that the rows of a query are scattered.
        duplicates: see `Source`.
        aligned_runs: the rows aligned with the judgments; None if each measurement aligns them.
    """

    run: Run
    judgments: JudgmentIndex
    scattered: bool = False
    duplicates: Duplicates | None = None
    aligned_runs: tuple[AlignedRun, ...] | None = None

    @classmethod
    def of_checked(cls, run: Run, judgments: JudgmentIndex) -> RunSource:
        """Align the rows of a run without duplicates, to use them more than once.

        Raises:
            InputError, DuplicateError: see ``Run.table``.
        """
        aligned_runs = run.over_queries(
            lambda batches: tuple(align_batch(batch, judgments) for batch in batches("error"))
        )
        return cls(run, judgments, duplicates="error", aligned_runs=aligned_runs)

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
        """The name of the file, for errors."""
        return self.run.place.label

    @property
    def states(self) -> pl.DataFrame | None:
        """``query_id`` and ``state`` of the queries, if the run has states."""
        return self.run.queries

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return NO_IDS if self.states is None else self.states.filter(state="zero")["query_id"]

    @property
    def cautions(self) -> Mapping[str, str]:
        """The cautions from reading the run."""
        return self.run.cautions

    def first_rows(self) -> pl.DataFrame:
        """The first rows of the run."""
        return next(iter(self.run.pieces()), pl.DataFrame(schema=RUN_SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """Yield the judged documents of each batch in every ranking mode of the plan."""
        for rule, ways in plan.by_rule():
            rankings = self.run.rankings if self.aligned_runs is None else None
            if rankings is not None and all(_ranks_all_rows(mode.alignment) for mode in ways):
                from rankgate.measurement.scoring.alignment.dict_alignment import align_mapping

                for mode in ways:
                    aligned = align_mapping(rankings, self.judgments, mode.alignment)
                    yield Block(mode, aligned, self.judgments)
                continue
            for aligned_run in self.aligned_batches(rule):
                for mode in ways:
                    yield Block(mode, align(aligned_run, mode.alignment), self.judgments)

    def over_queries(self, use: Callable[[RunSource], _Result]) -> _Result:
        """Call a function on the source; call it again if the rows of a query are scattered.

        Raises:
            InputError, DuplicateError: see ``Run.table``.
        """
        try:
            return use(self)
        except ScatteredError:
            pass  # free the rows that the error holds before all rows are read again
        return use(replace(self, scattered=True))

    def formed(self, rule: Duplicates, alignments: Iterable[Alignment]) -> Iterator[list[JudgedRanks]]:
        """Yield the judged documents of each batch, with ranks, in each alignment."""
        for aligned_run in self.aligned_batches(rule):
            yield [align(aligned_run, alignment) for alignment in alignments]

    def aligned_batches(self, rule: Duplicates) -> Iterator[AlignedRun]:
        """Yield batches aligned with judgments."""
        if self.aligned_runs is not None:
            return iter(self.aligned_runs)
        if self.scattered:
            return iter((align_scattered(self.run, rule, self.judgments),))
        return map(partial(align_batch, index=self.judgments), self.run.batches(rule))  # keeps no batch


def _ranks_all_rows(how: Alignment) -> bool:
    """True if rankings are all rows by score, as in the direct ranking of a dictionary."""
    every_row = how.above is None and how.absent is None and how.own_id == "kept"
    return how.order == "score" and every_row


_RanksByAlignment = dict["Alignment", list["JudgedRanks"]]


@dataclass(eq=False)
class CachedSource:
    """A run that is measured several times with one reading.

    Only the judged documents and their ranks are kept, for each alignment. An alignment that was
    not given to ``read`` needs one more reading of the run.

    Attributes:
        source: the run.
    """

    source: RunSource
    _formed: dict[Duplicates, _RanksByAlignment] = field(default_factory=dict)
    _twice: DuplicateError | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return self.source.name

    @property
    def tag(self) -> str | None:
        """The name in the run's file."""
        return self.source.tag

    @property
    def label(self) -> str:
        """The name of the file, for errors."""
        return self.source.label

    @property
    def judgments(self) -> JudgmentIndex:
        """The judgments that the run is measured against."""
        return self.source.judgments

    @property
    def duplicates(self) -> Duplicates | None:
        """The only rule for duplicates if no document is ranked twice; else None."""
        return "error" if self._twice is None else None

    @property
    def states(self) -> pl.DataFrame | None:
        """See `RunSource`."""
        return self.source.states

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return self.source.zero

    @property
    def cautions(self) -> Mapping[str, str]:
        """The cautions of the run."""
        return self.source.cautions

    def first_rows(self) -> pl.DataFrame:
        """The first rows of the run."""
        return self.source.first_rows()

    def read(self, alignments: Iterable[Alignment]) -> None:
        """Make rankings in several alignments with one reading, if they do not exist yet."""
        if self._twice is None:
            try:
                self._form(list(dict.fromkeys(alignments)), "error")
            except DuplicateError as error:
                self._twice = error

    def score(
        self, metrics: Sequence[tuple[str, Metric]], conventions: Sequence[Convention]
    ) -> list[RunScores | RankgateError]:
        """The scores under each convention, or the error if they cannot be computed."""
        self.read(
            scored_convention.alignment
            for convention in conventions
            for scored_convention in (convention, *(convention.for_metric(metric) for _, metric in metrics))
        )
        plan = Plan.from_conventions(metrics, conventions, self.duplicates)
        try:
            total = measure(plan, self)
        except RankgateError as error:  # if one convention fails, score each convention separately
            if len(conventions) == 1:
                return [error]
            return [scores for convention in conventions for scores in self.score(metrics, [convention])]
        return [self._score(total, i) for i in range(len(conventions))]

    def _score(self, total: Measurement, i: int) -> RunScores | RankgateError:
        try:
            return total.score(i, self)
        except RankgateError as error:
            if error.code == DO_NOT_FIT:  # under every convention
                raise
            return error

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """Yield the blocks of a plan."""
        for rule, ways in plan.by_rule():
            if rule == "error" and self._twice is not None:
                raise self._twice
            formed = self._form([mode.alignment for mode in ways], rule)
            for mode in ways:
                for aligned in formed[mode.alignment]:
                    yield Block(mode, aligned, self.judgments)

    def _form(self, alignments: list[Alignment], rule: Duplicates) -> _RanksByAlignment:
        formed = self._formed.setdefault(rule, {})
        new_alignments = [alignment for alignment in alignments if alignment not in formed]
        if new_alignments:
            batches = self.source.over_queries(lambda source: list(source.formed(rule, new_alignments)))
            formed |= {
                alignment: [batch[i] for batch in batches] for i, alignment in enumerate(new_alignments)
            }
        return formed


def score(
    qrels: Qrels | JudgmentIndex,
    run: Run,
    metrics: Sequence[tuple[str, Metric]],
    how: Convention,
    *,
    strict: bool = True,
) -> RunScores:
    """The values of metrics for every judged query, and their means.

    It accepts any set of whole queries: the values of parts equal those of the whole, bit for bit.

    Args:
        qrels: the judgments, or their index if several runs are scored.
        run: the rankings.
        metrics: the metrics with the labels for results.
        how: the convention.
        strict: True to raise an error if the run has no judged query.

    Raises:
        InputError: see ``Run.batches``; also if the run has no judged query, or if the convention
            does not accept missing or unknown queries.
    """
    index = qrels if isinstance(qrels, JudgmentIndex) else JudgmentIndex.from_judgments(qrels)
    source = RunSource(run, index)
    return measure(Plan.from_conventions(metrics, [how]), source).score(0, source, strict=strict)
