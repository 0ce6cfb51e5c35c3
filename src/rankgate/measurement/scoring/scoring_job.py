"""A job: one metric under one convention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_declaration import RANKING

if TYPE_CHECKING:
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.convention import Convention


@dataclass(frozen=True)
class Job:
    """One metric under one convention.

    Attributes:
        label: the metric's name in results.
        metric: the metric.
        how: the convention's choices for it.
        defaults: the parameters that the convention gives it.
    """

    label: str
    metric: Metric
    how: Convention
    defaults: Mapping[str, Any]

    @classmethod
    def from_convention(cls, label: str, metric: Metric, how: Convention) -> Job:
        """A metric under a convention's choices for it."""
        metric_convention = how.for_metric(metric)
        return cls(label, metric, metric_convention, metric_convention.defaults(metric))

    @cached_property
    def kernel(self) -> str:
        """A key of the metric with its arguments: equal keys mean equal values."""
        return f"{self.metric!r} {sorted(self.metric.bound(self.defaults).items())} {self.level}"

    @cached_property
    def level(self) -> float:
        """The smallest grade that counts as relevant."""
        bound = {**self.defaults, **dict(self.metric.given)}
        level: float = bound.get("rel", self.metric.rel or 1)
        return level

    @property
    def cutoff(self) -> int | None:
        """The last rank that counts, if the metric has one."""
        cutoff = dict(self.metric.given).get("cutoff")
        return cutoff if isinstance(cutoff, int) else None

    @property
    def counts_hits(self) -> bool:
        """True if the convention needs the queries with a relevant document within the cutoff."""
        return self.how.no_hits is not None and self.metric.view == RANKING

    @cached_property
    def depth(self) -> int | None:
        """The last rank that its value follows from; None is the end of the list."""
        return None if "no_hit" in self.how.forced else self.metric.depth(self.defaults)

    def tail(self, best: float) -> Job | None:
        """A job for what documents behind the ends of lists could add; None if lists have ends.

        Args:
            best: the grade that they would have.
        """
        metric = self.metric
        if metric.residual is None:
            return None
        arguments = {**dict(metric.given), "best": best}
        tail_metric = replace(
            metric, kernel=metric.residual, given=tuple(sorted(arguments.items()))
        )
        return replace(self, label=self.tail_label, metric=tail_metric)

    @property
    def tail_label(self) -> str:
        """The label of the `tail` job; no name of a metric begins with a blank."""
        return f" {self.label} tail"
