"""Values by the ratings of single raters: the result of ``eval`` on ratings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.measurement.evaluation.scores import Scores


@dataclass(frozen=True)
class RatedPart:
    """The metrics whose judgments were made in one way, and their values.

    Attributes:
        scale: that the metrics are on; None is the ratings' own.
        made_by: rule, parameters and transformer, as recorded in the judgments.
        evaluation: the values.
    """

    scale: str | None
    made_by: Mapping[str, Any]
    evaluation: Scores

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The change of each run after the first against it: ``run``, ``metric``, ``per_cent``."""
        first, *other_runs = self.evaluation.runs
        return [
            {
                "run": run.run,
                "metric": label,
                "per_cent": percent_change(run.means[label], first.means[label]),
            }
            for run in other_runs
            for label in self.evaluation.metrics
        ]

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "made_by": dict(self.made_by),
            "scale": self.scale,
            "change": self.changes,
            **self.evaluation.to_dict(per_query=per_query),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The part that ``to_dict`` was called on."""
        return cls(values["scale"], values["made_by"], Scores.from_dict(values))


@dataclass(frozen=True)
class RatedEvaluation(Result):
    """The values of runs by the ratings of single raters, as a tool makes them.

    Attributes:
        parts: one for each way from ratings to judgments.
    """

    kind: ClassVar[str] = "rated"
    label: ClassVar[str] = "Values by the ratings of single raters"
    document_from: ClassVar[str] = "rankgate.judging.resolution.rated_document:document"
    order: ClassVar[int] = 10

    parts: tuple[RatedPart, ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The notices of all parts."""
        return tuple(
            notice for rated_part in self.parts for notice in rated_part.evaluation.notices
        )

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.head(),
            "parts": [rated_part.to_dict(per_query=per_query) for rated_part in self.parts],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        return cls(tuple(RatedPart.from_dict(fields) for fields in values["parts"]))


def percent_change(value: float, baseline: float) -> int | None:
    """SearchTweak's change in whole per cent, halves away from 0.

    None where there is nothing to take a share of: the baseline is 0, or one of them undefined.
    """
    if not baseline or not math.isfinite(value) or not math.isfinite(baseline):
        return None
    change = (value - baseline) / baseline * 100
    return int(abs(change) + 0.5) * (1 if change > 0 else -1)
