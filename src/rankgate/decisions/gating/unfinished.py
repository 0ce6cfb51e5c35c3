"""Refuse a verdict about a system that was not asked, or not asked every query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data import Run

_CODE = "unfinished-snapshot"


def refuse_unfinished_files(*given: Any) -> None:
    """Refuse a run's file whose snapshot is under way, before it is read.

    Raises:
        InputError: which file, and why.
    """
    from rankgate.data.formats.snapshot_files import refuse_unfinished_file

    for path in given:
        if isinstance(path, str | Path):
            refuse_unfinished_file(path)


def refuse_unfinished(*runs: Run, partly: bool = False) -> None:
    """Refuse runs by what they say of their queries.

    Args:
        runs: of both systems.
        partly: whether some queries may be missing, as the policy says what they are.

    Raises:
        UsageError: a system that answered no query; one that was not asked every query.
    """
    for run in runs:
        if run.queries is None or "state" not in run.queries.columns:
            continue
        counted = dict(run.queries.group_by("state").len().iter_rows())
        if not counted.get("ok", 0) + counted.get("zero", 0):
            raise UsageError(
                f"{run.name}: none of its {len(run.queries):,} queries was answered; take the "
                "snapshot again.",
                code=_CODE,
            )
        if (count := counted.get("not_run", 0)) and not partly:
            raise UsageError(
                f"{run.name}: {count:,} of {len(run.queries):,} queries were not asked (state "
                'not_run); finish the snapshot, or say unequal = "zero" or "drop" in the policy.',
                code=_CODE,
            )
