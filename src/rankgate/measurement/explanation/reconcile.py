"""Score the same data under every convention and explain the differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.present.numbers import known
from rankgate.core.present.result import run_notices
from rankgate.data.collection import Collection
from rankgate.data.scores import Scores
from rankgate.measurement.evaluation.evaluate import is_of_lists, known_metrics
from rankgate.measurement.evaluation.sequences.asked import refuse_tasks
from rankgate.measurement.explanation.bridge import Bridge
from rankgate.measurement.explanation.convention_path import Known, effective, path_steps
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

CLOSE = 1e-12
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
    label, one = one_metric(metric)
    names = usual(one) if conventions is None else list(conventions)
    hows = {how.name: how for how in map(convention, names)}
    content, name = hold(Collection.of(collection), run, one)
    found = dict(zip(hows, content.score([(label, one)], list(hows.values())), strict=True))
    refusals = {name: str(each) for name, each in found.items() if isinstance(each, RankgateError)}
    scores = {name: each for name, each in found.items() if isinstance(each, Scores)}
    if not scores:
        raise next(each for each in found.values() if isinstance(each, RankgateError))
    groups = _grouped(label, scores)
    items = [groups[0], *(_separated(each, groups[0], one, hows, content) for each in groups[1:])]
    refused = tuple(Refusal(each, reason) for each, reason in refusals.items())
    notices = run_notices(content.name, first_cautions(scores.values()))
    return Reconciliation(name, content.name, label, tuple(items), refused, notices)


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
    label, one = one_metric(metric)
    first, last = convention(begin), convention(end)
    content, name = hold(Collection.of(collection), run, one)
    steps = path_steps(content, one, first, last)
    ends = content.score([(label, one)], [first, last])
    scores = [each for each in ends if isinstance(each, Scores)]
    before, after = (known(each.means[label]) for each in scores)
    return Bridge(
        name,
        content.name,
        label,
        first.to_dict(),
        last.to_dict(),
        before,
        after,
        steps,
        run_notices(content.name, first_cautions(scores)),
    )


def one_metric(metric: str | Metric) -> tuple[str, Metric]:
    """One metric with its label.

    Raises:
        UsageError: several metrics, or none of that name.
    """
    chosen = known_metrics(metric)
    refuse_tasks(chosen)
    if len(chosen) > 1:
        raise UsageError(
            f"{metric} names {len(chosen)} metrics; name one, such as {chosen[0][0]}.",
            code="several-metrics",
        )
    return chosen[0]


def usual(metric: Metric) -> list[str | Convention]:
    """The conventions to look through: of a metric on lists those of the tools that have it."""
    if not is_of_lists(metric):
        return list(CONVENTIONS)
    return [n for n, how in CONVENTIONS.items() if n == "trec" or how.has(metric.name)]


def hold(
    collection: Collection, run: RunLike, metric: Metric
) -> tuple[CachedSource | CachedLists, str]:
    """A run ready to be scored again and again, and the name of the judgments."""
    judgments = collection.qrels()
    index = JudgmentIndex.of(judgments)
    rankings = index.ranked(collection.run(run))
    if not (is_of_lists(metric) or collection.drop_seen):
        return CachedSource(RunSource(rankings, index)), judgments.name
    # what metrics on lists need is loaded where one is asked for
    from rankgate.measurement.evaluation.lists.builder import ListBuilder
    from rankgate.measurement.explanation.cached_lists import CachedLists as Lists

    builder = ListBuilder.of({}, CONVENTIONS["trec"], collection)
    if not is_of_lists(metric):
        return CachedSource(RunSource(builder.ranked(rankings), index)), judgments.name
    return Lists(rankings, index, builder), judgments.name


def _grouped(label: str, scores: dict[str, Scores]) -> list[Group]:
    """Conventions by equal mean, the largest group first."""
    groups: list[tuple[Known, list[str]]] = []
    for name, each in scores.items():
        mean = known(each.means[label])
        mine = next((names for value, names in groups if _equal(value, mean)), None)
        if mine is None:
            groups.append((mean, [name]))
        else:
            mine.append(name)
    groups.sort(key=lambda group: -len(group[1]))
    return [
        Group(value, tuple(names), tuple(scores[name].counts.queries for name in names))
        for value, names in groups
    ]


def _equal(one: Known, other: Known) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= CLOSE


def _separated(
    group: Group,
    first: Group,
    metric: Metric,
    hows: dict[str, Convention],
    content: CachedSource | CachedLists,
) -> Group:
    """The group with what leads to it from the first one, between the two that differ least."""
    pairs = [(near, mine) for near in first.conventions for mine in group.conventions]
    flat = {name: Choices.of(hows[name], metric) for name in {*sum(pairs, ())}}
    near, mine = min(pairs, key=lambda pair: len(flat[pair[0]].differing(flat[pair[1]])))
    steps = effective(path_steps(content, metric, hows[near], hows[mine]))
    return Group(group.value, group.conventions, group.queries, near, mine, steps)
