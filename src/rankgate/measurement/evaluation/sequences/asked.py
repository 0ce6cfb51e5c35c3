"""Decide if a run is scored by task or by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.views import RANKING, SEQUENCES

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.metrics.declare import Metric

SEQUENCE = "sequence"
"""The column of a run's queries that names the task of each ranking."""


def is_scored_by_task(
    metrics: Sequence[tuple[str, Metric]], collection: Collection, run: Rankings
) -> bool:
    """True if a run is scored by task: a metric, a table, or the run itself asks for it."""
    query_table = getattr(run, "queries", None)  # a matrix has none
    return (
        collection.sequences is not None
        or collection.items.document is not None
        or collection.items.length is not None
        or any(metric.view == SEQUENCES for _, metric in metrics)
        or (query_table is not None and SEQUENCE in query_table.columns)
    )


def refuse_tasks(metrics: Sequence[tuple[str, Metric]]) -> None:
    """Check that no metric needs whole tasks, where rankings come one by one.

    Raises:
        UsageError: the metric that does.
    """
    for label, metric in metrics:
        if metric.view == SEQUENCES:
            raise UsageError(
                f"{label} is about whole tasks; rankgate eval, compare and gate have it, on one "
                "machine.",
                code="unsupported-metric",
            )


def refuse_with_tasks(metrics: Sequence[tuple[str, Metric]], *, bounds: bool = False) -> None:
    """Check that bounds and metrics are defined for tasks.

    Raises:
        UsageError: bounds, or a metric of lists or subtopics.
    """
    unsupported = [label for label, metric in metrics if metric.view not in {RANKING, SEQUENCES}]
    if bounds or unsupported:
        subject = "bounds" if bounds else unsupported[0]
        raise UsageError(
            f"{subject} cannot be computed together with tasks of several rankings or passages; "
            "leave out one of them.",
            code="conflicting-options",
        )
