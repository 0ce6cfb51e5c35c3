"""Evaluations, verdicts and other results, and the extra data of imported files.

The JSON of a result is a blob. Data that only the format of an imported file can hold is kept, so
that an export restores it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.blobs.blob_folders import Blobs, read_json_blob, save_blob
from rankgate.store.rows import get_by_number, list_values, new_id, now
from rankgate.store.tables.model_tables import results

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Json, JsonObject


@dataclass(frozen=True)
class StoredResult:
    """A stored result without its JSON.

    Attributes:
        id: the number.
        kind: ``evaluation``, ``comparison``, ``verdict`` or any other kind of result.
        name: the name that people see.
        summary: the values shown in lists, such as means or the verdict.
        blob: the hash of its JSON.
        created_at: the time when the result was added.
        created_by: the user who created it.
    """

    id: int
    kind: str
    name: str
    summary: JsonObject
    blob: str
    created_at: datetime
    created_by: int | None


def add_result(
    connection: Connection,
    blobs: Blobs,
    project: int,
    result: JsonObject,
    *,
    name: str = "",
    summary: JsonObject | None = None,
    created_by: int | None = None,
) -> StoredResult:
    """Add a result from the values of its ``to_dict``.

    Raises:
        InputError: the result has no kind.
    """
    kind = result.get("kind")
    if not isinstance(kind, str):
        raise InputError("the result has no kind.", source="result", code="invalid-json")
    json_text = json.dumps(dict(result), ensure_ascii=False, allow_nan=False, sort_keys=False)
    content = gzip.compress(json_text.encode(), mtime=0)
    number = new_id(
        connection,
        results,
        project=project,
        kind=kind,
        name=name,
        created_at=now(),
        summary=dict(summary or {}),
        created_by=created_by,
        blob=save_blob(connection, blobs, content),
    )
    return get_result(connection, number)


def get_result(connection: Connection, result: int) -> StoredResult:
    """A result by number.

    Raises:
        UsageError: the result does not exist.
    """
    return get_by_number(connection, StoredResult, results, result, "result")


def list_results(
    connection: Connection, project: int, kind: str | None = None, *, most: int = 100
) -> list[StoredResult]:
    """The latest results of a project, newest first."""
    statement = sa.select(results).where(results.c.project == project)
    if kind is not None:
        statement = statement.where(results.c.kind == kind)
    return list_values(connection, StoredResult, statement.order_by(results.c.id.desc()).limit(most))


def read_result(stored: StoredResult, blobs: Blobs) -> dict[str, Json]:
    """The JSON of a result, for ``from_dict`` of its kind.

    Raises:
        InputError: its blob is missing or damaged.
    """
    return read_json_blob(blobs, stored.blob)


_KIND = "import"
_ENTRIES = "\x1fentries"  # a key that no file has: JSON keys are always texts


def save_extra(connection: Connection, blobs: Blobs, project: int, source: str, extra: JsonObject) -> None:
    """Keep the data that only the format of a file has, once for each file name."""
    imports = list_results(connection, project, _KIND, most=1_000)
    if all(stored_result.name != source for stored_result in imports):
        result = {"kind": _KIND, "extra": _to_json(dict(extra))}
        add_result(connection, blobs, project, result, name=source)


def read_extras(connection: Connection, blobs: Blobs, project: int) -> dict[str, Json]:
    """The kept data of all imports by format; if several files have a format, that of the first."""
    extra: dict[str, Json] = {}
    for stored_result in list_results(connection, project, _KIND, most=1_000):
        extra |= _from_json(read_result(stored_result, blobs)["extra"])
    return extra


def _to_json(value: Json) -> Json:
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: _to_json(child) for key, child in value.items()}
        return {_ENTRIES: [[list(key), _to_json(child)] for key, child in value.items()]}
    return [_to_json(child) for child in value] if isinstance(value, list | tuple) else value


def _from_json(value: Json) -> Any:
    if isinstance(value, dict):
        if set(value) == {_ENTRIES}:
            return {tuple(key): _from_json(child) for key, child in value[_ENTRIES]}
        return {key: _from_json(child) for key, child in value.items()}
    return [_from_json(child) for child in value] if isinstance(value, list) else value
