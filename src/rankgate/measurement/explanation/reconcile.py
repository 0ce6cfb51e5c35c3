"""Score the same data under every convention, and explain the differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.present.base_result import run_notices
from rankgate.core.present.number_formats import finite_or_none
from rankgate.data.collection import Collection
from rankgate.data.run_scores import RunScores
from rankgate.measurement.evaluation.metric_selection import find_metrics, is_of_lists, refuse_tasks
from rankgate.measurement.explanation.convention_path import OptionalMean, effective_steps, path_steps
from rankgate.measurement.explanation.explanation_results import (
    Bridge,
    Finding,
    Fit,
    Group,
    Reconciliation,
    Refusal,
)
from rankgate.measurement.scoring import CONVENTIONS, Convention, convention
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.convention_overrides import Choices
from rankgate.measurement.scoring.run_sources import CachedSource, RunSource
from rankgate.measurement.scoring.scoring_facts import first_cautions

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.explanation.cached_lists import CachedLists
    from rankgate.measurement.metrics.metric_declaration import Metric


TOLERANCE = 1e-12
"""Means that differ by no more are the same number, added up in another order."""


def reconcile_metrics(
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
    refusals = {name: str(result) for name, result in results.items() if isinstance(result, RankgateError)}
    scores = {name: result for name, result in results.items() if isinstance(result, RunScores)}
    if not scores:
        raise next(error for error in results.values() if isinstance(error, RankgateError))
    groups = _group_by_mean(label, scores)
    all_groups = [
        groups[0],
        *(_with_steps(group, groups[0], used_metric, convention_by_name, cached_run) for group in groups[1:]),
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
    """The single metric with its label.

    Raises:
        UsageError: several metrics are given, or the name is unknown.
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
    """The conventions to search; for a metric on lists, those of tools with the metric."""
    if not is_of_lists(metric):
        return list(CONVENTIONS)
    return [n for n, preset in CONVENTIONS.items() if n == "trec" or preset.has(metric.name)]


def prepare_run(
    collection: Collection, run: RunLike, metric: Metric
) -> tuple[CachedSource | CachedLists, str]:
    """Prepare a run for repeated scoring; return also the name of the judgments."""
    judgments = collection.qrels()
    index = JudgmentIndex.from_judgments(judgments)
    rankings = index.ranked(collection.run(run))
    if not (is_of_lists(metric) or collection.drop_seen):
        return CachedSource(RunSource(rankings, index)), judgments.name
    # the inputs of metrics on lists are loaded only for these metrics
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
    from rankgate.measurement.explanation.cached_lists import CachedLists as Lists

    builder = ListBuilder.from_collection({}, CONVENTIONS["trec"], collection)
    if not is_of_lists(metric):
        return CachedSource(RunSource(builder.ranked(rankings), index)), judgments.name
    return Lists(rankings, index, builder), judgments.name


def _group_by_mean(label: str, scores: dict[str, RunScores]) -> list[Group]:
    """Conventions grouped by equal mean, the largest group first."""
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
    """The group, with the steps from the first group between the two most similar conventions."""
    pairs = [(near, far) for near in first.conventions for far in group.conventions]
    flat = {name: Choices.collect(convention_by_name[name], metric) for name in {*sum(pairs, ())}}
    near, far = min(pairs, key=lambda pair: len(flat[pair[0]].differing(flat[pair[1]])))
    steps = effective_steps(path_steps(content, metric, convention_by_name[near], convention_by_name[far]))
    return Group(group.value, group.conventions, group.queries, near, far, steps)


CUTOFFS = (1, 3, 5, 10, 20, 50, 100, 1000)
"""The cutoffs that are tried besides the given one; the whole list too."""

_NEAREST = 3
_NUMBER = re.compile(r"[+-]?(\d+)(?:\.(\d*))?|[+-]?\.(\d+)")


def find_reported(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    value: str | float,
    conventions: Sequence[str | Convention] | None = None,
) -> Finding:
    """Find the conventions and cutoffs under which a metric has a reported value on these data.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name; it is tried at its usual cutoffs too.
        value: the value as it was written, with a tolerance by its last digit; more than 1
              for a metric that ends there is a percentage.
        conventions: conventions or their names; None is as of `reconcile`.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name, a value that is not a number.
    """
    _, used_metric = one_metric(metric)
    target, tolerance = parse_exactness(str(value))
    percent = used_metric.high == 1 and used_metric.aggregate != "sum" and target > 1 + tolerance
    scale = 100.0 if percent else 1.0
    metrics = [(str(variant), variant) for variant in _metric_variants(used_metric)]
    names = usual_conventions(used_metric) if conventions is None else list(conventions)
    used_conventions = list(map(convention, names))
    content, name = prepare_run(Collection.of(collection), run, used_metric)
    scored = zip(used_conventions, content.score(metrics, used_conventions), strict=True)
    scored_conventions = [
        (used_convention.name, result) for used_convention, result in scored if isinstance(result, RunScores)
    ]
    fits = _group_by_number([(label, _means(label, scored_conventions)) for label, _ in metrics])
    target_mean, mean_tolerance = target / scale, tolerance / scale
    matching = tuple(fit for fit in fits if abs(fit.mean - target_mean) <= mean_tolerance + TOLERANCE)
    near = () if matching else tuple(sorted(fits, key=lambda fit: abs(fit.mean - target_mean))[:_NEAREST])
    return Finding(
        qrels=name,
        run=content.name,
        metric=str(used_metric),
        reported=str(value),
        value=target_mean,
        tolerance=mean_tolerance,
        percent=percent,
        fits=matching,
        nearest=near,
        tried=tuple(label for label, _ in metrics),
        conventions=len(used_conventions),
        notices=run_notices(content.name, first_cautions(scores for _, scores in scored_conventions)),
    )


def parse_exactness(word: str) -> tuple[float, float]:
    """Parse a number; return it and half a unit of its last digit.

    Raises:
        UsageError: the text is not a decimal number.

    >>> parse_exactness("0.4326")
    (0.4326, 5e-05)
    """
    match = _NUMBER.fullmatch(word.strip())
    if match is None:
        raise UsageError(
            f"'{word}' is not a number; write it as it was reported, such as 0.4326.", code="not-a-number"
        )
    return float(word), float(f"5e-{len(match[2] or match[3] or '') + 1}")


def _metric_variants(metric: Metric) -> list[Metric]:
    """The metric as given, then at the usual cutoffs and without a cutoff."""
    if metric.at != "cutoff":
        return [metric]
    plain = [pair for pair in metric.given if pair[0] != "cutoff"]
    uncut = [] if metric.parameters["cutoff"].required else [_with_arguments(metric, plain)]
    return list(dict.fromkeys([metric, *(_with_arguments(metric, plain) @ k for k in CUTOFFS), *uncut]))


def _with_arguments(metric: Metric, arguments: list[tuple[str, Any]]) -> Metric:
    return replace(metric, given=tuple(arguments))


def _means(label: str, scored_conventions: list[tuple[str, RunScores]]) -> list[tuple[str, float]]:
    """The defined means of a metric by convention."""
    means = [(name, finite_or_none(run_scores.means[label])) for name, run_scores in scored_conventions]
    return [(name, mean) for name, mean in means if mean is not None]


def _group_by_number(means_by_metric: list[tuple[str, list[tuple[str, float]]]]) -> list[Fit]:
    """Group the conventions of each metric by their number."""
    fits: list[Fit] = []
    for label, means in means_by_metric:
        names_by_mean: list[tuple[float, list[str]]] = []
        for name, mean in means:
            names_of_mean = next(
                (names for value, names in names_by_mean if abs(value - mean) <= TOLERANCE), None
            )
            if names_of_mean is None:
                names_by_mean.append((mean, [name]))
            else:
                names_of_mean.append(name)
        fits += [Fit(label, mean, tuple(names)) for mean, names in names_by_mean]
    return fits


@overload
def reconcile(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    *,
    from_: str | Convention,
    to: str | Convention,
) -> Bridge: ...


@overload
def reconcile(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    *,
    value: str | float,
    conventions: Sequence[str | Convention] = ...,
) -> Finding: ...


@overload
def reconcile(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    *,
    conventions: Sequence[str | Convention] = ...,
) -> Reconciliation: ...


def reconcile(
    collection: Collection | QrelsLike,
    run: RunLike,
    metric: str | Metric,
    *,
    from_: str | Convention | None = None,
    to: str | Convention | None = None,
    value: str | float | None = None,
    conventions: Sequence[str | Convention] = (),
) -> Reconciliation | Bridge | Finding:
    """Explain why tools give different values for one metric, or which tool gives a value.

    Without more, the run is scored under every convention: who agrees, and what separates the
    others. With ``from_`` and ``to`` the conventions are connected one axis at a
    time. With ``value`` the conventions and cutoffs are searched that give this number.

    Args:
        collection: judgments, or a `Collection` of them with what metrics of lists need.
        run: one run, as ``evaluate`` takes it.
        metric: one metric or its name.
        from_: the convention to start from: a name, a TOML file, or a convention.
        to: the convention to arrive at.
        value: find the conventions that give this reported value; as a word, ``"0.430"``, its
            last digit counts too.
        conventions: those to look through; none is all that have a name, of a metric on lists
            those of the tools that have it, besides our own.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: several metrics, an unknown name, forms that do not go together.

    >>> qrels, run = {"q": {"a": 3, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}
    >>> some = ["trec", "trec9", "esci"]
    >>> [group.conventions for group in reconcile(qrels, run, "nDCG@10", conventions=some).groups]
    [('trec', 'trec9'), ('esci',)]
    >>> way = reconcile(qrels, run, "nDCG@10", from_="trec", to="esci")
    >>> [(step.axes, round(step.effect, 4)) for step in way.steps if step.moves]
    [(('nDCG.gain',), -0.0869)]
    >>> finding = reconcile(qrels, run, "nDCG@10", value="0.710", conventions=some)
    >>> finding.fits[0].conventions
    ('esci',)
    """
    if (from_ is None) != (to is None):
        raise UsageError("from_ and to go together; name both conventions.", code="missing-input")
    searched = list(conventions) or None
    if from_ is not None and to is not None:
        if value is not None or searched:
            raise UsageError(
                "from_ and to name the conventions; leave out value and conventions.",
                code="conflicting-options",
            )
        return bridge(collection, run, metric, from_, to)
    if value is not None:
        return find_reported(collection, run, metric, value, searched)
    return reconcile_metrics(collection, run, metric, searched)
