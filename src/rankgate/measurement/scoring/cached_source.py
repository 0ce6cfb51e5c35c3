"""A run that is measured repeatedly, under several conventions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankgate.core.errors import DuplicateError, RankgateError
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.plan import Plan
from rankgate.measurement.scoring.sources import measure

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.run import Duplicates
    from rankgate.data.scores import RunScores
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.alignment.align import JudgedRanks
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment, Convention
    from rankgate.measurement.scoring.plan import Measurement
    from rankgate.measurement.scoring.sources import RunSource

_RanksByAlignment = dict["Alignment", list["JudgedRanks"]]


@dataclass(eq=False)
class CachedSource:
    """A run that is measured repeatedly from one reading.

    Only the judged documents and their ranks are kept, for each alignment. An alignment that
    was not announced to ``read`` costs one more reading of the run.

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
        """The file, for errors."""
        return self.source.label

    @property
    def judgments(self) -> JudgmentIndex:
        """The judgments that the run is measured against."""
        return self.source.judgments

    @property
    def duplicates(self) -> Duplicates | None:
        """The one rule for duplicates if no document is ranked twice; else None."""
        return "error" if self._twice is None else None

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
        """Form rankings in several alignments at one reading, if they are not formed yet."""
        if self._twice is None:
            try:
                self._form(list(dict.fromkeys(alignments)), "error")
            except DuplicateError as error:
                self._twice = error

    def score(
        self, metrics: Sequence[tuple[str, Metric]], conventions: Sequence[Convention]
    ) -> list[RunScores | RankgateError]:
        """The scores under each convention, or the error that prevents them."""
        self.read(
            scored_convention.alignment
            for convention in conventions
            for scored_convention in (
                convention,
                *(convention.for_metric(metric) for _, metric in metrics),
            )
        )
        plan = Plan.of(metrics, conventions, self.duplicates)
        try:
            total = measure(plan, self)
        except RankgateError as error:  # one convention fails: score one by one
            if len(conventions) == 1:
                return [error]
            return [
                scores for convention in conventions for scores in self.score(metrics, [convention])
            ]
        return [self._score(total, i) for i in range(len(conventions))]

    def _score(self, total: Measurement, i: int) -> RunScores | RankgateError:
        try:
            return total.score(i, self)
        except RankgateError as error:
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
            batches = self.source.over_queries(
                lambda source: list(source.formed(rule, new_alignments))
            )
            formed |= {
                alignment: [batch[i] for batch in batches]
                for i, alignment in enumerate(new_alignments)
            }
        return formed
