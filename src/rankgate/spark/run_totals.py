"""Sums over partitions, and sums of the differences of two runs.

Sums over partitions are exact sums with second moments, in any order. Differences of two runs
are also summed by slices of the queries.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import astuple, field, replace
from functools import cached_property, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.id_match import IdMatch
from rankgate.data.run_scores import REASONS, Counts, GroupSums, hash_queries
from rankgate.measurement.evaluation.accumulator import SUMMED_COUNTS, merge_mappings
from rankgate.measurement.metrics.judged_block import ExactMean
from rankgate.measurement.scoring.scoring_facts import BatchCautions, partly_fit
from rankgate.measurement.scoring.scoring_job import mean_of_parts, sum_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import TagsLike
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.scoring.scoring_job import Job


_MAX_UNMATCHED = 1000  # queries of each side that are kept to look for near fits
_COUNTED = (*SUMMED_COUNTS, "against_scores", "zeros_relevant")


@dataclass(frozen=True)
class Moments:
    """Sums of numbers and of their squares, for the mean and variance of any union of parts.

    Attributes:
        first: the exact sum of the numbers, with their count.
        second: the exact sum of their squares, each rounded once.
    """

    first: ExactMean = field(default_factory=ExactMean)
    second: ExactMean = field(default_factory=ExactMean)

    @classmethod
    def from_numbers(cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> Moments:
        """The sums of the numbers ``(n,)``; weighted sums for weighted means."""
        return cls(ExactMean.from_values(values, weights), ExactMean.from_values(values * values, weights))

    def __add__(self, addend: Moments) -> Moments:
        """The sums over the numbers of both."""
        return Moments(self.first + addend.first, self.second + addend.second)

    @property
    def variance(self) -> float:
        """Σ(x − mean)² / (n − 1); NaN for fewer than two numbers."""
        n = self.first.count
        if n < 2 or self.first.undefined:
            return math.nan
        square_sum = self.second.sum - self.first.sum * self.first.sum / n
        return max(square_sum, 0.0) / (n - 1)

    def plain(self) -> list[Any]:
        """The sums as plain values."""
        return [list(astuple(self.first)), list(astuple(self.second))]

    @classmethod
    def from_plain(cls, values: Sequence[Sequence[Any]]) -> Moments:
        """From `plain`."""
        return cls(ExactMean(*values[0]), ExactMean(*values[1]))


@dataclass(frozen=True)
class RunTotals:
    """The sums of one run over some queries.

    Attributes:
        counts: the counts by name, as in `Counts`.
        means: by metric, the `Moments` of its terms and the number of queries with a hit.
        judged_at: the share of judged documents, by cutoff.
        judged: the number of judged queries.
        unmatched_queries: judged queries that the run lacks, and queries of the run without judgments;
            in order, at most `_MAX_UNMATCHED` of each.
        groups: the sums of groups of queries, by metric; only for metrics that are plain means.
        slices: the `Moments` of the values of the slice's queries, by tag, value and metric.
        cautions: notes for the reader on the judgments and the run.
    """

    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    means: Mapping[str, tuple[Moments, int]] = field(default_factory=dict)
    judged_at: Mapping[int, ExactMean] = field(default_factory=dict)
    judged: int = 0
    unmatched_queries: tuple[Sequence[str], ...] = ((), ())
    groups: Mapping[str, GroupSums] = field(default_factory=dict)
    slices: Mapping[tuple[str, str, str], Moments] = field(default_factory=dict)
    cautions: BatchCautions = field(default_factory=BatchCautions)

    @classmethod
    def from_scores(cls, scores: RunScores, jobs: Iterable[Job]) -> RunTotals:
        """The sums of scores, which must be computed with ``exact``.

        Args:
            scores: the scores of some queries.
            jobs: the metrics of the scores.
        """
        means, groups, ids = {}, {}, hash_queries(scores.query_ids)
        for job in jobs:
            exact_mean, hits = scores.parts.means[job.label]
            metric_terms, _ = sum_terms(scores.values[job.label], scores.why[job.label], job)
            weighted = job.metric.aggregate == "weighted"
            second = ExactMean() if weighted else ExactMean.from_values(metric_terms * metric_terms)
            means[job.label] = Moments(exact_mean, second), hits
            if job.metric.aggregate == "mean":
                groups[job.label] = GroupSums.from_queries(ids, scores.values[job.label])
        counts = {name: getattr(scores.counts, name) for name in _COUNTED}
        cautions = BatchCautions.combine(scores)
        return cls(counts, means, dict(scores.parts.judged_at), groups=groups, cautions=cautions)

    @classmethod
    def of_slices(cls, scores: RunScores, groups: Mapping[tuple[str, str], Any]) -> RunTotals:
        """The totals with sums of slices only.

        Args:
            scores: the scores of some queries.
            groups: (Q,) True for the queries of the slice, by tag and value.
        """
        return cls(
            slices={
                (*slice_key, label): Moments.from_numbers(values[is_inside & ~np.isnan(values)])
                for slice_key, is_inside in groups.items()
                for label, values in scores.values.items()
            }
        )

    def __add__(self, addend: RunTotals) -> RunTotals:
        """The totals of both together."""
        return RunTotals(
            {name: self.counts[name] + addend.counts[name] for name in _COUNTED},
            merge_mappings(
                self.means, addend.means, lambda first, second: (first[0] + second[0], first[1] + second[1])
            ),
            merge_mappings(self.judged_at, addend.judged_at, add),
            self.judged + addend.judged,
            tuple(
                sorted((*first, *second))[:_MAX_UNMATCHED]
                for first, second in zip(self.unmatched_queries, addend.unmatched_queries, strict=True)
            ),
            merge_mappings(self.groups, addend.groups, add),
            merge_mappings(self.slices, addend.slices, add),
            self.cautions + addend.cautions,
        )

    def value(self, job: Job) -> float:
        """The value of a metric, computed by `mean_of_parts`."""
        if job.label not in self.means:
            return math.nan
        moments, hits = self.means[job.label]
        parts = np.array([moments.first.sum, moments.first.count, hits])
        return mean_of_parts(parts, job, self.counts["unknown_queries"])

    def known_counts(self) -> Counts:
        """The counts behind the means."""
        judged = {k: judged_share.value for k, judged_share in sorted(self.judged_at.items())}
        cautions = partly_fit({"query": self.match}) | self.cautions.of_run
        return Counts(judged_at=judged, cautions=cautions, **self.counts)  # type: ignore[arg-type]

    @cached_property
    def match(self) -> IdMatch:
        """How the queries of judgments and run meet; near fits are those of `unmatched_queries`."""
        missing, unknown = self.counts["missing"], self.counts["unknown_queries"]
        shared = self.judged - missing
        match = IdMatch.from_unmatched(
            shared, *(pl.Series(ids, dtype=pl.String) for ids in self.unmatched_queries)
        )
        return replace(match, left=self.judged, right=shared + unknown, only_left=missing, only_right=unknown)

    def to_json(self) -> str:
        """The totals as text, to be sent."""
        return json.dumps(
            {
                "counts": self.counts,
                "means": {name: [moments.plain(), hits] for name, (moments, hits) in self.means.items()},
                "judged_at": {k: list(astuple(judged_share)) for k, judged_share in self.judged_at.items()},
                "judged": self.judged,
                "unmatched_queries": self.unmatched_queries,
                "groups": {name: sums.packed() for name, sums in self.groups.items()},
                "slices": [[*slice_key, moments.plain()] for slice_key, moments in self.slices.items()],
                "cautions": vars(self.cautions),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From `to_json`."""
        plain_totals = json.loads(text)
        means = {
            name: (Moments.from_plain(moments), hits)
            for name, (moments, hits) in plain_totals["means"].items()
        }
        judged_at = {
            int(k): ExactMean(*judged_share) for k, judged_share in plain_totals["judged_at"].items()
        }
        groups = {
            name: GroupSums.from_packed(packed_sums) for name, packed_sums in plain_totals["groups"].items()
        }
        slices = {
            (*slice_key,): Moments.from_plain(moments) for *slice_key, moments in plain_totals["slices"]
        }
        cautions = BatchCautions(**plain_totals["cautions"])
        judged, unmatched_queries = plain_totals["judged"], tuple(plain_totals["unmatched_queries"])
        return cls(
            plain_totals["counts"], means, judged_at, judged, unmatched_queries, groups, slices, cautions
        )


def sum_totals(texts: Iterable[str]) -> RunTotals:
    """The sum of totals that executors sent."""
    return reduce(add, map(RunTotals.from_json, texts), RunTotals())


Slice = tuple[str, str]
"""A tag and one of its values; both empty for all queries."""

ALL: Slice = ("", "")

Lacking = tuple[int, tuple[str, ...]]
"""The number of lacking queries, and the first few of them."""

_NONE: tuple[Lacking, Lacking] = ((0, ()), (0, ()))
_SHOWN = 4
_MISSING = REASONS.index("missing")


@dataclass(frozen=True)
class PairSums:
    """Sums of one metric's values of two runs, over the queries where both runs have a value.

    Attributes:
        baseline, candidate: the sums of values.
        delta: the sums of the differences and of their squares.
        wins, losses: the number of differences above the band, and below minus the band.
        least, greatest: the smallest and the largest difference.
    """

    baseline: ExactMean = field(default_factory=ExactMean)
    candidate: ExactMean = field(default_factory=ExactMean)
    delta: Moments = field(default_factory=Moments)
    wins: int = 0
    losses: int = 0
    least: float = math.inf
    greatest: float = -math.inf

    @classmethod
    def from_values(cls, before: Floats, after: Floats, band: float) -> PairSums:
        """The sums from the values of both runs; NaN is a missing value."""
        is_known = ~np.isnan(after - before)
        before, after = before[is_known], after[is_known]
        delta = after - before
        return cls(
            ExactMean.from_values(before),
            ExactMean.from_values(after),
            Moments.from_numbers(delta),
            int((delta > band).sum()),
            int((delta < -band).sum()),
            float(delta.min(initial=math.inf)),
            float(delta.max(initial=-math.inf)),
        )

    def __add__(self, addend: PairSums) -> PairSums:
        """The sums over the queries of both."""
        return PairSums(
            self.baseline + addend.baseline,
            self.candidate + addend.candidate,
            self.delta + addend.delta,
            self.wins + addend.wins,
            self.losses + addend.losses,
            min(self.least, addend.least),
            max(self.greatest, addend.greatest),
        )

    def plain(self) -> list[Any]:
        """The sums as plain values."""
        ends = [self.wins, self.losses, self.least, self.greatest]
        return [list(astuple(self.baseline)), list(astuple(self.candidate)), self.delta.plain(), *ends]

    @classmethod
    def from_plain(cls, values: list[Any]) -> PairSums:
        """From `plain`."""
        before, after, delta, *ends = values
        return cls(ExactMean(*before), ExactMean(*after), Moments.from_plain(delta), *ends)


@dataclass(frozen=True)
class PairTotals:
    """The sums of each metric of two runs, for all queries and for each slice.

    Attributes:
        sums: the sums by slice and metric.
        lacking: for the baseline and for the candidate: the number of queries that only the other
            run has, and the first few such queries.
    """

    sums: Mapping[tuple[Slice, str], PairSums] = field(default_factory=dict)
    lacking: tuple[Lacking, Lacking] = _NONE

    @classmethod
    def from_scores(
        cls, before: RunScores, after: RunScores, groups: Mapping[Slice, Floats], band: float, *, drop: bool
    ) -> PairTotals:
        """The sums of the scores of two runs on some queries.

        Args:
            before: the scores of the baseline.
            after: the scores of the candidate.
            groups: for each slice (Q,) True for its queries of the baseline.
            band: differences up to this size count as ties.
            drop: True to leave out queries that are in only one run.
        """
        index_in_after = _places(before, after)
        is_missing_before = _missing(before)
        is_missing_after = np.where(index_in_after >= 0, _missing(after)[index_in_after], False)  # noqa: FBT003 - of an array
        is_left_out = drop & (is_missing_before ^ is_missing_after)
        sums = {}
        for label, before_values in before.values.items():
            after_values = np.where(
                (index_in_after >= 0) & ~is_left_out, after.values[label][index_in_after], np.nan
            )
            for name, is_inside in groups.items():
                sums[name, label] = PairSums.from_values(
                    before_values[is_inside], after_values[is_inside], band
                )
        return cls(
            sums,
            (
                _count_lacking(before, is_missing_before & ~is_missing_after),
                _count_lacking(before, is_missing_after & ~is_missing_before),
            ),
        )

    def __add__(self, addend: PairTotals) -> PairTotals:
        """The totals of both together."""
        first, second = map(_add_lacking, self.lacking, addend.lacking)
        return PairTotals(merge_mappings(self.sums, addend.sums, add), (first, second))

    def to_json(self) -> str:
        """The totals as text, to be sent."""
        rows = [[*slice_, label, sums.plain()] for (slice_, label), sums in self.sums.items()]
        return json.dumps({"pairs": rows, "lacking": self.lacking})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From `to_json`."""
        plain_totals = json.loads(text)
        sums = {
            ((tag, value), label): PairSums.from_plain(sums)
            for tag, value, label, sums in plain_totals["pairs"]
        }
        first, second = ((count, tuple(query_ids)) for count, query_ids in plain_totals["lacking"])
        return cls(sums, (first, second))


def sum_pair_totals(texts: Iterable[str]) -> PairTotals:
    """The sum of totals that executors sent."""
    return reduce(add, map(PairTotals.from_json, texts), PairTotals())


def slice_masks(
    query_ids: pl.Series, tags: TagsLike | None, slices: tuple[str, ...], *, tagged: bool = False
) -> dict[Slice, Any]:
    """For each slice, True for its queries; the slice ``ALL`` has all queries.

    Args:
        query_ids: the queries.
        tags: a table or a pattern.
        slices: the tags whose values are slices.
        tagged: True if queries outside of the table are in no slice, as in evaluations; else they
            count as queries without a value, as in comparisons.

    Raises:
        UsageError: a tag that no query has.
    """
    groups: dict[Slice, Any] = {ALL: np.ones(len(query_ids), bool)}
    if not slices or tags is None:
        return groups
    from rankgate.data.query_tags import read_tags

    table = read_tags(tags, query_ids.alias("query_id"), slices)
    joined = (
        query_ids.alias("query_id").to_frame().join(table, on="query_id", how="left", maintain_order="left")
    )
    has_tags = query_ids.is_in(table["query_id"].implode()).to_numpy()
    is_included = has_tags if tagged else np.ones(len(query_ids), bool)
    for tag in slices:
        if tag not in table.columns:
            tag_names = ", ".join(name for name in table.columns if name != "query_id") or "none"
            problem = f"unknown tag {tag!r}; queries have {tag_names}."
            raise UsageError(problem, code="unknown-tag")
        values = joined[tag].cast(pl.String).fill_null("(none)")
        groups |= {
            (tag, str(value)): (values == value).to_numpy() & is_included
            for value in values.filter(pl.Series(is_included)).unique()
        }
    return groups


def _missing(scores: RunScores) -> NDArray[np.bool_]:
    """(Q,) True for the queries that the run does not have."""
    is_missing: NDArray[np.bool_] = next(iter(scores.why.values())) == _MISSING
    return is_missing


def _count_lacking(scores: RunScores, is_lacking: NDArray[np.bool_]) -> Lacking:
    return int(is_lacking.sum()), tuple(scores.query_ids.filter(pl.Series(is_lacking)).sort()[:_SHOWN])


def _add_lacking(first: Lacking, second: Lacking) -> Lacking:
    return first[0] + second[0], tuple(sorted((*first[1], *second[1]))[:_SHOWN])


def _places(run_scores: RunScores, other_scores: RunScores) -> NDArray[np.int64]:
    """For each query of one run its index in the other run; -1 if the other run lacks the query."""
    if run_scores.query_ids.equals(other_scores.query_ids):
        return np.arange(len(run_scores.query_ids))
    index_of_query = {query: index for index, query in enumerate(other_scores.query_ids)}
    return np.array([index_of_query.get(query, -1) for query in run_scores.query_ids], np.int64)


def slice_values(totals: PairTotals, tag: str) -> Iterator[str]:
    """The values of a tag that queries have."""
    from rankgate.measurement.evaluation.query_slices import sort_values

    yield from sort_values(
        list(dict.fromkeys(value for (slice_tag, value), _ in totals.sums if slice_tag == tag))
    )
