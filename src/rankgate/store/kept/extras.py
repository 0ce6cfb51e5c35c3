"""What only one format knows of an imported file, kept so that an export gives it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.store.kept import results

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.kept.blobs import Blobs

_KIND = "import"
_ENTRIES = "\x1fentries"  # a key that no file has: JSON has no keys but texts


def keep(
    connection: Connection, blobs: Blobs, project: int, source: str, extra: Mapping[str, Any]
) -> None:
    """Keep what only a format knows of a file; once for each file's name."""
    known = results.listed(connection, project, _KIND, most=1_000)
    if all(each.name != source for each in known):
        made = {"kind": _KIND, "extra": _plain(dict(extra))}
        results.add(connection, blobs, project, made, name=source)


def kept(connection: Connection, blobs: Blobs, project: int) -> dict[str, Any]:
    """What is kept of all imports, by format; of several files of a format the first."""
    found: dict[str, Any] = {}
    for each in results.listed(connection, project, _KIND, most=1_000):
        found |= _extra(results.read(each, blobs)["extra"])
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _plain(each) for key, each in value.items()}
        return {_ENTRIES: [[list(key), _plain(each)] for key, each in value.items()]}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def _extra(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {_ENTRIES}:
            return {tuple(key): _extra(each) for key, each in value[_ENTRIES]}
        return {key: _extra(each) for key, each in value.items()}
    return [_extra(each) for each in value] if isinstance(value, list) else value
