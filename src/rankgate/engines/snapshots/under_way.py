"""Whether the snapshot behind a run's file is finished, by the files next to it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankgate.data.formats.run_meta import companion_of
from rankgate.engines.snapshots.outcome import SUFFIX, WRITTEN
from rankgate.engines.snapshots.writing import RESULT

_LAST = 1 << 12  # bytes in which the last line of a finished journal is


def unfinished(path: str | os.PathLike[str]) -> str:
    """Why the run of a snapshot is not the whole one; empty if it is, or if it is no snapshot.

    A snapshot that was interrupted leaves its answers (``RUN.partial.jsonl``), and RUN itself is
    not there, or is an earlier one.
    """
    journal = Path(f"{path}{SUFFIX}")
    if journal.is_file() and not _is_written(journal):
        return f"a snapshot is under way, or was interrupted ({journal.name})"
    result = _result(Path(f"{path}{RESULT}"))
    if result.get("finished") is False and not companion_of(path).is_file():
        return f"its snapshot ended early ({result.get('problem') or 'interrupted'})"
    return ""


def _is_written(journal: Path) -> bool:
    """Whether the last line says that the run was written; queries failed, or were not asked."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - _LAST))
        lines = file.read().splitlines()
    try:
        return bool(lines) and bool(json.loads(lines[-1]).get(WRITTEN))
    except (ValueError, AttributeError):
        return False


def _result(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
