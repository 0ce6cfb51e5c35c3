"""From the ratings of single raters to values, the whole way, as a tool goes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.data.formats.registry import detected, opened
from rankgate.data.ratings import Ratings
from rankgate.data.read import contents_of
from rankgate.data.read_ratings import read_ratings
from rankgate.data.scales import SCALES, scale_of
from rankgate.errors import UsageError
from rankgate.evaluation.evaluate import chosen_metrics, evaluate
from rankgate.judging.resolution.apply_rule import judgments, resolve
from rankgate.judging.transformers import TRANSFORMERS
from rankgate.metrics.names import DEFAULT_METRICS
from rankgate.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankgate.data.inputs import QrelsLike, RatingsLike, RunsLike
    from rankgate.data.qrels import Scale
    from rankgate.evaluation.evaluation import Evaluation
    from rankgate.judging.transformers import Transformer
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention


@dataclass(frozen=True)
class ToolWay:
    """How a tool makes judgments of ratings for one metric.

    Attributes:
        scale: that the metric is on; None is the ratings' own.
        rule: how several grades become one, as ``resolve`` has it.
    """

    scale: str | None
    rule: str


def _searchtweak(label: str, metric: Metric) -> ToolWay:
    """Binary metrics by majority, null where it ties; graded ones by the mean.

    Each grade is carried to the metric's scale first (app/Services/Scorers; CONVENTIONS 2.2).
    """
    if metric.name in {"P", "AP", "RR"}:
        return ToolWay("binary", "majority")
    return ToolWay("detail" if "(d)" in label else "graded", "mean")


def _quepid(_label: str, _metric: Metric) -> ToolWay:
    """The least of the three highest grades (app/services/ratings_manager.rb)."""
    return ToolWay(None, "top-three")


WAYS: dict[str, Callable[[str, Metric], ToolWay]] = {"searchtweak": _searchtweak, "quepid": _quepid}
"""The tools whose way from ratings to values is known, by their convention."""


@dataclass(frozen=True)
class ToolPart:
    """The metrics that go one way, and their values.

    Attributes:
        way: the way.
        made_by: rule, parameters and transformer, as recorded in the judgments.
        evaluation: the values.
    """

    way: ToolWay
    made_by: Mapping[str, Any]
    evaluation: Evaluation

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The change of each run after the first against it: ``run``, ``metric``, ``per_cent``."""
        first, *others = self.evaluation.runs
        return [
            {
                "run": run.run,
                "metric": label,
                "per_cent": badge(run.means[label], first.means[label]),
            }
            for run in others
            for label in self.evaluation.metrics
        ]

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "made_by": dict(self.made_by),
            "scale": self.way.scale,
            "change": self.changes,
            **self.evaluation.to_dict(per_query=per_query),
        }


def holds_ratings(source: QrelsLike | RatingsLike, how: str | Convention) -> bool:
    """Whether judgments are to be made of single ratings first, by the convention's tool.

    Raises:
        InputError: the source cannot be read.
        UsageError: an unknown convention.
    """
    if chosen_convention(how).name not in WAYS:
        return False
    if isinstance(source, Ratings):
        return True
    if not isinstance(source, str | Path) or str(source) == "-":
        return False
    place, found = opened(source, None)
    if "ratings" not in (found or detected(place)[0]).holds:
        return False
    held = contents_of(source)
    return held.ratings is not None and held.ratings.table["rater"].n_unique() > 1


def from_ratings(
    ratings: RatingsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    how: str | Convention = "searchtweak",
    *,
    scale: str | None = None,
    extra: Sequence[Metric] = (),
    on_progress: Callable[[str], None] | None = None,
) -> tuple[ToolPart, ...]:
    """Score runs by single raters' grades, as the convention's tool does.

    Args:
        ratings: of single raters: a path, a frame, ratings.
        runs: as ``evaluate`` takes them.
        metrics: names or metrics.
        how: a convention whose tool has a way, ``searchtweak`` or ``quepid``.
        scale: that raters graded on; without it, that of the ratings.
        extra: metrics that can be named beside those of the house.
        on_progress: called with the name of each run before it is scored.

    Raises:
        InputError: data that cannot be read; a grade that is not on the scale; no judgment.
        UsageError: no such way; a scale that is not known, so that nothing can be carried.
    """
    rules = chosen_convention(how)
    if rules.name not in WAYS:
        raise UsageError(
            f"no way from ratings is known for {rules.name}; resolve them first: "
            f"rankgate resolve. There are {', '.join(WAYS)}.",
            code="unsupported-rule",
        )
    said = read_ratings(ratings)
    graded_on = scale_of(scale) if scale else said.scale
    groups: dict[ToolWay, list[str]] = {}
    for label, metric in chosen_metrics(metrics, rules, extra):
        groups.setdefault(WAYS[rules.name](label, metric), []).append(label)
    parts = []
    for way, labels in groups.items():
        carried = _carried(way.scale, graded_on, said)
        result = resolve(said, way.rule, transformer=carried, scale=graded_on)
        found = evaluate(
            judgments(result, said.place.label),
            runs,
            labels,
            rules,
            extra=extra,
            on_progress=on_progress,
        )
        parts.append(ToolPart(way, result.made_by, found))
    return tuple(parts)


def badge(value: float, before: float) -> int | None:
    """SearchTweak's change in whole per cent, halves away from 0.

    None where there is nothing to take a share of: before is 0, or one of them undefined.
    """
    if not before or not math.isfinite(value) or not math.isfinite(before):
        return None
    change = (value - before) / before * 100
    return int(abs(change) + 0.5) * (1 if change > 0 else -1)


def _carried(target: str | None, scale: Scale | None, said: Ratings) -> Transformer | None:
    """What carries grades to the metric's scale; None where they are on it."""
    if target is None:
        return None
    ends = (scale.lowest, scale.highest) if scale else None
    named = {(each.lowest, each.highest): name for name, each in SCALES.items()}
    own = named.get(ends) if ends else None
    if own is None:
        raise UsageError(
            f"{said.name} does not say on which scale raters graded; say it with --scale, one of "
            f"{', '.join(SCALES)}.",
            code="unknown-scale",
        )
    return None if own == target else TRANSFORMERS[f"{own}-to-{target}"]
