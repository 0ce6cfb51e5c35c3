"""Metrics of score tables by their spelling: direction, range, and one name for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.names import parse_all

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

Direction = Literal["higher", "lower"]
_DIRECTIONS = ("higher", "lower")
_SAMPLE = 6


@dataclass(frozen=True)
class NamedMetric:
    """A metric of a score table.

    Attributes:
        name: one for all spellings: ``ndcg_cut_10`` and ``nDCG@10`` are one metric.
        lower: true if less is better; None if it is not stated.
        low, high: its range; None without a limit, or if it is not known.
        per_query: true if its values are of queries; counts and sums of trec_eval are left out.
    """

    name: str
    lower: bool | None = None
    low: float | None = None
    high: float | None = None
    per_query: bool = True


@dataclass(frozen=True)
class MetricNames:
    """Names of metrics, as tools spell them.

    Attributes:
        directions: by name, of metrics that rankgate does not know.
        asked: names that the user gave, which are always metrics.
        extra: user-defined metrics.
    """

    directions: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    extra: Sequence[Metric] = ()
    _known: dict[str, NamedMetric] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, direction in self.directions.items():
            if direction not in _DIRECTIONS:
                raise UsageError(
                    f"direction of {name}: {direction!r} is neither higher nor lower, which is "
                    "better.",
                    code="unknown-choice",
                )

    def __getitem__(self, spelled: str) -> NamedMetric:
        if spelled not in self._known:
            self._known[spelled] = self._named(spelled)
        return self._known[spelled]

    def _named(self, spelled: str) -> NamedMetric:
        direction = self.directions.get(spelled)
        lower = None if direction is None else direction == "lower"
        try:
            metrics = parse_all(spelled, self.extra)
        except UsageError:
            return NamedMetric(spelled, lower)
        if len(metrics) != 1:
            return NamedMetric(spelled, lower)
        metric = metrics[0][1]
        return NamedMetric(
            str(metric),
            not metric.higher_is_better if lower is None else lower,
            metric.low,
            metric.high,
            metric.aggregate == "mean",
        )

    def share(self, names: Iterable[str]) -> float:
        """The share of the first few names that are metrics; each unknown name is slow to parse."""
        sampled_names = list(dict.fromkeys(names))[:_SAMPLE]
        is_metric = [name in self.asked or self[name].lower is not None for name in sampled_names]
        return sum(is_metric) / len(is_metric) if is_metric else 0.0
