"""What the names of metrics in score tables stand for: direction, range, and one name for each."""

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
        lower: whether less is better; None where nobody said.
        low, high: the values that it can have; None where there is no limit, or it is not known.
        per_query: whether its values are of queries; counts and sums of trec_eval are left out.
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
        asked: names that the user gave, which are metrics whatever they look like.
        extra: user-defined metrics.
    """

    directions: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    extra: Sequence[Metric] = ()
    _known: dict[str, NamedMetric] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, word in self.directions.items():
            if word not in _DIRECTIONS:
                raise UsageError(
                    f"direction of {name}: {word!r} is neither higher nor lower, which is better.",
                    code="unknown-choice",
                )

    def __getitem__(self, spelled: str) -> NamedMetric:
        if spelled not in self._known:
            self._known[spelled] = self._named(spelled)
        return self._known[spelled]

    def _named(self, spelled: str) -> NamedMetric:
        said = self.directions.get(spelled)
        lower = None if said is None else said == "lower"
        try:
            found = parse_all(spelled, self.extra)
        except UsageError:
            return NamedMetric(spelled, lower)
        if len(found) != 1:
            return NamedMetric(spelled, lower)
        metric = found[0][1]
        return NamedMetric(
            str(metric), not metric.higher_is_better if lower is None else lower, metric.low,
            metric.high, metric.aggregate == "mean",
        )  # fmt: skip

    def share(self, words: Iterable[str]) -> float:
        """The share of the first few words that name metrics; one that names none is slow."""
        every = list(dict.fromkeys(words))[:_SAMPLE]
        known = [word in self.asked or self[word].lower is not None for word in every]
        return sum(known) / len(known) if known else 0.0
