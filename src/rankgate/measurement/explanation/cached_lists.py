"""The lists of a run, to be measured under one convention after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.measurement.metrics.lists.declare import lists_apart
from rankgate.measurement.scoring.plan import Plan
from rankgate.measurement.scoring.sources import RunSource, measured

if TYPE_CHECKING:
    from rankgate.data import Run, Scores
    from rankgate.measurement.evaluation.lists.builder import ListBuilder
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment


@dataclass
class CachedLists:
    """As `CachedSource`, for metrics on lists: these see how rankings are formed.

    Attributes:
        run: the rankings; they are read for every way to form them.
        judgments: what they are measured against.
        builder: how lists are read, and what is given besides them.
    """

    run: Run
    judgments: JudgmentIndex
    builder: ListBuilder
    _known: dict[object, Scores | RankgateError] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    def score(
        self, metrics: Sequence[tuple[str, Metric]], hows: Sequence[Convention]
    ) -> list[Scores | RankgateError]:
        """The scores under each convention, or why it cannot take these data."""
        _, lists = lists_apart(dict(metrics))
        return [self._once(lists, how) for how in hows]

    def read(self, ways: Iterable[Alignment]) -> None:
        """Nothing: a list is short, and what a way costs is the reading of the run."""

    def _once(self, metrics: dict[str, ListMetric], how: Convention) -> Scores | RankgateError:
        bound = {
            label: metric.under(how.parameters.get(metric.name, {}))
            for label, metric in metrics.items()
        }
        key = (how.alignment, how.duplicates, tuple(bound.items()))
        if key not in self._known:
            try:
                self._known[key] = self._measured(bound, how)
            except RankgateError as error:
                self._known[key] = error
        return self._known[key]

    def _measured(self, metrics: dict[str, ListMetric], how: Convention) -> Scores:
        plan, source = Plan.of(list(metrics.items()), [how]), RunSource(self.run, self.judgments)
        scores = measured(plan, source).score(0, source)
        builder = replace(self.builder, metrics=metrics, how=how)
        return builder.with_lists(plan, self.judgments, [self.run], [scores])[0]
