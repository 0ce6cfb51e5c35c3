"""Facts about the snapshot that made a run, from the files next to the run.

A snapshot keeps its answers in ``RUN.partial.jsonl`` while it runs, and describes itself in
``RUN.snapshot.json`` when it ends.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankgate.core.errors import InputError
from rankgate.data.formats.run_meta import companion_path

PARTIAL = ".partial.jsonl"
"""The suffix of an unfinished snapshot."""

RESULT = ".snapshot.json"
"""The suffix of the snapshot itself."""

WRITTEN_KEY = "written"
"""The key of the last line of a snapshot whose run is written, and that can be continued."""

CAUTIONS_KEY = "cautions"
"""The key of the cautions for every result of the run's scores."""

_LAST_LINE_BYTES = 1 << 12  # bytes that hold the last line of a finished journal


def unfinished_reason(path: str | os.PathLike[str]) -> str:
    """The reason why the run of a snapshot is incomplete; empty if it is complete or no snapshot.

    An interrupted snapshot leaves its answers (``RUN.partial.jsonl``), and RUN itself is missing or
    an earlier one.
    """
    journal = Path(f"{path}{PARTIAL}")
    if journal.is_file() and not _is_written(journal):
        return f"a snapshot is under way, or was interrupted ({journal.name})"
    snapshot = _read_result(path)
    if snapshot.get("finished") is False and not companion_path(path).is_file():
        return f"its snapshot ended early ({snapshot.get('problem') or 'interrupted'})"
    return ""


def refuse_unfinished_file(path: str | os.PathLike[str]) -> None:
    """Refuse a run whose snapshot is unfinished: the file may be an earlier one.

    Raises:
        InputError: the reason.
    """
    if reason := unfinished_reason(path):
        raise InputError(
            f"{reason}; finish the snapshot first.", source=str(path), code="unfinished-snapshot"
        )


def read_cautions(path: str | os.PathLike[str]) -> dict[str, str]:
    """Cautions by code: gaps in the answers of a snapshot, and changes while it ran."""
    cautions = _read_result(path).get(CAUTIONS_KEY)
    return (
        {code: str(text) for code, text in cautions.items()} if isinstance(cautions, dict) else {}
    )


def _is_written(journal: Path) -> bool:
    """True if the last line says that the run was written, even if queries failed."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - _LAST_LINE_BYTES))
        lines = file.read().splitlines()
    try:
        return bool(lines) and bool(json.loads(lines[-1]).get(WRITTEN_KEY))
    except (ValueError, AttributeError):
        return False


def _read_result(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        snapshot = json.loads(Path(f"{path}{RESULT}").read_bytes())
    except (OSError, ValueError):
        return {}
    return snapshot if isinstance(snapshot, dict) else {}
