"""What batches of users add up to: exact sums, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, fields
from operator import add
from typing import TYPE_CHECKING, Any

from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.lists import Sums
from rankgate.measurement.metrics.lists.accumulate import Part, add_parts
from rankgate.measurement.scoring.input_cautions import BatchCautions

if TYPE_CHECKING:
    from rankgate.data import Scores

COUNTED = (
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
    """What all batches so far add up to.

    Attributes:
        counts: by name, as of `Counts`.
        means: by metric of rankings its exact sum, and how many queries have a hit.
        judged_at: by cutoff the share of judged documents.
        lists: by metric of lists, in their order; None before the first batch.
        cautions: what the reader should know of the judgments and the run.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))
    means: dict[str, tuple[ExactMean, int]] = field(default_factory=dict)
    judged_at: dict[int, ExactMean] = field(default_factory=dict)
    lists: list[Any] | None = None
    cautions: BatchCautions = field(default_factory=BatchCautions)

    def added(self, other: BatchTotals) -> BatchTotals:
        """Both together."""
        lists = self.lists if other.lists is None else other.lists
        if self.lists is not None and other.lists is not None:
            lists = [add_parts(one, two) for one, two in zip(self.lists, other.lists, strict=True)]
        return BatchTotals(
            {name: self.counts[name] + other.counts[name] for name in COUNTED},
            merged(self.means, other.means, add_mean),
            merged(self.judged_at, other.judged_at, add),
            lists,
            self.cautions + other.cautions,
        )


def totals_of(scores: Scores) -> BatchTotals:
    """The sums of scores that were made with ``exact``."""
    counts = {name: getattr(scores.counts, name) for name in COUNTED}
    parts = scores.parts
    lists = None if parts.lists is None else list(parts.lists)
    cautions = BatchCautions.of(scores)
    return BatchTotals(counts, dict(parts.means), dict(parts.judged_at), lists, cautions)


def merged(
    one: Mapping[Any, Any], two: Mapping[Any, Any], both: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """Two mappings, with what both have added up."""
    return {**one, **two, **{name: both(one[name], two[name]) for name in one if name in two}}


def add_mean(one: tuple[ExactMean, int], two: tuple[ExactMean, int]) -> tuple[ExactMean, int]:
    """Two means of a metric, with how many queries have a hit."""
    return one[0] + two[0], one[1] + two[1]


def plain(part: Part) -> Any:  # noqa: ANN401 - of a metric of lists
    """A part as plain values."""
    if isinstance(part, Sums):
        return {each.name: getattr(part, each.name) for each in fields(part)}
    return [list(astuple(each)) for each in part]


def part_from(plain: Any) -> Part:  # noqa: ANN401 - as above
    """From `plain`."""
    if isinstance(plain, Mapping):
        return Sums(**plain)
    return tuple(ExactMean(*each) for each in plain)
