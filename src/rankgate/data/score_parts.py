"""Parts of scores: the needs of users, the supply of sources, and errors if they do not match.

A metric, a test, a rule, a chart or a report block declares a `Need`. A source of scores (runs and
judgments, tables of another tool, a saved baseline, Spark) declares its `Supply`. Only this module
checks that both match, so other modules need no errors for such pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

Part = Literal[
    "values",
    "bounds",
    "queries",
    "lists",
    "every_list",
    "totals",
    "grade_draws",
    "repeats",
    "judged_sample",
    "group_sums",
    "intervals",
    "judgments",
]

PARTS: dict[Part, str] = {
    "values": "values of single queries",
    "bounds": "bounds of values",
    "queries": "states and latencies of queries",
    "lists": "the lists of the systems",
    "every_list": "the lists of queries without judgments",
    "totals": "sums over all lists",
    "grade_draws": "values under drawn grades of unjudged documents",
    "repeats": "further rankings of the same system",
    "judged_sample": "values by a model's judgments",
    "group_sums": "sums of values over groups of queries",
    "intervals": "intervals of means",
    "judgments": "the judgments",
}
"""The name of each part in messages."""

EVERY_PART: frozenset[Part] = frozenset(get_args(Part))


@dataclass(frozen=True)
class Need:
    """A part of scores that a metric, rule or other user needs.

    Attributes:
        part: its name.
        depth: the number of first documents of each list, if the part is lists; 0 is any.
        metric: the metric with the needed values; empty is any.
    """

    part: Part
    depth: int = 0
    metric: str = ""

    @property
    def title(self) -> str:
        """The needed part in words."""
        if self.depth:
            return f"the first {count_noun(self.depth, 'document')} of each list"
        if self.metric:
            return f"{PARTS[self.part]} by {self.metric}"
        return PARTS[self.part]


@dataclass(frozen=True)
class MissingPart:
    """A needed part that is not available.

    Attributes:
        title: the needed part.
        holds: the parts that are available instead, as a clause.
        remedy: the method to get it.
    """

    title: str
    holds: str
    remedy: str

    @property
    def reason(self) -> str:
        """The reason why a decision could not be made."""
        return f"it needs {self.title}, and {self.holds}"


@dataclass(frozen=True)
class Supply:
    """The parts that a source of scores can provide.

    Attributes:
        parts: their names.
        holds: the parts that the source has instead, as a clause: "only values were given".
        remedy: the way to get a missing part, or a function of the need.
        depth: the number of documents stored from each list; None if lists are complete.
        metrics: the metrics with values; None if any can be computed.
        code: the code of the error for a missing part.
    """

    parts: frozenset[Part] = EVERY_PART
    holds: str = ""
    remedy: str | Callable[[Need], str] = ""
    depth: int | None = None
    metrics: tuple[str, ...] | None = None
    code: str = "missing-part"

    def has(self, part_name: Part) -> bool:
        """True if a part is available or can be computed."""
        return part_name in self.parts

    def lack(self, need: Need) -> MissingPart | None:
        """The needed part as a lack; None if the part is available."""
        is_too_short = self.depth is not None and need.depth > self.depth
        lacks_metric = self.metrics is not None and bool(need.metric) and need.metric not in self.metrics
        if self.has(need.part) and not is_too_short and not lacks_metric:
            return None
        remedy = self.remedy(need) if callable(self.remedy) else self.remedy
        return MissingPart(need.title, self.holds, remedy)

    def require(self, user: str, needs: Iterable[Need]) -> None:
        """Check that all needs of a metric, rule or option are met.

        Args:
            user: the metric, rule or option with the needs.
            needs: the parts.

        Raises:
            UsageError: a need is not met.
        """
        for need in needs:
            if self.lack(need):
                raise self.error(user, need)

    def error(self, user: str, need: Need) -> UsageError:
        """The error for a need that is not met."""
        lack = self.lack(need)
        assert lack is not None
        return UsageError(
            f"{user}: {lack.title} are needed, and {lack.holds}; {lack.remedy}.", code=self.code
        )


EVERYTHING = Supply()
"""The supply of judgments and runs that are available."""
