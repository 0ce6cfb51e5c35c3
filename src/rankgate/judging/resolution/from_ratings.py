"""From the ratings of single raters to values, the whole way, as a tool goes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.collection import Collection
from rankgate.data.column_map import ColumnMap, Kind, mapped
from rankgate.data.formats.registry import detected, opened
from rankgate.data.ratings import Ratings
from rankgate.data.read import contents_of
from rankgate.data.read_ratings import read_ratings
from rankgate.data.scales import SCALES, scale_of
from rankgate.judging.resolution.apply_rule import resolve
from rankgate.judging.resolution.rated import RatedEvaluation, RatedPart
from rankgate.judging.transformers import TRANSFORMERS
from rankgate.measurement.evaluation.evaluate import chosen_metrics, evaluate
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.chosen import chosen_convention

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RatingsLike, RunsLike
    from rankgate.data.qrels import Scale
    from rankgate.judging.transformers import Transformer
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention


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


def score_ratings(
    collection: Collection,
    runs: RunsLike,
    metrics: Sequence[str | Metric],
    how: str | Convention,
    **options: Any,
) -> RatedEvaluation | None:
    """As `from_ratings`; None where the input holds judgments, or the tool has no such way."""
    column_map = ColumnMap.of(collection.columns)
    kind: Kind = "ratings" if column_map and column_map.rates else "qrels"
    ratings = mapped(collection.judgments, collection.columns, kind)
    if not holds_ratings(ratings, how):
        return None
    rated = replace(collection, judgments=ratings)
    return from_ratings(rated, runs, metrics, how, **options)


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
    content = contents_of(source)
    return content.ratings is not None and content.ratings.table["rater"].n_unique() > 1


def from_ratings(
    collection: Collection | RatingsLike,
    runs: RunsLike,
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    how: str | Convention = "searchtweak",
    *,
    scale: str | None = None,
    bounds: bool = False,
) -> RatedEvaluation:
    """Score runs by single raters' grades, as the convention's tool does.

    Args:
        collection: ratings of single raters, a path or a frame, or a collection with them in
            the place of judgments.
        runs: as ``evaluate`` takes them.
        metrics: names or metrics.
        how: a convention whose tool has a way, ``searchtweak`` or ``quepid``.
        scale: that raters graded on; without it, that of the ratings.
        bounds: as of ``evaluate``.

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
    if not isinstance(collection, Collection):
        collection = Collection(collection)  # type: ignore[arg-type]
    said = read_ratings(collection.judgments)  # type: ignore[arg-type]
    graded_on = scale_of(scale) if scale else said.scale
    groups: dict[ToolWay, list[str]] = {}
    for label, metric in chosen_metrics(metrics, rules):
        groups.setdefault(WAYS[rules.name](label, metric), []).append(label)
    parts = []
    for way, labels in groups.items():
        carried = _carried(way.scale, graded_on, said)
        result = resolve(said, way.rule, transformer=carried, scale=graded_on)
        judged = replace(collection, judgments=result.judgments(said.place.label))
        found = evaluate(judged, runs, labels, rules, bounds=bounds)
        parts.append(RatedPart(way.scale, result.made_by, found))
    return RatedEvaluation(tuple(parts))


def _carried(target: str | None, scale: Scale | None, said: Ratings) -> Transformer | None:
    """What carries grades to the metric's scale; None where they are on it."""
    if target is None:
        return None
    ends = (scale.lowest, scale.highest) if scale else None
    named = {(each.lowest, each.highest): name for name, each in SCALES.items()}
    own = named.get(ends) if ends else None
    if own is None:
        raise UsageError(
            f"{said.name} does not say on which scale raters graded; give it with --scale, one of "
            f"{', '.join(SCALES)}.",
            code="unknown-scale",
        )
    return None if own == target else TRANSFORMERS[f"{own}-to-{target}"]
