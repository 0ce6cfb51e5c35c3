"""Data of an imported file that only its format has, kept so that an export restores it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.store.kept import results

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.kept.blobs import Blobs

_KIND = "import"
_ENTRIES = "\x1fentries"  # a key that no file has: JSON has no keys but texts


def save_extra(
    connection: Connection, blobs: Blobs, project: int, source: str, extra: Mapping[str, Any]
) -> None:
    """Keep the data that only the format of a file has; once for each file name."""
    imports = results.list_results(connection, project, _KIND, most=1_000)
    if all(stored_result.name != source for stored_result in imports):
        result = {"kind": _KIND, "extra": _to_json(dict(extra))}
        results.add_result(connection, blobs, project, result, name=source)


def read_extras(connection: Connection, blobs: Blobs, project: int) -> dict[str, Any]:
    """The kept data of all imports, by format; of several files of a format the first."""
    extra: dict[str, Any] = {}
    for stored_result in results.list_results(connection, project, _KIND, most=1_000):
        extra |= _from_json(results.read_result(stored_result, blobs)["extra"])
    return extra


def _to_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _to_json(child) for key, child in value.items()}
        return {_ENTRIES: [[list(key), _to_json(child)] for key, child in value.items()]}
    return [_to_json(child) for child in value] if isinstance(value, list | tuple) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {_ENTRIES}:
            return {tuple(key): _from_json(child) for key, child in value[_ENTRIES]}
        return {key: _from_json(child) for key, child in value.items()}
    return [_from_json(child) for child in value] if isinstance(value, list) else value
