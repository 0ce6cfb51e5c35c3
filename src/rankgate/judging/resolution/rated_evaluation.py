"""Compute metric values from the ratings of single raters.

The values are the result of ``eval`` on ratings, computed by the rules of a tool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.data.collection import Collection
from rankgate.data.column_map import ColumnMap, Kind, map_columns
from rankgate.data.formats.registry import detect_format, open_input
from rankgate.data.qrels import SCALES, Ratings, parse_scale
from rankgate.data.read import contents_of, read_ratings
from rankgate.judging.grade_transformers import TRANSFORMERS
from rankgate.judging.resolution.resolution import resolve_ratings
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.evaluation.metric_selection import find_ranking_metrics
from rankgate.measurement.evaluation.scores import Scores  # noqa: TC001 - read by its type
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RatingsLike, RunsLike
    from rankgate.data.qrels import Scale
    from rankgate.judging.grade_transformers import Transformer
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class RatedPart:
    """The metrics that share one rule of resolution, and their values.

    Attributes:
        scale: the scale of the metrics; None is the ratings' own.
        made_by: rule, parameters and transformer, as recorded in the judgments.
        evaluation: the values.
        counts: pairs and ties, as those of `ResolvedJudgments`; empty in results of earlier versions.
    """

    WRITTEN: ClassVar[tuple[str, ...]] = ("made_by", "scale", "counts", "changes", "evaluation")
    KEYS: ClassVar[Mapping[str, str]] = {"changes": "change", "evaluation": ""}

    scale: str | None
    made_by: Mapping[str, Any]
    evaluation: Scores
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def changes(self) -> list[dict[str, Any]]:
        """The change of each further run from the first run: ``run``, ``metric``, ``per_cent``."""
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


@dataclass(frozen=True)
class RatedEvaluation(Result):
    """The values of runs by the ratings of single raters, as a tool makes them.

    Attributes:
        parts: one for each way from ratings to judgments.
    """

    kind = "rated"
    label = "Values by the ratings of single raters"
    document_from = "rankgate.judging.resolution.rated_document:rated_document"
    order = 10
    PARTS: ClassVar = {"values": ("per_query", False)}

    parts: tuple[RatedPart, ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The warnings of all parts."""
        return tuple(notice for rated_part in self.parts for notice in rated_part.evaluation.notices)


def percent_change(value: float, baseline: float) -> int | None:
    """SearchTweak's change in whole per cent, with halves rounded away from 0.

    None if the baseline is 0 or a value is undefined.
    """
    if not baseline or not math.isfinite(value) or not math.isfinite(baseline):
        return None
    change = (value - baseline) / baseline * 100
    return int(abs(change) + 0.5) * (1 if change > 0 else -1)


@dataclass(frozen=True)
class ToolRule:
    """The rule by which a tool makes judgments from ratings for one metric.

    Attributes:
        scale: the scale of the metric; None means the scale of the ratings.
        rule: the rule that makes one grade of several, as in ``resolve``.
    """

    scale: str | None
    rule: str


def _searchtweak(label: str, metric: Metric) -> ToolRule:
    """Binary metrics by majority, with null for ties; graded metrics by the mean.

    Each grade is first mapped to the metric's scale (app/Services/Scorers; CONVENTIONS 2.2).
    """
    if metric.name in {"P", "AP", "RR"}:
        return ToolRule("binary", "majority")
    return ToolRule("detail" if "(d)" in label else "graded", "mean")


def _quepid(_label: str, _metric: Metric) -> ToolRule:
    """The lowest of the three highest grades (app/services/ratings_manager.rb)."""
    return ToolRule(None, "top-three")


TOOL_RULES: dict[str, Callable[[str, Metric], ToolRule]] = {"searchtweak": _searchtweak, "quepid": _quepid}
"""The tools with a known rule from ratings to values, by their convention."""


def score_ratings(
    collection: Collection,
    runs: RunsLike,
    metrics: Sequence[str | Metric],
    how: str | Convention,
    **options: Any,
) -> RatedEvaluation | None:
    """Like `from_ratings`; None if the input holds judgments, or the tool has no such rule."""
    column_map = ColumnMap.read(collection.columns)
    kind: Kind = "ratings" if column_map and column_map.rates else "qrels"
    ratings = map_columns(collection.judgments, collection.columns, kind)
    if not holds_ratings(ratings, how):
        return None
    rating_collection = replace(collection, judgments=ratings)
    return from_ratings(rating_collection, runs, metrics, how, **options)


def holds_ratings(source: QrelsLike | RatingsLike, how: str | Convention) -> bool:
    """True if the input has ratings from which the convention's tool makes judgments first.

    Raises:
        InputError: the source cannot be read.
        UsageError: an unknown convention.
    """
    if chosen_convention(how).name not in TOOL_RULES:
        return False
    if isinstance(source, Ratings):
        return True
    if not isinstance(source, str | Path) or str(source) == "-":
        return False
    opened_file, file_format = open_input(source, None)
    if "ratings" not in (file_format or detect_format(opened_file)[0]).holds:
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
        how: a convention of a tool that averages over raters, ``searchtweak`` or ``quepid``.
        scale: the scale of the raters; by default that of the ratings.
        bounds: as in ``evaluate``.

    Raises:
        InputError: data cannot be read; a grade is not on the scale; there are no judgments.
        UsageError: the convention has no such rule; the scale is unknown, so grades cannot be
            mapped.
    """
    rules = chosen_convention(how)
    if rules.name not in TOOL_RULES:
        raise UsageError(
            f"rankgate has no rule to resolve ratings for {rules.name}; resolve them first: rankgate "
            f"resolve. There are {', '.join(TOOL_RULES)}.",
            code="unsupported-rule",
        )
    if not isinstance(collection, Collection):
        collection = Collection(collection)  # type: ignore[arg-type]
    all_ratings = read_ratings(collection.judgments)  # type: ignore[arg-type]
    graded_on = parse_scale(scale) if scale else all_ratings.scale
    groups: dict[ToolRule, list[str]] = {}
    for label, metric in find_ranking_metrics(metrics, rules):
        groups.setdefault(TOOL_RULES[rules.name](label, metric), []).append(label)
    parts = []
    for tool_rule, labels in groups.items():
        transformer = _scale_transformer(tool_rule.scale, graded_on, all_ratings)
        result = resolve_ratings(all_ratings, tool_rule.rule, transformer=transformer, scale=graded_on)
        resolved_collection = replace(collection, judgments=result.judgments(all_ratings.place.label))
        scores = evaluate(resolved_collection, runs, labels, rules, bounds=bounds)
        parts.append(RatedPart(tool_rule.scale, result.made_by, scores, result.counts))
    return RatedEvaluation(tuple(parts))


def _scale_transformer(target: str | None, scale: Scale | None, all_ratings: Ratings) -> Transformer | None:
    """The transformer of grades to the metric's scale; None if the scales are equal."""
    if target is None:
        return None
    scale_bounds = (scale.lowest, scale.highest) if scale else None
    scale_names = {(named_scale.lowest, named_scale.highest): name for name, named_scale in SCALES.items()}
    scale_name = scale_names.get(scale_bounds) if scale_bounds else None
    if scale_name is None:
        raise UsageError(
            f"{all_ratings.name} does not state the scale of its grades; give it with --scale, one of "
            f"{', '.join(SCALES)}.",
            code="unknown-scale",
        )
    return None if scale_name == target else TRANSFORMERS[f"{scale_name}-to-{target}"]
