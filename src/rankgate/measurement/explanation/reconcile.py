"""Score the same data under every convention and explain the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.present.numbers import finite_or_none
from rankgate.core.present.result import run_notices
from rankgate.data.collection import Collection
from rankgate.data.scores import RunScores
from rankgate.measurement.evaluation.metric_selection import find_metrics, is_of_lists
from rankgate.measurement.evaluation.sequences.asked import refuse_tasks
from rankgate.measurement.explanation.bridge import Bridge
from rankgate.measurement.explanation.convention_path import (
    OptionalMean,
    effective_steps,
    path_steps,
)
from rankgate.measurement.explanation.reconciliation import Group, Reconciliation, Refusal
from rankgate.measurement.scoring import CONVENTIONS, Convention, convention
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.cached_source import CachedSource
from rankgate.measurement.scoring.differences import Choices
from rankgate.measurement.scoring.input_cautions import first_cautions
from rankgate.measurement.scoring.sources import RunSource

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.measurement.explanation.cached_lists import CachedLists
    from rankgate.measurement.metrics.declare import Metric

TOLERANCE = 1e-12
"""Means that differ by no more are the same number, added up in another order."""


def reconcile(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    conventions: Sequence[str | Convention] | None = None,
) -> Reconciliation:
    """Score one metric under all conventions and explain the differences.

    The run is read once (once more for each way to treat duplicates, if there are any).

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name.
        conventions: conventions or their names; None is all that have a name, of a metric on
            lists those of the tools that have it, besides our own.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name.
    """
    label, used_metric = one_metric(metric)
    names = usual_conventions(used_metric) if conventions is None else list(conventions)
    convention_by_name = {
        named_convention.name: named_convention for named_convention in map(convention, names)
    }
    cached_run, name = prepare_run(Collection.of(collection), run, used_metric)
    results = dict(
        zip(
            convention_by_name,
            cached_run.score([(label, used_metric)], list(convention_by_name.values())),
            strict=True,
        )
    )
    refusals = {
        name: str(result) for name, result in results.items() if isinstance(result, RankgateError)
    }
    scores = {name: result for name, result in results.items() if isinstance(result, RunScores)}
    if not scores:
        raise next(error for error in results.values() if isinstance(error, RankgateError))
    groups = _group_by_mean(label, scores)
    all_groups = [
        groups[0],
        *(
            _with_steps(group, groups[0], used_metric, convention_by_name, cached_run)
            for group in groups[1:]
        ),
    ]
    refused = tuple(Refusal(refused_name, reason) for refused_name, reason in refusals.items())
    notices = run_notices(cached_run.name, first_cautions(scores.values()))
    return Reconciliation(name, cached_run.name, label, tuple(all_groups), refused, notices)


def bridge(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    begin: str | Convention,
    end: str | Convention,
) -> Bridge:
    """Go from one convention to another, one axis at a time, what moves the mean most first.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name.
        begin: a convention or its name.
        end: another.

    Raises:
        InputError: data that cannot be read, or that one of the two cannot take.
        UsageError: several metrics, an unknown name.
    """
    label, used_metric = one_metric(metric)
    first, last = convention(begin), convention(end)
    cached_run, name = prepare_run(Collection.of(collection), run, used_metric)
    steps = path_steps(cached_run, used_metric, first, last)
    ends = cached_run.score([(label, used_metric)], [first, last])
    scores = [result for result in ends if isinstance(result, RunScores)]
    before, after = (finite_or_none(run_scores.means[label]) for run_scores in scores)
    return Bridge(
        name,
        cached_run.name,
        label,
        first.to_dict(),
        last.to_dict(),
        before,
        after,
        steps,
        run_notices(cached_run.name, first_cautions(scores)),
    )


def one_metric(metric: str | Metric) -> tuple[str, Metric]:
    """One metric with its label.

    Raises:
        UsageError: several metrics, or none of that name.
    """
    metrics = find_metrics(metric)
    refuse_tasks(metrics)
    if len(metrics) > 1:
        raise UsageError(
            f"{metric} names {len(metrics)} metrics; name one, such as {metrics[0][0]}.",
            code="several-metrics",
        )
    return metrics[0]


def usual_conventions(metric: Metric) -> list[str | Convention]:
    """The conventions to search: for a metric on lists, those of the tools that have it."""
    if not is_of_lists(metric):
        return list(CONVENTIONS)
    return [n for n, preset in CONVENTIONS.items() if n == "trec" or preset.has(metric.name)]


def prepare_run(
    collection: Collection, run: RunLike, metric: Metric
) -> tuple[CachedSource | CachedLists, str]:
    """Prepare a run for repeated scoring, with the name of the judgments."""
    judgments = collection.qrels()
    index = JudgmentIndex.of(judgments)
    rankings = index.ranked(collection.run(run))
    if not (is_of_lists(metric) or collection.drop_seen):
        return CachedSource(RunSource(rankings, index)), judgments.name
    # the inputs of metrics on lists are loaded only for such a metric
    from rankgate.measurement.evaluation.lists.builder import ListBuilder
    from rankgate.measurement.explanation.cached_lists import CachedLists as Lists

    builder = ListBuilder.of({}, CONVENTIONS["trec"], collection)
    if not is_of_lists(metric):
        return CachedSource(RunSource(builder.ranked(rankings), index)), judgments.name
    return Lists(rankings, index, builder), judgments.name


def _group_by_mean(label: str, scores: dict[str, RunScores]) -> list[Group]:
    """Conventions by equal mean, the largest group first."""
    groups: list[tuple[OptionalMean, list[str]]] = []
    for name, run_scores in scores.items():
        mean = finite_or_none(run_scores.means[label])
        same_names = next((names for value, names in groups if _equal(value, mean)), None)
        if same_names is None:
            groups.append((mean, [name]))
        else:
            same_names.append(name)
    groups.sort(key=lambda group: -len(group[1]))
    return [
        Group(value, tuple(names), tuple(scores[name].counts.queries for name in names))
        for value, names in groups
    ]


def _equal(left: OptionalMean, right: OptionalMean) -> bool:
    if left is None or right is None:
        return left is right
    return abs(left - right) <= TOLERANCE


def _with_steps(
    group: Group,
    first: Group,
    metric: Metric,
    convention_by_name: dict[str, Convention],
    content: CachedSource | CachedLists,
) -> Group:
    """The group with the steps from the first group, between the two that differ least."""
    pairs = [(near, far) for near in first.conventions for far in group.conventions]
    flat = {name: Choices.of(convention_by_name[name], metric) for name in {*sum(pairs, ())}}
    near, far = min(pairs, key=lambda pair: len(flat[pair[0]].differing(flat[pair[1]])))
    steps = effective_steps(
        path_steps(content, metric, convention_by_name[near], convention_by_name[far])
    )
    return Group(group.value, group.conventions, group.queries, near, far, steps)
