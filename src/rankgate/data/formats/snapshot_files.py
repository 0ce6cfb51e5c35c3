"""What the files next to a run say of the snapshot that made it.

A snapshot keeps its answers in ``RUN.partial.jsonl`` while it is under way, and describes itself in
``RUN.snapshot.json`` when it ends.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rankgate.core.errors import InputError
from rankgate.data.formats.run_meta import companion_of

PARTIAL = ".partial.jsonl"
"""The end of the name of a snapshot that is under way."""

RESULT = ".snapshot.json"
"""The end of the name of the snapshot itself."""

WRITTEN = "written"
"""The key of the last line of a snapshot whose run is written, and that can go on."""

CAUTIONS = "cautions"
"""The key of what every result of the run's scores says too."""

_LAST = 1 << 12  # bytes in which the last line of a finished journal is


def unfinished(path: str | os.PathLike[str]) -> str:
    """Why the run of a snapshot is not the whole one; empty if it is, or if it is no snapshot.

    A snapshot that was interrupted leaves its answers (``RUN.partial.jsonl``), and RUN itself is
    not there, or is an earlier one.
    """
    journal = Path(f"{path}{PARTIAL}")
    if journal.is_file() and not _is_written(journal):
        return f"a snapshot is under way, or was interrupted ({journal.name})"
    result = _result(path)
    if result.get("finished") is False and not companion_of(path).is_file():
        return f"its snapshot ended early ({result.get('problem') or 'interrupted'})"
    return ""


def refuse_unfinished_file(path: str | os.PathLike[str]) -> None:
    """Refuse a run whose snapshot is under way: the file may be an earlier one.

    Raises:
        InputError: why.
    """
    if why := unfinished(path):
        raise InputError(
            f"{why}; finish the snapshot first.", source=str(path), code="unfinished-snapshot"
        )


def cautions_of(path: str | os.PathLike[str]) -> dict[str, str]:
    """By code what the answers of a snapshot lack, and what changed under way."""
    cautions = _result(path).get(CAUTIONS)
    return (
        {code: str(text) for code, text in cautions.items()} if isinstance(cautions, dict) else {}
    )


def _is_written(journal: Path) -> bool:
    """Whether the last line says that the run was written; queries failed, or were not asked."""
    with journal.open("rb") as file:
        file.seek(max(0, journal.stat().st_size - _LAST))
        lines = file.read().splitlines()
    try:
        return bool(lines) and bool(json.loads(lines[-1]).get(WRITTEN))
    except (ValueError, AttributeError):
        return False


def _result(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        result = json.loads(Path(f"{path}{RESULT}").read_bytes())
    except (OSError, ValueError):
        return {}
    return result if isinstance(result, dict) else {}
