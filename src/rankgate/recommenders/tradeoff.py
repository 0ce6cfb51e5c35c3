"""Systems by several metrics at once: who is best at what, and who is beaten at everything."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.errors import UsageError
from rankgate.metrics.names import higher_is_better
from rankgate.recommenders.dominance import dominators

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rankgate.evaluation.evaluation import Evaluation
    from rankgate.metrics.declare import Metric
    from rankgate.recommenders.scorecard import Scorecard

_LEAST = 2
_TOO_LITTLE = (
    "a trade-off is between two systems or more by two metrics or more; name more of them."
)


@dataclass(frozen=True)
class Tradeoff:
    """Means of several systems by several metrics.

    Attributes:
        convention: name, axes and hash.
        counts: over how many queries, or users, the means of each system are.
        means: by system, by metric; systems without all means are left out.
        higher: by metric, whether higher is better.
        front: systems that no other beats: for each other system there is a metric by which
            they are better, or they are equal by all (Pareto).
        left_out: systems that lack a mean.
    """

    convention: Mapping[str, Any]
    counts: tuple[int, ...]
    means: Mapping[str, Mapping[str, float]]
    higher: Mapping[str, bool]
    front: tuple[str, ...]
    left_out: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema_version": 1,
            "convention": dict(self.convention),
            "means": {name: dict(means) for name, means in self.means.items()},
            "higher_is_better": dict(self.higher),
            "front": list(self.front),
            "left_out": list(self.left_out),
        }


def tradeoff(result: Evaluation, extra: Sequence[Metric] = ()) -> Tradeoff:
    """Ask who of the systems of an evaluation is beaten by another at everything.

    Args:
        result: the evaluation of two runs or more by two metrics or more.
        extra: metrics that can be named beside those of the house.

    Raises:
        UsageError: fewer than two systems with all means, or fewer than two metrics.
    """
    higher = {label: higher_is_better(label, extra) for label in result.metrics}
    means = {
        run.run: {label: float(run.means[label]) for label in result.metrics}
        for run in result.runs
        if not any(math.isnan(run.means[label]) for label in result.metrics)
    }
    if len(means) < _LEAST or len(result.metrics) < _LEAST:
        raise UsageError(_TOO_LITTLE, code="too-few-values")
    found = dominators(
        {name: list(own.values()) for name, own in means.items()}, list(higher.values())
    )
    front = tuple(name for name, by in found.items() if by is None)
    left = tuple(run.run for run in result.runs if run.run not in means)
    counts = tuple(run.counts.queries for run in result.runs)
    return Tradeoff(result.convention, counts, means, higher, front, left)


def tradeoff_of(card: Scorecard) -> Tradeoff:
    """The same of a scorecard, by the metrics that have a better end and that all systems have.

    The first metric of accuracy comes first and the first of lists second: what is given up for
    what.

    Raises:
        UsageError: fewer than two systems, or fewer than two such metrics.
    """
    table = card.figures.filter(pl.col("higher_is_better").is_not_null())
    known = table.filter(pl.col("value").is_finite())["metric"].value_counts()
    whole = set(known.filter(pl.col("count") == len(card.systems))["metric"].to_list())
    kept = table.filter(pl.col("metric").is_in(list(whole)))
    about = dict(kept.select("metric", "about").rows())
    metrics = sorted(about, key=card.metrics.index)
    firsts = [next((m for m in metrics if about[m] == part), "") for part in ("accuracy", "lists")]
    order = [*filter(None, firsts), *(metric for metric in metrics if metric not in firsts)]
    if len(card.systems) < _LEAST or len(order) < _LEAST:
        raise UsageError(_TOO_LITTLE, code="too-few-values")
    value = {(row["system"], row["metric"]): row["value"] for row in kept.to_dicts()}
    means = {name: {metric: value[name, metric] for metric in order} for name in card.systems}
    higher = dict(kept.select("metric", "higher_is_better").rows())
    beaten = dict(card.dominated)
    front = tuple(name for name in card.systems if name not in beaten)
    return Tradeoff(card.convention, (card.users,), means, {m: higher[m] for m in order}, front, ())
