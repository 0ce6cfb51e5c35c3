"""Refuse a verdict about a system that did not get every query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data import Run

_CODE = "unfinished-snapshot"


def refuse_unfinished_files(*inputs: Any) -> None:
    """Refuse a run's file whose snapshot is under way, before it is read.

    Raises:
        InputError: which file, and why.
    """
    from rankgate.data.formats.snapshot_files import refuse_unfinished_file

    for path in inputs:
        if isinstance(path, str | Path):
            refuse_unfinished_file(path)


def refuse_unfinished(*runs: Run, partly: bool = False) -> None:
    """Refuse runs with unanswered queries, by their states of queries.

    Args:
        runs: of both systems.
        partly: True if some queries may be missing, as the policy says how to count them.

    Raises:
        UsageError: a system that answered no query, or did not get every query.
    """
    for run in runs:
        if run.queries is None or "state" not in run.queries.columns:
            continue
        queries_by_state = dict(run.queries.group_by("state").len().iter_rows())
        if not queries_by_state.get("ok", 0) + queries_by_state.get("zero", 0):
            raise UsageError(
                f"{run.name}: none of its {len(run.queries):,} queries was answered; take the "
                "snapshot again.",
                code=_CODE,
            )
        if (count := queries_by_state.get("not_run", 0)) and not partly:
            raise UsageError(
                f"{run.name}: {count:,} of {len(run.queries):,} queries were not asked (state "
                'not_run); finish the snapshot, or say unequal = "zero" or "drop" in the policy.',
                code=_CODE,
            )
