"""Paths from one convention to another, one axis at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import finite_or_none
from rankgate.data.run_scores import RunScores
from rankgate.measurement.scoring.convention import Alignment
from rankgate.measurement.scoring.convention_overrides import Choices, value_text

if TYPE_CHECKING:
    from rankgate.measurement.explanation.cached_lists import CachedLists
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.run_sources import CachedSource

OptionalMean = float | None


@dataclass(frozen=True)
class Step:
    """A step from one convention to another, after the earlier steps.

    Attributes:
        axes: the changed axes; several axes if they only work together.
        begin: the values before, one text per axis.
        end: the values after.
        before: the mean before the step, or None.
        after: the mean after the step, which is the mean before the next step.
        moved: the number of queries whose value changes, appears or disappears; None for a metric
            about all lists together, which has no values of queries.
        query_id: the query with the largest change; None if no value changes.
        query_before: its value before; None if it did not count.
        query_after: its value after.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("effect",)

    axes: tuple[str, ...]
    begin: tuple[str, ...]
    end: tuple[str, ...]
    before: OptionalMean
    after: OptionalMean
    moved: int | None
    query_id: str | None
    query_before: OptionalMean
    query_after: OptionalMean

    @property
    def effect(self) -> OptionalMean:
        """The effect on the mean: the mean after minus the mean before, so that steps add up."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def moves(self) -> bool:
        """True if the step changes a value of this run."""
        return bool(self.moved) or self.before != self.after


def path_steps(
    content: CachedSource | CachedLists, metric: Metric, begin: Convention, end: Convention
) -> tuple[Step, ...]:
    """Change the differences between two conventions, axis by axis.

    Each step changes the axis that moves the mean most after the earlier changes; equal effects are
    ordered by name. The last mean equals that of ``end`` to the last bit.

    Args:
        content: the run.
        metric: the metric to compute.
        begin: the convention at the start.
        end: the convention at the end.

    Raises:
        RankgateError: one of the two conventions cannot score these data.
    """
    return _Path(content, metric).steps(Choices.collect(begin, metric), Choices.collect(end, metric))


class _Path:
    def __init__(self, content: CachedSource | CachedLists, metric: Metric) -> None:
        self._held = content
        self._metric = (str(metric), metric)

    def steps(self, begin: Choices, end: Choices) -> tuple[Step, ...]:
        self._read(begin, end)
        current_scores, final_scores = self._scored([begin, end])
        for scores in (current_scores, final_scores):
            if isinstance(scores, RankgateError):
                raise scores
        choices, remaining_keys = begin, list(begin.differing(end))
        steps = []
        while remaining_keys:
            scores_by_key = self._scored([choices.towards(end, [key]) for key in remaining_keys])
            keys, next_scores = self._best(current_scores, remaining_keys, scores_by_key, final_scores)
            steps.append(self._step(keys, choices, end, (current_scores, next_scores)))
            choices, current_scores = choices.towards(end, keys), next_scores
            remaining_keys = [key for key in remaining_keys if key not in keys]
        return tuple(steps)

    def _read(self, begin: Choices, end: Choices) -> None:
        """Make all rankings that the path may need, with one reading of the data."""
        variants = [begin]
        for key in begin.differing(end):
            if key in _ALIGNMENT_AXES:
                variants += [variant.towards(end, [key]) for variant in variants]
        self._held.read(variant.convention("").alignment for variant in variants)

    def _scored(self, choices_to_score: Sequence[Choices]) -> list[RunScores | RankgateError]:
        return self._held.score(
            [self._metric], [choices.convention("between") for choices in choices_to_score]
        )

    def _best(
        self,
        current_scores: RunScores | RankgateError,
        remaining_keys: Sequence[str],
        tried: Sequence[RunScores | RankgateError],
        arrived: RunScores | RankgateError,
    ) -> tuple[tuple[str, ...], RunScores | RankgateError]:
        """The axes to change next; all remaining axes if none can be changed alone."""
        candidates = [
            (key, scores)
            for key, scores in zip(remaining_keys, tried, strict=True)
            if isinstance(scores, RunScores)
        ]
        if not candidates:
            return tuple(remaining_keys), arrived
        key, next_scores = min(candidates, key=lambda pair: (-self._size(current_scores, pair[1]), pair[0]))
        return (key,), next_scores

    def _size(
        self, current_scores: RunScores | RankgateError, next_scores: RunScores | RankgateError
    ) -> float:
        """The change of the mean; negative if there is no mean."""
        before, after = self._mean(current_scores), self._mean(next_scores)
        return -1.0 if before is None or after is None else abs(after - before)

    def _mean(self, scores: RunScores | RankgateError) -> OptionalMean:
        return None if isinstance(scores, RankgateError) else finite_or_none(scores.means[self._metric[0]])

    def _step(
        self,
        keys: tuple[str, ...],
        choices: Choices,
        end: Choices,
        scores_of_both: tuple[RunScores | RankgateError, RunScores | RankgateError],
    ) -> Step:
        before, after = (self._values(scores) for scores in scores_of_both)
        moved = [query for query in sorted({*before, *after}) if before.get(query) != after.get(query)]
        most_changed = max(moved, key=lambda query: _query_change(before, after, query), default=None)
        return Step(
            axes=keys,
            begin=tuple(value_text(choices.flat[key]) for key in keys),
            end=tuple(value_text(end.flat[key]) for key in keys),
            before=self._mean(scores_of_both[0]),
            after=self._mean(scores_of_both[1]),
            moved=len(moved) if self._apart(scores_of_both) else None,
            query_id=most_changed,
            query_before=None if most_changed is None else before.get(most_changed),
            query_after=None if most_changed is None else after.get(most_changed),
        )

    def _apart(self, scores_of_both: Sequence[RunScores | RankgateError]) -> bool:
        """True if the metric has values of single queries."""
        scores = [result for result in scores_of_both if isinstance(result, RunScores)]
        return not scores or any(self._metric[0] in result.values for result in scores)

    def _values(self, scores: RunScores | RankgateError) -> dict[str, OptionalMean]:
        if isinstance(scores, RankgateError):
            return {}
        return scores.per_query(self._metric[0])


_ALIGNMENT_AXES = frozenset(axis_field.name for axis_field in fields(Alignment))


def effective_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that change the mean."""
    return tuple(step for step in steps if step.moves)


def _query_change(before: dict[str, OptionalMean], after: dict[str, OptionalMean], query: str) -> float:
    """The change of a query's value; if it appears or disappears, the value itself."""
    return abs((after.get(query) or 0.0) - (before.get(query) or 0.0))
