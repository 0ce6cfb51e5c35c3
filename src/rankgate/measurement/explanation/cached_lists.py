"""The lists of a run, to be measured under several conventions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.scoring.run_sources import RunSource, measure
from rankgate.measurement.scoring.scoring_plan import Plan

if TYPE_CHECKING:
    from rankgate.data import Run, RunScores
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
    from rankgate.measurement.metrics.lists.list_metric import ListMetric
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment


@dataclass
class CachedLists:
    """As `CachedSource`, for metrics on lists, which need the rankings themselves.

    Attributes:
        run: the rankings; they are read once per ranking method.
        judgments: the judgments.
        builder: the reader of lists.
    """

    run: Run
    judgments: JudgmentIndex
    builder: ListBuilder
    _known: dict[object, RunScores | RankgateError] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The run's name."""
        return self.run.name

    def score(
        self, metrics: Sequence[tuple[str, Metric]], conventions: Sequence[Convention]
    ) -> list[RunScores | RankgateError]:
        """The scores under each convention, or the error if they cannot be computed."""
        _, lists = split_list_metrics(dict(metrics))
        return [self._read_cached(lists, convention) for convention in conventions]

    def read(self, alignments: Iterable[Alignment]) -> None:
        """Do nothing, because lists are short and each alignment must read the run."""

    def _read_cached(self, metrics: dict[str, ListMetric], how: Convention) -> RunScores | RankgateError:
        bound = {
            label: metric.under_convention(how.parameters.get(metric.name, {}))
            for label, metric in metrics.items()
        }
        key = (how.alignment, how.duplicates, tuple(bound.items()))
        if key not in self._known:
            try:
                self._known[key] = self._measured(bound, how)
            except RankgateError as error:
                self._known[key] = error
        return self._known[key]

    def _measured(self, metrics: dict[str, ListMetric], how: Convention) -> RunScores:
        plan, source = (
            Plan.from_conventions(list(metrics.items()), [how]),
            RunSource(self.run, self.judgments),
        )
        scores = measure(plan, source).score(0, source)
        builder = replace(self.builder, metrics=metrics, how=how)
        return builder.with_lists(plan, self.judgments, [self.run], [scores])[0]
