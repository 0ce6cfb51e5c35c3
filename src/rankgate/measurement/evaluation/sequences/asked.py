"""Whether a run is scored task by task, and not query by query."""

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
"""The column of a run's queries that says to which task each ranking belongs."""


def in_tasks(metrics: Sequence[tuple[str, Metric]], collection: Collection, run: Rankings) -> bool:
    """Whether a run is scored task by task: a metric, a table, or the run itself asks for it."""
    known = getattr(run, "queries", None)  # a matrix has none
    return (
        collection.sequences is not None
        or collection.items.document is not None
        or collection.items.length is not None
        or any(each.view == SEQUENCES for _, each in metrics)
        or (known is not None and SEQUENCE in known.columns)
    )


def refuse_tasks(metrics: Sequence[tuple[str, Metric]]) -> None:
    """Check that no metric needs whole tasks, where rankings come one by one.

    Raises:
        UsageError: the metric that does.
    """
    for label, each in metrics:
        if each.view == SEQUENCES:
            raise UsageError(
                f"{label} is about whole tasks; rankgate eval, compare and gate have it, on one "
                "machine.",
                code="unsupported-metric",
            )


def refuse_with_tasks(metrics: Sequence[tuple[str, Metric]], *, bounds: bool = False) -> None:
    """Check that nothing is asked for that tasks do not have.

    Raises:
        UsageError: bounds, or a metric of lists or subtopics.
    """
    strange = [label for label, each in metrics if each.view not in {RANKING, SEQUENCES}]
    if bounds or strange:
        what = "bounds" if bounds else strange[0]
        raise UsageError(
            f"{what} cannot be computed together with tasks of several rankings or passages; "
            "leave out one of them.",
            code="conflicting-options",
        )
