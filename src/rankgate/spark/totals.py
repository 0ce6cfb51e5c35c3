"""What partitions add up to: exact sums with second moments, in any order."""

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
from rankgate.data.group_sums import GroupSums, hashed
from rankgate.data.scores import Counts
from rankgate.measurement.evaluation.batch_totals import COUNTED, merged
from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.scoring.input_cautions import BatchCautions
from rankgate.measurement.scoring.mean import of_parts, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankgate.data.scores import Scores
    from rankgate.measurement.scoring.job import Job

_COUNTED = (*COUNTED, "against_scores", "zeros_relevant")


@dataclass(frozen=True)
class Moments:
    """Sums of numbers and of their squares: mean and spread of any union of parts.

    Attributes:
        first: the exact sum of the numbers, with how many they are.
        second: the exact sum of their squares, each rounded once.
    """

    first: ExactMean = field(default_factory=ExactMean)
    second: ExactMean = field(default_factory=ExactMean)

    @classmethod
    def of(cls, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> Moments:
        """The sums of some numbers, ``(n,)``; weighted for weighted means."""
        return cls(ExactMean.of(values, weights), ExactMean.of(values * values, weights))

    def __add__(self, other: Moments) -> Moments:
        """The sums over both."""
        return Moments(self.first + other.first, self.second + other.second)

    @property
    def variance(self) -> float:
        """Σ(x − mean)² / (n − 1); NaN of fewer than two."""
        n = self.first.count
        if n < 2 or self.first.undefined:
            return math.nan
        spread = self.second.sum - self.first.sum * self.first.sum / n
        return max(spread, 0.0) / (n - 1)

    def plain(self) -> list[Any]:
        """As plain values."""
        return [list(astuple(self.first)), list(astuple(self.second))]

    @classmethod
    def from_plain(cls, values: Sequence[Sequence[Any]]) -> Moments:
        """From `plain`."""
        return cls(ExactMean(*values[0]), ExactMean(*values[1]))


@dataclass(frozen=True)
class Totals:
    """What one run adds up to over some queries.

    Attributes:
        counts: by name, as of `Counts`.
        means: by metric the `Moments` of its terms, and how many queries have a hit.
        judged_at: by cutoff the share of judged documents.
        missing: the first judged query that the run does not have; empty if it has all.
        groups: by metric that is a plain mean, the sums of groups of queries.
        slices: by tag, value and metric the `Moments` of the values of these queries.
        cautions: what the reader should know of the judgments and the run.
    """

    counts: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))
    means: Mapping[str, tuple[Moments, int]] = field(default_factory=dict)
    judged_at: Mapping[int, ExactMean] = field(default_factory=dict)
    missing: str = ""
    groups: Mapping[str, GroupSums] = field(default_factory=dict)
    slices: Mapping[tuple[str, str, str], Moments] = field(default_factory=dict)
    cautions: BatchCautions = field(default_factory=BatchCautions)

    @classmethod
    def of(cls, scores: Scores, jobs: Iterable[Job], missing: str = "") -> Totals:
        """The sums of scores that were made with ``exact``.

        Args:
            scores: of some queries.
            jobs: whose they are.
            missing: a judged query that the run does not have.
        """
        means, groups, ids = {}, {}, hashed(scores.query_ids)
        for job in jobs:
            part, hits = scores.parts.means[job.label]
            left, _ = terms(scores.values[job.label], scores.why[job.label], job)
            weighted = job.metric.aggregate == "weighted"
            second = ExactMean() if weighted else ExactMean.of(left * left)
            means[job.label] = Moments(part, second), hits
            if job.metric.aggregate == "mean":
                groups[job.label] = GroupSums.of(ids, scores.values[job.label])
        counts = {name: getattr(scores.counts, name) for name in _COUNTED}
        cautions = BatchCautions.of(scores)
        return cls(counts, means, dict(scores.parts.judged_at), missing, groups, cautions=cautions)

    @classmethod
    def of_slices(cls, scores: Scores, groups: Mapping[tuple[str, str], Any]) -> Totals:
        """The sums of slices alone.

        Args:
            scores: of some queries.
            groups: by tag and value, which of the queries are in it.
        """
        return cls(
            slices={
                (*where, label): Moments.of(values[inside & ~np.isnan(values)])
                for where, inside in groups.items()
                for label, values in scores.values.items()
            }
        )

    def __add__(self, other: Totals) -> Totals:
        """Both together."""
        firsts = [each for each in (self.missing, other.missing) if each]
        return Totals(
            {name: self.counts[name] + other.counts[name] for name in _COUNTED},
            merged(self.means, other.means, lambda one, two: (one[0] + two[0], one[1] + two[1])),
            merged(self.judged_at, other.judged_at, add),
            min(firsts, default=""),
            merged(self.groups, other.groups, add),
            merged(self.slices, other.slices, add),
            self.cautions + other.cautions,
        )

    def value(self, job: Job) -> float:
        """The number of a metric, as `of_parts` makes it."""
        if job.label not in self.means:
            return math.nan
        found, hits = self.means[job.label]
        parts = np.array([found.first.sum, found.first.count, hits])
        return of_parts(parts, job, self.counts["unknown_queries"])

    def known_counts(self) -> Counts:
        """The counts behind the means."""
        judged = {k: part.value for k, part in sorted(self.judged_at.items())}
        return Counts(judged_at=judged, cautions=self.cautions.of_run, **self.counts)  # type: ignore[arg-type]

    def to_json(self) -> str:
        """As text, to be sent."""
        return json.dumps(
            {
                "counts": self.counts,
                "means": {name: [part.plain(), hits] for name, (part, hits) in self.means.items()},
                "judged_at": {k: list(astuple(part)) for k, part in self.judged_at.items()},
                "missing": self.missing,
                "groups": {name: each.packed() for name, each in self.groups.items()},
                "slices": [[*where, each.plain()] for where, each in self.slices.items()],
                "cautions": self.cautions.to_dict(),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From `to_json`."""
        found = json.loads(text)
        means = {
            name: (Moments.from_plain(part), hits) for name, (part, hits) in found["means"].items()
        }
        judged_at = {int(k): ExactMean(*part) for k, part in found["judged_at"].items()}
        groups = {name: GroupSums.from_packed(each) for name, each in found["groups"].items()}
        slices = {(*where,): Moments.from_plain(each) for *where, each in found["slices"]}
        cautions = BatchCautions(**found["cautions"])
        return cls(found["counts"], means, judged_at, found["missing"], groups, slices, cautions)


def summed(texts: Iterable[str]) -> Totals:
    """The sum of totals that were sent."""
    return reduce(add, map(Totals.from_json, texts), Totals())
