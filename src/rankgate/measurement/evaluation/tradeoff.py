"""Compare systems by several metrics at once: Pareto dominance and the Pareto front."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.layout import Sentence, ShownChart, View
from rankgate.core.value_types import JsonObject
from rankgate.measurement.evaluation.scores import Scores


def dominators(means: Mapping[str, Sequence[float]], higher: Sequence[bool]) -> dict[str, str | None]:
    """For each system the first that is as good by all metrics and better by some; else None.

    Systems that no other system dominates form the front. A metric that is NaN for either system is
    ignored.

    Args:
        means: the means of each system, one for each metric.
        higher: True if higher is better, for each metric.

    >>> dominators({"a": [0.5, 0.2], "b": [0.5, 0.1], "c": [0.4, 0.1]}, [True, False])
    {'a': 'b', 'b': None, 'c': 'b'}
    """
    names = list(means)
    directed_means = np.array([means[name] for name in names], np.float64).reshape(len(names), -1)
    directed_means = np.where(higher, directed_means, -directed_means)
    directed_means = directed_means[:, ~np.isnan(directed_means).any(axis=0)]
    dominator_of: dict[str, str | None] = {}
    for name, values in zip(names, directed_means, strict=True):
        dominates = (directed_means >= values).all(axis=1) & (directed_means > values).any(axis=1)
        dominator_of[name] = names[int(dominates.argmax())] if dominates.any() else None
    return dominator_of


_FEWEST = 2
_TOO_LITTLE = "a trade-off is between two systems or more by two metrics or more; name more of them."


class ScorecardFigures(Protocol):
    """The figures of several systems, as a scorecard has them.

    Attributes:
        kind: the kind of the result.
        convention: name, axes and hash.
        users: the number of users.
        metrics: in their order.
        systems: the systems by name, in their order.
        dominated: systems that another beats, each with that system.
        figures: ``system``, ``metric``, ``about``, ``value``, ``higher_is_better``.
    """

    kind: ClassVar[str]

    @property
    def convention(self) -> Mapping[str, Any]: ...  # noqa: D102 - see the class

    @property
    def users(self) -> int: ...  # noqa: D102 - see the class

    @property
    def metrics(self) -> tuple[str, ...]: ...  # noqa: D102 - see the class

    @property
    def systems(self) -> Collection[str]: ...  # noqa: D102 - see the class

    @property
    def dominated(self) -> tuple[tuple[str, str], ...]: ...  # noqa: D102 - see the class

    @property
    def figures(self) -> pl.DataFrame: ...  # noqa: D102 - see the class


@dataclass(frozen=True)
class Tradeoff(Result):
    """Means of several systems by several metrics.

    Attributes:
        convention: name, axes and hash.
        counts: over how many queries, or users, the means of each system are.
        means: the means by system and metric; systems without all means are left out.
        higher: True if higher is better, by metric.
        front: systems that no other beats: for each other system there is a metric by which
            they are better, or they are equal by all (Pareto).
        left_out: systems that lack a mean.
    """

    kind = "tradeoff"
    label = "Systems by several metrics"
    headline_text = "{means:n system} by {higher:n metric}"
    main_table = "table"
    layout = (
        ShownChart("pareto"),
        View("marked_means"),
        "front: {front}",
        Sentence("without all means, left out: {left_out}", "left_out"),
    )
    charts: ClassVar = {
        "pareto": "rankgate.measurement.evaluation.tradeoff_charts:PARETO",
        "scorecard": "rankgate.measurement.evaluation.tradeoff_charts:SCORECARD",
    }
    KEYS: ClassVar[Mapping[str, str]] = {"higher": "higher_is_better"}

    convention: JsonObject
    counts: tuple[int, ...]
    means: Mapping[str, Mapping[str, float]]
    higher: Mapping[str, bool]
    front: tuple[str, ...]
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        """The number of systems."""
        return len(self.means)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each system: its means, and True if it is on the front."""
        return pl.DataFrame(
            [{"system": name, **means, "front": name in self.front} for name, means in self.means.items()]
        )

    @property
    def marked_means(self) -> pl.DataFrame:
        """`table` with the direction of each metric in its name, and a word at systems on the front."""
        arrows = {metric: f"{metric} {'↑' if higher else '↓'}" for metric, higher in self.higher.items()}
        mark = pl.when(pl.col("front")).then(pl.lit("front"))
        return self.table.with_columns(front=mark).rename({**arrows, "front": " "})


def tradeoff(result: Scores | ScorecardFigures | Tradeoff) -> Tradeoff:
    """Find the systems that no other beats at everything.

    Args:
        result: an evaluation or a scorecard of two systems or more by two metrics or more.

    Raises:
        UsageError: fewer than two systems with all means, or fewer than two metrics.
    """
    if isinstance(result, Tradeoff):
        return result
    return _from_evaluation(result) if isinstance(result, Scores) else _from_scorecard(result)


def _from_evaluation(result: Scores) -> Tradeoff:
    higher = {label: label not in result.lower for label in result.metrics}
    means = {
        run.run: {label: float(run.means[label]) for label in result.metrics}
        for run in result.runs
        if not any(math.isnan(run.means[label]) for label in result.metrics)
    }
    if len(means) < _FEWEST or len(result.metrics) < _FEWEST:
        raise UsageError(_TOO_LITTLE, code="too-few-values")
    dominator_of = dominators(
        {name: list(system_means.values()) for name, system_means in means.items()}, list(higher.values())
    )
    front = tuple(name for name, dominator in dominator_of.items() if dominator is None)
    left_out = tuple(run.run for run in result.runs if run.run not in means)
    counts = tuple(run.counts.queries for run in result.runs)
    return Tradeoff(result.convention, counts, means, higher, front, left_out)


def _from_scorecard(card: ScorecardFigures) -> Tradeoff:
    """The trade-off of a scorecard, by metrics with a direction that all systems have.

    The first metric of accuracy comes first and the first metric of lists second, because this is
    the usual trade-off.
    """
    table = card.figures.filter(pl.col("higher_is_better").is_not_null())
    metric_counts = table.filter(pl.col("value").is_finite())["metric"].value_counts()
    complete_metrics = set(metric_counts.filter(pl.col("count") == len(card.systems))["metric"].to_list())
    complete_rows = table.filter(pl.col("metric").is_in(list(complete_metrics)))
    group_of_metric = dict(complete_rows.select("metric", "about").rows())
    metrics = sorted(group_of_metric, key=card.metrics.index)
    firsts = [
        next((m for m in metrics if group_of_metric[m] == group), "") for group in ("accuracy", "lists")
    ]
    order = [*filter(None, firsts), *(metric for metric in metrics if metric not in firsts)]
    if len(card.systems) < _FEWEST or len(order) < _FEWEST:
        raise UsageError(_TOO_LITTLE, code="too-few-values")
    value = {(row["system"], row["metric"]): row["value"] for row in complete_rows.to_dicts()}
    means = {name: {metric: value[name, metric] for metric in order} for name in card.systems}
    higher = dict(complete_rows.select("metric", "higher_is_better").rows())
    dominator_of = dict(card.dominated)
    front = tuple(name for name in card.systems if name not in dominator_of)
    return Tradeoff(card.convention, (card.users,), means, {m: higher[m] for m in order}, front, ())
