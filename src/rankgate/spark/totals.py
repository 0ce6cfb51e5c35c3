"""Sums over partitions: exact sums with second moments, in any order."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import astuple, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.data.group_sums import GroupSums, hash_queries
from rankgate.data.scores import Counts
from rankgate.measurement.evaluation.batch_totals import SUMMED_COUNTS, merge_mappings
from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.scoring.input_cautions import BatchCautions
from rankgate.measurement.scoring.mean import mean_of_parts, sum_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankgate.data.scores import RunScores
    from rankgate.measurement.scoring.job import Job

_COUNTED = (*SUMMED_COUNTS, "against_scores", "zeros_relevant")


@dataclass(frozen=True)
class Moments:
    """Sums of numbers and of their squares: mean and variance of any union of parts.

    Attributes:
        first: the exact sum of the numbers, with their count.
        second: the exact sum of their squares, each rounded once.
    """

    first: ExactMean = field(default_factory=ExactMean)
    second: ExactMean = field(default_factory=ExactMean)

    @classmethod
    def of(cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> Moments:
        """The sums of some numbers, ``(n,)``; weighted for weighted means."""
        return cls(ExactMean.of(values, weights), ExactMean.of(values * values, weights))

    def __add__(self, addend: Moments) -> Moments:
        """The sums over both."""
        return Moments(self.first + addend.first, self.second + addend.second)

    @property
    def variance(self) -> float:
        """Σ(x − mean)² / (n − 1); NaN of fewer than two."""
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
        counts: by name, as of `Counts`.
        means: by metric the `Moments` of its terms, and the number of queries with a hit.
        judged_at: by cutoff the share of judged documents.
        missing: the first judged query that the run does not have; empty if it has all of them.
        groups: by metric that is a plain mean, the sums of groups of queries.
        slices: by tag, value and metric the `Moments` of the values of these queries.
        cautions: notes for the reader on the judgments and the run.
    """

    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    means: Mapping[str, tuple[Moments, int]] = field(default_factory=dict)
    judged_at: Mapping[int, ExactMean] = field(default_factory=dict)
    missing: str = ""
    groups: Mapping[str, GroupSums] = field(default_factory=dict)
    slices: Mapping[tuple[str, str, str], Moments] = field(default_factory=dict)
    cautions: BatchCautions = field(default_factory=BatchCautions)

    @classmethod
    def of(cls, scores: RunScores, jobs: Iterable[Job], missing: str = "") -> RunTotals:
        """The sums of scores that were made with ``exact``.

        Args:
            scores: of some queries.
            jobs: the metrics of the scores.
            missing: a judged query that the run does not have.
        """
        means, groups, ids = {}, {}, hash_queries(scores.query_ids)
        for job in jobs:
            exact_mean, hits = scores.parts.means[job.label]
            metric_terms, _ = sum_terms(scores.values[job.label], scores.why[job.label], job)
            weighted = job.metric.aggregate == "weighted"
            second = ExactMean() if weighted else ExactMean.of(metric_terms * metric_terms)
            means[job.label] = Moments(exact_mean, second), hits
            if job.metric.aggregate == "mean":
                groups[job.label] = GroupSums.of(ids, scores.values[job.label])
        counts = {name: getattr(scores.counts, name) for name in _COUNTED}
        cautions = BatchCautions.of(scores)
        return cls(counts, means, dict(scores.parts.judged_at), missing, groups, cautions=cautions)

    @classmethod
    def of_slices(cls, scores: RunScores, groups: Mapping[tuple[str, str], Any]) -> RunTotals:
        """The sums of slices alone.

        Args:
            scores: of some queries.
            groups: by tag and value, (Q,) True for the queries in it.
        """
        return cls(
            slices={
                (*slice_key, label): Moments.of(values[is_inside & ~np.isnan(values)])
                for slice_key, is_inside in groups.items()
                for label, values in scores.values.items()
            }
        )

    def __add__(self, addend: RunTotals) -> RunTotals:
        """The totals of both together."""
        firsts = [query_id for query_id in (self.missing, addend.missing) if query_id]
        return RunTotals(
            {name: self.counts[name] + addend.counts[name] for name in _COUNTED},
            merge_mappings(
                self.means,
                addend.means,
                lambda first, second: (first[0] + second[0], first[1] + second[1]),
            ),
            merge_mappings(self.judged_at, addend.judged_at, add),
            min(firsts, default=""),
            merge_mappings(self.groups, addend.groups, add),
            merge_mappings(self.slices, addend.slices, add),
            self.cautions + addend.cautions,
        )

    def value(self, job: Job) -> float:
        """The number of a metric, as `mean_of_parts` makes it."""
        if job.label not in self.means:
            return math.nan
        moments, hits = self.means[job.label]
        parts = np.array([moments.first.sum, moments.first.count, hits])
        return mean_of_parts(parts, job, self.counts["unknown_queries"])

    def known_counts(self) -> Counts:
        """The counts behind the means."""
        judged = {k: judged_share.value for k, judged_share in sorted(self.judged_at.items())}
        return Counts(judged_at=judged, cautions=self.cautions.of_run, **self.counts)  # type: ignore[arg-type]

    def to_json(self) -> str:
        """The totals as text, to be sent."""
        return json.dumps(
            {
                "counts": self.counts,
                "means": {
                    name: [moments.plain(), hits] for name, (moments, hits) in self.means.items()
                },
                "judged_at": {
                    k: list(astuple(judged_share)) for k, judged_share in self.judged_at.items()
                },
                "missing": self.missing,
                "groups": {name: sums.packed() for name, sums in self.groups.items()},
                "slices": [
                    [*slice_key, moments.plain()] for slice_key, moments in self.slices.items()
                ],
                "cautions": self.cautions.to_dict(),
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
            int(k): ExactMean(*judged_share)
            for k, judged_share in plain_totals["judged_at"].items()
        }
        groups = {
            name: GroupSums.from_packed(packed_sums)
            for name, packed_sums in plain_totals["groups"].items()
        }
        slices = {
            (*slice_key,): Moments.from_plain(moments)
            for *slice_key, moments in plain_totals["slices"]
        }
        cautions = BatchCautions(**plain_totals["cautions"])
        return cls(
            plain_totals["counts"],
            means,
            judged_at,
            plain_totals["missing"],
            groups,
            slices,
            cautions,
        )


def sum_totals(texts: Iterable[str]) -> RunTotals:
    """The sum of totals that executors sent."""
    return reduce(add, map(RunTotals.from_json, texts), RunTotals())
