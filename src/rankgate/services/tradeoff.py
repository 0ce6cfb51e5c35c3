"""Systems by several metrics at once: who is best at what, and who is beaten at everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankgate.errors import RankgateError, UsageError
from rankgate.metrics.names import parse_all
from rankgate.services.dominance import dominators

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.metrics.declare import Metric
    from rankgate.services.evaluate import Evaluation

_LEAST = 2


@dataclass(frozen=True)
class Tradeoff:
    """Means of several systems by several metrics.

    Attributes:
        evaluation: where the means come from.
        means: by system, by metric; systems without all means are left out.
        higher: by metric, whether higher is better.
        front: systems that no other beats: for each other system there is a metric by which
            they are better, or they are equal by all (Pareto).
        left_out: systems that lack a mean.
    """

    evaluation: Evaluation
    means: Mapping[str, Mapping[str, float]]
    higher: Mapping[str, bool]
    front: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema_version": 1,
            "convention": dict(self.evaluation.convention),
            "means": {name: dict(means) for name, means in self.means.items()},
            "higher_is_better": dict(self.higher),
            "front": list(self.front),
            "left_out": list(self.left_out),
        }


def tradeoff(told: Evaluation, extra: Sequence[Metric] = ()) -> Tradeoff:
    """Ask who of the systems of an evaluation is beaten by another at everything.

    Args:
        told: the evaluation of two runs or more by two metrics or more.
        extra: metrics that can be named beside those of the house.

    Raises:
        UsageError: fewer than two systems with all means, or fewer than two metrics.
    """
    higher = {label: _higher(label, extra) for label in told.metrics}
    means = {
        run.run: {label: float(run.means[label]) for label in told.metrics}
        for run in told.runs
        if not any(math.isnan(run.means[label]) for label in told.metrics)
    }
    if len(means) < _LEAST or len(told.metrics) < _LEAST:
        raise UsageError(
            "a trade-off is between two systems or more by two metrics or more; name more of them."
        )
    found = dominators(
        {name: list(own.values()) for name, own in means.items()}, list(higher.values())
    )
    front = tuple(name for name, by in found.items() if by is None)
    left = tuple(run.run for run in told.runs if run.run not in means)
    return Tradeoff(told, means, higher, front, left)


def _higher(label: str, extra: Sequence[Metric]) -> bool:
    """A name that only a convention's tool has is of a metric that is better when higher."""
    try:
        return parse_all(label, extra)[0][1].higher_is_better
    except RankgateError:
        return True
