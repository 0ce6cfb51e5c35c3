"""What the differences of two runs add up to, also by slices of the queries."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.scores import REASONS
from rankgate.measurement.evaluation.batch_totals import merged
from rankgate.measurement.metrics.exact import ExactMean
from rankgate.spark.totals import Moments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from rankgate.data.inputs import TagsLike
    from rankgate.data.scores import Scores

    Floats = NDArray[np.float64]

Slice = tuple[str, str]
"""A tag and one of its values; both empty for all queries."""

ALL: Slice = ("", "")

Lacking = tuple[int, tuple[str, ...]]
"""How many queries are lacking, and the first few of them."""

_NONE: tuple[Lacking, Lacking] = ((0, ()), (0, ()))
_SHOWN = 4
_MISSING = REASONS.index("missing")


@dataclass(frozen=True)
class PairSums:
    """What one metric's values of two runs add up to, over the queries where both have one.

    Attributes:
        baseline, candidate: the sums of values.
        delta: the sums of the differences and of their squares.
        wins, losses: differences above the band, and below it.
        least, greatest: difference.
    """

    baseline: ExactMean = field(default_factory=ExactMean)
    candidate: ExactMean = field(default_factory=ExactMean)
    delta: Moments = field(default_factory=Moments)
    wins: int = 0
    losses: int = 0
    least: float = math.inf
    greatest: float = -math.inf

    @classmethod
    def of(cls, before: Floats, after: Floats, band: float) -> PairSums:
        """The sums of two values each; NaN is no value."""
        known = ~np.isnan(after - before)
        before, after = before[known], after[known]
        delta = after - before
        return cls(
            ExactMean.of(before),
            ExactMean.of(after),
            Moments.of(delta),
            int((delta > band).sum()),
            int((delta < -band).sum()),
            float(delta.min(initial=math.inf)),
            float(delta.max(initial=-math.inf)),
        )

    def __add__(self, other: PairSums) -> PairSums:
        """The sums over both."""
        return PairSums(
            self.baseline + other.baseline,
            self.candidate + other.candidate,
            self.delta + other.delta,
            self.wins + other.wins,
            self.losses + other.losses,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
        )

    def plain(self) -> list[Any]:
        """As plain values."""
        ends = [self.wins, self.losses, self.least, self.greatest]
        return [
            list(astuple(self.baseline)), list(astuple(self.candidate)), self.delta.plain(), *ends
        ]  # fmt: skip

    @classmethod
    def from_plain(cls, values: list[Any]) -> PairSums:
        """From `plain`."""
        before, after, delta, *ends = values
        return cls(ExactMean(*before), ExactMean(*after), Moments.from_plain(delta), *ends)


@dataclass(frozen=True)
class PairTotals:
    """The sums of each metric of two runs, for all queries and for each slice.

    Attributes:
        sums: by slice and metric.
        lacking: for the baseline and the candidate how many queries only the other ran, and the
            first few of them.
    """

    sums: Mapping[tuple[Slice, str], PairSums] = field(default_factory=dict)
    lacking: tuple[Lacking, Lacking] = _NONE

    @classmethod
    def of(
        cls,
        before: Scores,
        after: Scores,
        groups: Mapping[Slice, Floats],
        band: float,
        *,
        drop: bool,
    ) -> PairTotals:
        """The sums of the scores of two runs on some queries.

        Args:
            before: of the baseline.
            after: of the candidate.
            groups: for each slice which queries of the baseline are in it.
            band: differences up to this size count as ties.
            drop: whether queries that only one run has are left out.
        """
        place = _places(before, after)
        one = _missing(before)
        two = np.where(place >= 0, _missing(after)[place], False)  # noqa: FBT003 - of an array
        left_out = drop & (one ^ two)
        sums = {}
        for label, mine in before.values.items():
            theirs = np.where((place >= 0) & ~left_out, after.values[label][place], np.nan)
            for name, inside in groups.items():
                sums[name, label] = PairSums.of(mine[inside], theirs[inside], band)
        return cls(sums, (_lacking(before, one & ~two), _lacking(before, two & ~one)))

    def __add__(self, other: PairTotals) -> PairTotals:
        """Both together."""
        first, second = map(_both, self.lacking, other.lacking)
        return PairTotals(merged(self.sums, other.sums, add), (first, second))

    def to_json(self) -> str:
        """As text, to be sent."""
        rows = [[*where, label, each.plain()] for (where, label), each in self.sums.items()]
        return json.dumps({"pairs": rows, "lacking": self.lacking})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From `to_json`."""
        found = json.loads(text)
        sums = {((tag, value), label): PairSums.from_plain(each)
                for tag, value, label, each in found["pairs"]}  # fmt: skip
        first, second = ((count, tuple(some)) for count, some in found["lacking"])
        return cls(sums, (first, second))


def summed_pairs(texts: Iterable[str]) -> PairTotals:
    """The sum of totals that were sent."""
    return reduce(add, map(PairTotals.from_json, texts), PairTotals())


def groups_of(
    query_ids: pl.Series,
    tags: TagsLike | None,
    slices: tuple[str, ...],
    *,
    tagged: bool = False,
) -> dict[Slice, Any]:
    """For each slice which of some queries are in it; ``ALL`` is every one.

    Args:
        query_ids: the queries.
        tags: a table or a pattern.
        slices: the tags whose values are slices.
        tagged: whether queries that the table does not have are in no slice, as in evaluations;
            else they are among those without a value, as in comparisons.

    Raises:
        UsageError: a tag that no query has.
    """
    found: dict[Slice, Any] = {ALL: np.ones(len(query_ids), bool)}
    if not slices or tags is None:
        return found
    from rankgate.data.formats.tags import tags_of

    table = tags_of(tags, query_ids.alias("query_id"), slices)
    joined = (
        query_ids.alias("query_id")
        .to_frame()
        .join(table, on="query_id", how="left", maintain_order="left")
    )
    every = query_ids.is_in(table["query_id"].implode()).to_numpy()
    inside = every if tagged else np.ones(len(query_ids), bool)
    for tag in slices:
        if tag not in table.columns:
            known = ", ".join(name for name in table.columns if name != "query_id") or "none"
            problem = f"no tag is called {tag!r}; queries have {known}."
            raise UsageError(problem, code="unknown-tag")
        values = joined[tag].cast(pl.String).fill_null("(none)")
        found |= {
            (tag, str(each)): (values == each).to_numpy() & inside
            for each in values.filter(pl.Series(inside)).unique()
        }
    return found


def _missing(scores: Scores) -> NDArray[np.bool_]:
    """Which queries the run does not have."""
    found: NDArray[np.bool_] = next(iter(scores.why.values())) == _MISSING
    return found


def _lacking(scores: Scores, some: NDArray[np.bool_]) -> Lacking:
    return int(some.sum()), tuple(scores.query_ids.filter(pl.Series(some)).sort()[:_SHOWN])


def _both(one: Lacking, two: Lacking) -> Lacking:
    return one[0] + two[0], tuple(sorted((*one[1], *two[1]))[:_SHOWN])


def _places(before: Scores, after: Scores) -> NDArray[np.int64]:
    """The place of each query of one among those of the other; -1 for one that is not there."""
    if before.query_ids.equals(after.query_ids):
        return np.arange(len(before.query_ids))
    known = {query: place for place, query in enumerate(after.query_ids)}
    return np.array([known.get(query, -1) for query in before.query_ids], np.int64)


def slices_of(totals: PairTotals, tag: str) -> Iterator[str]:
    """The values of a tag that queries have."""
    from rankgate.measurement.evaluation.slices import in_order

    yield from in_order(list(dict.fromkeys(value for (own, value), _ in totals.sums if own == tag)))
