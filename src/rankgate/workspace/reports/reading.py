"""Read results from JSON files or folders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.kinds import result_class
from rankgate.decisions.gating.saved.baseline import is_baseline
from rankgate.decisions.gating.saved.baselines import SavedBaselines, find_baseline
from rankgate.workspace.reports.compose import ReportPart

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

_RESULT_START = re.compile(rb'\s*\{\s*"schema_version"\s*:')
_HEAD_BYTES = 200
_DAMAGE_ERRORS = (KeyError, TypeError, ValueError, AttributeError, LookupError)


def are_result_paths(paths: Sequence[str]) -> bool:
    """True if all of these paths are results or folders."""
    return all(Path(path).is_dir() or _is_result(Path(path)) for path in paths)


def read_results(paths: Sequence[str]) -> tuple[list[ReportPart], list[str]]:
    """Read results.

    Args:
        paths: files, or folders whose JSON files are looked at.

    Returns:
        The results, and the names of files in folders that are not results.

    Raises:
        InputError: a file that cannot be read, or was damaged.
        UsageError: there is no result.
    """
    files: list[Path] = []
    left_out: list[str] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        for child in sorted(path.iterdir()):
            if child.suffix == ".json" and _is_result(child) and _has_known_kind(child):
                files.append(child)
            elif child.is_file() and not child.name.startswith("."):
                left_out.append(child.name)
    if not files:
        problem = f"{paths[0]}: no result in it; write some with --format json -o."
        raise UsageError(problem, code="no-results")
    return [_read_part(path) for path in files], left_out


def _is_result(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _RESULT_START.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _has_known_kind(path: Path) -> bool:
    """True if the result in a file is of a known kind; a damaged file is an error later."""
    try:
        raw = path.read_bytes()
        return is_baseline(raw[:_HEAD_BYTES]) or bool(result_class(json.loads(raw).get("kind", "")))
    except UsageError:
        return False
    except (OSError, ValueError, RecursionError, AttributeError):
        return True


def _read_part(path: Path) -> ReportPart:
    try:
        raw = path.read_bytes()
    except OSError as error:
        problem = f"cannot be read: {error.strerror}."
        raise InputError(problem, source=str(path), code="unreadable-file") from None
    try:
        values = json.loads(raw)
    except (ValueError, RecursionError):
        problem = "not a whole JSON document; write the result again."
        raise InputError(problem, source=str(path), code="invalid-json") from None
    sha256 = hashlib.sha256(raw).hexdigest()
    if is_baseline(raw[:_HEAD_BYTES]):
        return ReportPart(SavedBaselines.of(find_baseline(str(path))), path.stem, sha256)
    return ReportPart(read_result(values, str(path)), path.stem, sha256)


def read_result(values: Mapping[str, Any], label: str) -> Result:
    """The result that was written as these values.

    Args:
        values: what its ``to_dict`` gave.
        label: what errors call the file.

    Raises:
        InputError: an unknown kind, another version, or something is missing.
    """
    try:
        cls: type[Result] = result_class(values.get("kind", ""))
    except UsageError as error:
        problem = (
            f"{error.problem} It may be of a later version of rankgate, or of another program."
        )
        raise InputError(problem, source=label, code="unknown-kind") from None
    version = values.get("schema_version")
    if version != cls.schema_version:
        problem = f"a result of version {version!r}; this rankgate reads {cls.schema_version}."
        raise InputError(problem, source=label, code="unknown-version")
    try:
        result = cls.from_dict(values)
        result.document()
    except _DAMAGE_ERRORS as error:
        cause = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = f"a damaged result ({cause}); write it again."
        raise InputError(problem, source=label, code="damaged-result") from None
    return result
