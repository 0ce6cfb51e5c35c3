"""Metrics by name, and the decision to score a run by task or by query.

Names are those of built-in metrics, metrics of subtopics, lists and tasks, and names of tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.metric_declaration import LISTS, RANKING, SEQUENCES, Metric
from rankgate.measurement.metrics.metric_name_parser import is_built_in, name_of_measure, parse, parse_all

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.scoring import Convention


def find_metrics(
    metrics: str | Metric | Sequence[str | Metric],
    how: Convention | None = None,
    extra: Sequence[Metric] = (),
) -> list[tuple[str, Metric]]:
    """Like `find_ranking_metrics`, with metrics of lists and tasks.

    Raises:
        UsageError: see `find_ranking_metrics`.
    """
    try:
        return find_ranking_metrics(metrics, how, extra)
    except UsageError:
        from rankgate.measurement.metrics.lists import LIST_METRICS
        from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS

        return find_ranking_metrics(metrics, how, (*extra, *LIST_METRICS, *SEQUENCE_METRICS))


def find_ranking_metrics(
    metrics: str | Metric | Sequence[str | Metric],
    how: Convention | None = None,
    extra: Sequence[Metric] = (),
) -> list[tuple[str, Metric]]:
    """Each metric with its label as written; a repeated metric counts once.

    If the tool of the convention has its own name for a metric, the name stands for that metric.
    `extra` metrics are found by name in addition to the built-in metrics.

    Raises:
        UsageError: a name is unknown, a parameter does not fit, or there is no metric.
    """
    metric_of_label: dict[str, Metric] = {}
    for metric_or_name in metrics_as_list(metrics):
        if isinstance(metric_or_name, Metric):
            metric_of_label[str(metric_or_name)] = metric_or_name
        elif how is not None and (canonical_name := how.spelled(metric_or_name)):
            metric_of_label[metric_or_name] = parse(canonical_name, extra)
        else:
            metric_of_label.update(parse_all(metric_or_name, extra))
    if not metric_of_label:
        raise UsageError("no metric; give one such as nDCG@10.", code="missing-input")
    for metric in metric_of_label.values():
        if metric.missing:
            raise UsageError(metric.incomplete(), code="incomplete-metric")
    if how is not None:
        for metric in metric_of_label.values():
            how.defaults(metric)  # raises errors for contradictory parameters before files are read
        metric_of_label = {
            label: m.under_convention(how.parameters.get(m.name, {})) for label, m in metric_of_label.items()
        }
    return list(metric_of_label.items())


def subtopic_metrics(metrics: str | Metric | Sequence[str | Metric]) -> Sequence[Metric]:
    """Metrics of subtopics, if the names can be theirs."""
    if all(isinstance(name, str) and is_built_in(name) for name in metrics_as_list(metrics)):
        return ()
    from rankgate.measurement.metrics.facet_metrics import FACET_METRICS

    return FACET_METRICS


def ranking_metric_names(names: Sequence[str], how: Convention) -> list[str]:
    """The names of metrics that are not of lists.

    Raises:
        UsageError: a metric is unknown.
    """
    return [name for name in names if not all(is_of_lists(metric) for _, metric in find_metrics(name, how))]


def is_of_lists(metric: Metric) -> bool:
    """True if a metric is about lists as a whole."""
    return metric.view == LISTS


def metrics_as_list(metrics: Any) -> list[str | Metric]:  # noqa: ANN401 - anything, to be checked
    """Metrics and names of metrics as a list; a single one becomes a list.

    Raises:
        UsageError: the value has another type.
    """
    is_single = isinstance(metrics, str | bytes | Metric) or not isinstance(metrics, Iterable)
    given_metrics: list[Any] = [name_of_measure(metric) for metric in ([metrics] if is_single else metrics)]
    for metric in given_metrics:
        if not isinstance(metric, str | Metric):
            kind = type(metric).__name__
            problem = f"metrics are texts such as 'nDCG@10', or metrics; this is of type {kind}."
            raise UsageError(problem, code="unknown-metric")
    return given_metrics


def are_metrics(value: Any) -> bool:  # noqa: ANN401 - anything, to be checked
    """True for metrics and names of metrics that are not also names of files."""
    if not isinstance(value, str | list | tuple | Metric) or not value:
        return False
    try:
        labels = [label for label, _ in find_metrics(value)]
    except UsageError:
        return False
    return not any(Path(label).exists() for label in labels)


def list_builder(lists: Mapping[str, Metric], how: Convention, collection: Collection) -> ListBuilder | None:
    """The reader of lists; None if it is not needed for any metric or option.

    With a sample of queries, only lists of judged users count, because these represent all users.

    Raises:
        InputError, UsageError: see `ListBuilder.of`.
    """
    if not lists and not collection.drop_seen:
        return None
    from rankgate.measurement.evaluation.lists.list_builder import ListBuilder  # few ask for them

    if collection.sample is not None:
        collection = replace(collection, judged_users_only=True)
    return ListBuilder.from_collection(lists, how, collection)


SEQUENCE = "sequence"
"""The column of a run's queries that names the task of each ranking."""


def is_scored_by_task(metrics: Sequence[tuple[str, Metric]], collection: Collection, run: Rankings) -> bool:
    """True if a run is scored by task because of a metric, a table, or the run itself."""
    query_table = getattr(run, "queries", None)  # a matrix has no queries table
    return (
        collection.sequences is not None
        or collection.items.document is not None
        or collection.items.length is not None
        or any(metric.view == SEQUENCES for _, metric in metrics)
        or (query_table is not None and SEQUENCE in query_table.columns)
    )


def refuse_tasks(metrics: Sequence[tuple[str, Metric]]) -> None:
    """Check that no metric needs complete tasks, if rankings are read one by one.

    Raises:
        UsageError: a metric needs complete tasks.
    """
    for label, metric in metrics:
        if metric.view == SEQUENCES:
            raise UsageError(
                f"{label} is about whole tasks; rankgate eval, compare and gate have it, on one machine.",
                code="unsupported-metric",
            )


def refuse_with_tasks(metrics: Sequence[tuple[str, Metric]], *, bounds: bool = False) -> None:
    """Check that bounds and metrics are defined for tasks.

    Raises:
        UsageError: bounds are given, or a metric of lists or subtopics.
    """
    unsupported = [label for label, metric in metrics if metric.view not in {RANKING, SEQUENCES}]
    if bounds or unsupported:
        subject = "bounds" if bounds else unsupported[0]
        raise UsageError(
            f"{subject} cannot be computed together with tasks of several rankings or passages; leave out "
            "one of them.",
            code="conflicting-options",
        )
