"""Totals over batches of users: exact sums, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, fields
from operator import add
from typing import TYPE_CHECKING, Any

from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.lists import Sums
from rankgate.measurement.metrics.lists.accumulate import PartialResult, merge_partials
from rankgate.measurement.scoring.input_cautions import BatchCautions

if TYPE_CHECKING:
    from rankgate.data import RunScores

SUMMED_COUNTS = (
    "queries",
    "missing",
    "zero_result",
    "without_relevant",
    "unknown_queries",
    "ties_broken",
)
"""The counts of `Counts` that add up over users."""


@dataclass
class BatchTotals:
    """Totals of all batches so far.

    Attributes:
        counts: by name, as of `Counts`.
        means: by metric of rankings its exact sum, and how many queries have a hit.
        judged_at: by cutoff the share of judged documents.
        lists: by metric of lists, in their order; None before the first batch.
        cautions: what the reader should know of the judgments and the run.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMMED_COUNTS, 0))
    means: dict[str, tuple[ExactMean, int]] = field(default_factory=dict)
    judged_at: dict[int, ExactMean] = field(default_factory=dict)
    lists: list[Any] | None = None
    cautions: BatchCautions = field(default_factory=BatchCautions)

    def added(self, other: BatchTotals) -> BatchTotals:
        """Add two totals."""
        lists = self.lists if other.lists is None else other.lists
        if self.lists is not None and other.lists is not None:
            lists = [
                merge_partials(first, second)
                for first, second in zip(self.lists, other.lists, strict=True)
            ]
        return BatchTotals(
            {name: self.counts[name] + other.counts[name] for name in SUMMED_COUNTS},
            merge_mappings(self.means, other.means, add_mean),
            merge_mappings(self.judged_at, other.judged_at, add),
            lists,
            self.cautions + other.cautions,
        )


def totals_from_scores(scores: RunScores) -> BatchTotals:
    """The totals of scores that were made with ``exact``."""
    counts = {name: getattr(scores.counts, name) for name in SUMMED_COUNTS}
    parts = scores.parts
    lists = None if parts.lists is None else list(parts.lists)
    cautions = BatchCautions.of(scores)
    return BatchTotals(counts, dict(parts.means), dict(parts.judged_at), lists, cautions)


def merge_mappings(
    left: Mapping[Any, Any], right: Mapping[Any, Any], combine: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """Merge two mappings, and combine the values of shared keys."""
    return {
        **left,
        **right,
        **{name: combine(left[name], right[name]) for name in left if name in right},
    }


def add_mean(left: tuple[ExactMean, int], right: tuple[ExactMean, int]) -> tuple[ExactMean, int]:
    """Add two means of a metric, with the numbers of queries with a hit."""
    return left[0] + right[0], left[1] + right[1]


def part_to_plain(list_part: PartialResult) -> Any:  # noqa: ANN401 - of a metric of lists
    """Convert a part to plain values."""
    if isinstance(list_part, Sums):
        return {
            exact_mean.name: getattr(list_part, exact_mean.name) for exact_mean in fields(list_part)
        }
    return [list(astuple(exact_mean)) for exact_mean in list_part]


def part_from_plain(plain: Any) -> PartialResult:  # noqa: ANN401 - as above
    """Restore a part from `part_to_plain`."""
    if isinstance(plain, Mapping):
        return Sums(**plain)
    return tuple(ExactMean(*numbers) for numbers in plain)
