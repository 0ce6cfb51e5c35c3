"""Sources: what holds rankings, and yields the blocks of whole queries that a plan needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.errors import DuplicateError
from rankgate.scoring.align import align, meet, nothing
from rankgate.scoring.mapping import align_mapping
from rankgate.scoring.measurement import Measurement
from rankgate.scoring.plan import Block, Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rankgate.data.run import Batches, Duplicates, Run
    from rankgate.scoring.align import Aligned, Met
    from rankgate.scoring.convention import Alignment
    from rankgate.scoring.judgments import JudgmentIndex
    from rankgate.scoring.plan import Source

def measured(plan: Plan, source: Source) -> Measurement:
    """Everything that a plan says, over all blocks of a source.

    Raises:
        InputError, DuplicateError: what is wrong with the rankings.
        UsageError: a kernel of the user's own fails.
    """

    def over(each: Source) -> Measurement:
        return reduce(Measurement.merge, map(plan.measure, each.blocks(plan)), Measurement(plan))

    if not isinstance(source, RunSource):
        return with_empty(over(source), source)
    total = source.run.over_queries(lambda batches: over(replace(source, batches=batches)))
    return with_empty(total, source)


def with_empty(total: Measurement, source: Source) -> Measurement:
    """What was measured, and the queries that retrieved nothing."""
    T, plan = len(source.judgments.query_ids), total.plan
    codes = source.judgments.codes(source.zero)
    ran = np.zeros(T, bool)
    ran[codes[codes >= 0]] = True
    unknown = int((codes < 0).sum())
    for way in plan.ways:
        there = np.zeros(T, bool)
        for part in total.parts:
            if part.way == way:
                there[part.codes] = part.retrieved > 0
        absent = np.flatnonzero(~there)
        if len(absent) or unknown:
            empty = replace(nothing(absent, ran[absent]), unknown=unknown)
            total = total.merge(plan.measure(Block(way, empty, source.judgments)))
    return total


@dataclass(frozen=True, eq=False)
class RunSource:
    """A run: a file, a frame or a dictionary.

    Attributes:
        run: the rankings.
        judgments: what they are measured against.
        batches: reads them; as the run does if not given.
    """

    run: Run
    judgments: JudgmentIndex
    batches: Batches | None = None
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

    def query_ids(self) -> pl.Series:
        """Those of the first rows."""
        return next(iter(self.run.pieces()), pl.DataFrame({"query_id": []}))["query_id"]

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The judged documents of each batch in every way of the plan."""
        for rule, ways in plan.by_rule():
            rankings = self.run.rankings
            if rankings is not None and all(_plain(way.alignment) for way in ways):
                for way in ways:
                    aligned = align_mapping(rankings, self.judgments, way.alignment)
                    yield Block(way, aligned, self.judgments)
                continue
            for met in self.met(rule):
                for way in ways:
                    yield Block(way, align(met, way.alignment), self.judgments)

    def formed(self, rule: Duplicates, ways: Iterable[Alignment]) -> Iterator[list[Aligned]]:
        """The judged documents of each batch, with ranks, in each of some ways."""
        for met in self.met(rule):
            yield [align(met, way) for way in ways]

    def met(self, rule: Duplicates) -> Iterator[Met]:
        """Batches and judgments brought together."""
        read = self.batches or self.run.batches
        return (meet(batch, self.judgments) for batch in read(rule))


def _plain(how: Alignment) -> bool:
    """Whether rankings are all the rows by their scores, as a dictionary is ranked at once."""
    return how.order == "score" and how.above is None and how.absent is None


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

    def query_ids(self) -> pl.Series:
        """As of the run."""
        return self.source.query_ids()

    def read(self, ways: Iterable[Alignment]) -> None:
        """Form rankings in several ways at one reading, where they are not formed yet."""
        if self._twice is None:
            try:
                self._form(list(dict.fromkeys(ways)), "error")
            except DuplicateError as error:
                self._twice = error

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
            every = self.source.run.over_queries(
                lambda batches: list(replace(self.source, batches=batches).formed(rule, fresh))
            )
            formed |= {way: [batch[i] for batch in every] for i, way in enumerate(fresh)}
        return formed
