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
from rankgate.measurement.scoring.alignment.align import align, nothing
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.alignment.met import meet, meet_scattered
from rankgate.measurement.scoring.plan import Measurement, Plan

if TYPE_CHECKING:
    from rankgate.data.run import Duplicates, Run
    from rankgate.measurement.scoring.alignment.align import Aligned
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.alignment.met import Met
    from rankgate.measurement.scoring.convention import Alignment
    from rankgate.measurement.scoring.plan import Source

_Found = TypeVar("_Found")


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
    return with_empty(source.over_queries(over), source)


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
        scattered: whether the rows of a query are apart, as was found when they were read.
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
        """What was noticed when the run was read."""
        return self.run.cautions

    def first_rows(self) -> pl.DataFrame:
        """The first rows of the run."""
        return next(iter(self.run.pieces()), pl.DataFrame(schema=SCHEMA))

    def blocks(self, plan: Plan) -> Iterator[Block]:
        """The judged documents of each batch in every way of the plan."""
        for rule, ways in plan.by_rule():
            rankings = self.run.rankings
            if rankings is not None and all(_plain(way.alignment) for way in ways):
                from rankgate.measurement.scoring.alignment.mapping import align_mapping

                for way in ways:
                    aligned = align_mapping(rankings, self.judgments, way.alignment)
                    yield Block(way, aligned, self.judgments)
                continue
            for met in self.met(rule):
                for way in ways:
                    yield Block(way, align(met, way.alignment), self.judgments)

    def over_queries(self, use: Callable[[RunSource], _Found]) -> _Found:
        """What a function makes of the source; again, where a query's rows turn out to be apart.

        Raises:
            InputError, DuplicateError: as ``Run.table``.
        """
        try:
            return use(self)
        except ScatteredError:
            pass  # the error holds what was read, and goes before all is read again
        return use(replace(self, scattered=True))

    def formed(self, rule: Duplicates, ways: Iterable[Alignment]) -> Iterator[list[Aligned]]:
        """The judged documents of each batch, with ranks, in each of some ways."""
        for met in self.met(rule):
            yield [align(met, way) for way in ways]

    def met(self, rule: Duplicates) -> Iterator[Met]:
        """Batches and judgments brought together."""
        if self.scattered:
            return iter((meet_scattered(self.run, rule, self.judgments),))
        return map(partial(meet, index=self.judgments), self.run.batches(rule))  # keeps no batch


def _plain(how: Alignment) -> bool:
    """True if rankings are all the rows by their scores, as a dictionary is ranked at once."""
    every_row = how.above is None and how.absent is None and how.own_id == "kept"
    return how.order == "score" and every_row
