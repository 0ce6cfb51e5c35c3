"""The judgments and runs that scores were made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.parts import EVERYTHING, Supply

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.collection import Collection
    from rankgate.data.comparison import ScoredRun
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class FromRuns:
    """Judgments and runs that scores were made from.

    Attributes:
        collection: what runs were measured against.
        runs: under their names.
        metrics: names or metrics.
        convention: the convention of the numbers.
    """

    collection: Collection
    runs: Mapping[str, Any]
    metrics: Sequence[str | Metric]
    convention: Convention

    supply: ClassVar[Supply] = EVERYTHING

    def systems(self, depth: int) -> list[ScoredRun]:
        """Score the runs, and keep the first documents of their lists."""
        from rankgate.measurement.evaluation.scored_system import Scorer  # few ask for parts

        scorer = Scorer.of(
            self.collection, list(self.metrics), self.convention, depth=depth, every_kind=True
        )
        return [scorer.scored(run, name) for name, run in self.runs.items()]

    def intervals(self, scores: Scores) -> pl.DataFrame:
        """Means with their intervals, of values.

        Raises:
            UsageError: the collection states how its queries were drawn.
        """
        from rankgate.measurement.evaluation.intervals import intervals_of  # few ask for it

        return intervals_of(
            scores.runs,
            scores.metrics,
            scores.slices,
            self.collection.tags,
            self.collection.sample,
        )

    def named(self, baseline: object, candidates: Sequence[object]) -> tuple[Any, dict[str, Any]]:
        """The baseline and the candidates, by default the first run and all others, by name.

        Raises:
            UsageError: no run has one of the names.
        """
        names = [name for name in (baseline, *candidates) if name is not None] or [*self.runs]
        for name in names:
            if name not in self.runs:
                raise UsageError(
                    f"no run is called {name!r}; the evaluation has {', '.join(self.runs)}.",
                    code="unknown-system",
                )
        first, *other_names = map(str, names)
        if baseline is not None and not candidates:
            other_names = [name for name in self.runs if name != first]
        return {first: self.runs[first]}, {name: self.runs[name] for name in other_names}
