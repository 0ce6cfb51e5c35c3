"""From one convention to another, one axis at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.core.present.numbers import known
from rankgate.data.scores import Scores
from rankgate.measurement.scoring.convention import Alignment
from rankgate.measurement.scoring.differences import Choices, written

if TYPE_CHECKING:
    from rankgate.measurement.explanation.cached_lists import CachedLists
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.cached_source import CachedSource
    from rankgate.measurement.scoring.convention import Convention

Known = float | None


@dataclass(frozen=True)
class Step:
    """One choice changed, everything before it changed already.

    Attributes:
        axes: what is changed; several where they only work together.
        begin: what it was, one word an axis.
        end: what it is.
        before: the mean before; None if there is none.
        after: the mean after, which is the mean before the next step.
        moved: queries whose value changes, or that come to count, or cease to; None for a metric
            about all lists together, which has no values of queries.
        query_id: the query that changes most, None where none does.
        query_before: its value before; None where it did not count.
        query_after: its value after.
    """

    axes: tuple[str, ...]
    begin: tuple[str, ...]
    end: tuple[str, ...]
    before: Known
    after: Known
    moved: int | None
    query_id: str | None
    query_before: Known
    query_after: Known

    @property
    def effect(self) -> Known:
        """What the step does to the mean: after less before, so that steps add up."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def moves(self) -> bool:
        """Whether it changes anything here."""
        return bool(self.moved) or self.before != self.after

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "effect": self.effect}


def path_steps(
    content: CachedSource | CachedLists, metric: Metric, begin: Convention, end: Convention
) -> tuple[Step, ...]:
    """Change what differs between two conventions, axis by axis.

    Each time the axis goes first that moves the mean most, given the changes so far; equal
    effects go by name. The last mean is that of ``end`` to the bit.

    Args:
        content: the run.
        metric: one metric.
        begin: where to start.
        end: where to arrive.

    Raises:
        RankgateError: one of the two cannot take these data.
    """
    return _Path(content, metric).steps(Choices.of(begin, metric), Choices.of(end, metric))


class _Path:
    def __init__(self, content: CachedSource | CachedLists, metric: Metric) -> None:
        self._held = content
        self._metric = (str(metric), metric)

    def steps(self, begin: Choices, end: Choices) -> tuple[Step, ...]:
        self._read(begin, end)
        now, arrived = self._scored([begin, end])
        for each in (now, arrived):
            if isinstance(each, RankgateError):
                raise each
        here, left = begin, list(begin.differing(end))
        steps = []
        while left:
            tried = self._scored([here.towards(end, [key]) for key in left])
            keys, then = self._best(now, left, tried, arrived)
            steps.append(self._step(keys, here, end, (now, then)))
            here, now = here.towards(end, keys), then
            left = [key for key in left if key not in keys]
        return tuple(steps)

    def _read(self, begin: Choices, end: Choices) -> None:
        """Form every ranking that may be wanted on the way, at one reading."""
        ways = [begin]
        for key in begin.differing(end):
            if key in _ALIGNING:
                ways += [each.towards(end, [key]) for each in ways]
        self._held.read(each.convention("").alignment for each in ways)

    def _scored(self, several: Sequence[Choices]) -> list[Scores | RankgateError]:
        return self._held.score([self._metric], [each.convention("between") for each in several])

    def _best(
        self,
        now: Scores | RankgateError,
        left: Sequence[str],
        tried: Sequence[Scores | RankgateError],
        arrived: Scores | RankgateError,
    ) -> tuple[tuple[str, ...], Scores | RankgateError]:
        """The choice to change next; all that is left where nothing works alone."""
        able = [(key, each) for key, each in zip(left, tried, strict=True) if _fine(each)]
        if not able:
            return tuple(left), arrived
        key, then = min(able, key=lambda pair: (-self._size(now, pair[1]), pair[0]))
        return (key,), then

    def _size(self, now: Scores | RankgateError, then: Scores | RankgateError) -> float:
        """How far the mean goes; less than nothing where there is no mean."""
        before, after = self._mean(now), self._mean(then)
        return -1.0 if before is None or after is None else abs(after - before)

    def _mean(self, scores: Scores | RankgateError) -> Known:
        return None if isinstance(scores, RankgateError) else known(scores.means[self._metric[0]])

    def _step(
        self,
        keys: tuple[str, ...],
        here: Choices,
        end: Choices,
        both: tuple[Scores | RankgateError, Scores | RankgateError],
    ) -> Step:
        before, after = (self._values(each) for each in both)
        moved = [
            query for query in sorted({*before, *after}) if before.get(query) != after.get(query)
        ]
        most = max(moved, key=lambda query: _far(before, after, query), default=None)
        return Step(
            axes=keys,
            begin=tuple(written(here.flat[key]) for key in keys),
            end=tuple(written(end.flat[key]) for key in keys),
            before=self._mean(both[0]),
            after=self._mean(both[1]),
            moved=len(moved) if self._apart(both) else None,
            query_id=most,
            query_before=None if most is None else before.get(most),
            query_after=None if most is None else after.get(most),
        )

    def _apart(self, both: Sequence[Scores | RankgateError]) -> bool:
        """Whether queries have values of their own."""
        scores = [each for each in both if isinstance(each, Scores)]
        return not scores or any(self._metric[0] in each.values for each in scores)

    def _values(self, scores: Scores | RankgateError) -> dict[str, Known]:
        if isinstance(scores, RankgateError):
            return {}
        return scores.per_query(self._metric[0])


_ALIGNING = frozenset(each.name for each in fields(Alignment))


def effective(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps that change anything here."""
    return tuple(step for step in steps if step.moves)


def _fine(scores: Scores | RankgateError) -> bool:
    return isinstance(scores, Scores)


def _far(before: dict[str, Known], after: dict[str, Known], query: str) -> float:
    """How far a query moves; one that comes to count, or ceases to, moves by its value."""
    return abs((after.get(query) or 0.0) - (before.get(query) or 0.0))
