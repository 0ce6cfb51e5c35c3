"""A run that is measured again and again, under one convention after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rankgate.core.errors import DuplicateError, RankgateError
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.plan import Plan
from rankgate.measurement.scoring.sources import measured

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.run import Duplicates
    from rankgate.data.scores import Scores
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment, Convention
    from rankgate.measurement.scoring.plan import Measurement
    from rankgate.measurement.scoring.sources import RunSource

_Formed = dict["Alignment", list["Aligned"]]


@dataclass(eq=False)
class CachedSource:
    """A run that is measured again and again from one reading.

    Of each way to form rankings only the judged documents and their ranks are kept. A way that
    was not announced to ``read`` costs one more reading of the run.

    Attributes:
        source: the run.
    """

    source: RunSource
    _formed: dict[Duplicates, _Formed] = field(default_factory=dict)
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
        """What it is measured against."""
        return self.source.judgments

    @property
    def duplicates(self) -> Duplicates | None:
        """Where nothing is ranked twice, every way to treat duplicates is the same."""
        return "error" if self._twice is None else None

    @property
    def zero(self) -> pl.Series:
        """Queries that ran and returned nothing."""
        return self.source.zero

    @property
    def cautions(self) -> Mapping[str, str]:
        """As of the run."""
        return self.source.cautions

    def first_rows(self) -> pl.DataFrame:
        """As of the run."""
        return self.source.first_rows()

    def read(self, ways: Iterable[Alignment]) -> None:
        """Form rankings in several ways at one reading, where they are not formed yet."""
        if self._twice is None:
            try:
                self._form(list(dict.fromkeys(ways)), "error")
            except DuplicateError as error:
                self._twice = error

    def score(
        self, metrics: Sequence[tuple[str, Metric]], hows: Sequence[Convention]
    ) -> list[Scores | RankgateError]:
        """What ``score`` gives for each convention, or why it cannot take these data."""
        self.read(
            way.alignment
            for how in hows
            for way in (how, *(how.for_metric(metric) for _, metric in metrics))
        )
        plan = Plan.of(metrics, hows, self.duplicates)
        try:
            total = measured(plan, self)
        except RankgateError as error:  # one of them; which one is found out one by one
            if len(hows) == 1:
                return [error]
            return [found for how in hows for found in self.score(metrics, [how])]
        return [self._score(total, i) for i in range(len(hows))]

    def _score(self, total: Measurement, i: int) -> Scores | RankgateError:
        try:
            return total.score(i, self)
        except RankgateError as error:
            return error

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """As of the run."""
        for rule, ways in plan.by_rule():
            if rule == "error" and self._twice is not None:
                raise self._twice
            formed = self._form([way.alignment for way in ways], rule)
            for way in ways:
                for aligned in formed[way.alignment]:
                    yield Block(way, aligned, self.judgments)

    def _form(self, ways: list[Alignment], rule: Duplicates) -> _Formed:
        formed = self._formed.setdefault(rule, {})
        fresh = [way for way in ways if way not in formed]
        if fresh:
            every = self.source.over_queries(lambda source: list(source.formed(rule, fresh)))
            formed |= {way: [batch[i] for batch in every] for i, way in enumerate(fresh)}
        return formed
