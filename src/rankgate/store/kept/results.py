"""Evaluations, verdicts and other results: their JSON is a blob."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.kept.blobs import Blobs, save_blob
from rankgate.store.rows import get_by_number, new_id, now, value_of
from rankgate.store.tables.results import results

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class StoredResult:
    """A stored result without its JSON.

    Attributes:
        id: the number.
        kind: ``evaluation``, ``comparison``, ``verdict`` or any other kind of result.
        name: for people.
        summary: for lists, such as means or the verdict.
        blob: the hash of its JSON.
        created_at: when it was added.
        created_by: by whom.
    """

    id: int
    kind: str
    name: str
    summary: Mapping[str, Any]
    blob: str
    created_at: datetime
    created_by: int | None


def add_result(
    connection: Connection,
    blobs: Blobs,
    project: int,
    result: Mapping[str, Any],
    *,
    name: str = "",
    summary: Mapping[str, Any] | None = None,
    created_by: int | None = None,
) -> StoredResult:
    """Add a result, as its ``to_dict`` gives it.

    Raises:
        InputError: it has no kind.
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
        UsageError: there is none.
    """
    return get_by_number(connection, StoredResult, results, result, "result")


def list_results(
    connection: Connection, project: int, kind: str | None = None, *, most: int = 100
) -> list[StoredResult]:
    """The latest results of a project, the last first."""
    statement = sa.select(results).where(results.c.project == project)
    if kind is not None:
        statement = statement.where(results.c.kind == kind)
    rows = connection.execute(statement.order_by(results.c.id.desc()).limit(most))
    return [value_of(StoredResult, row) for row in rows]


def read_result(stored: StoredResult, blobs: Blobs) -> dict[str, Any]:
    """The JSON of a result, for ``from_dict`` of its kind.

    Raises:
        InputError: its blob is missing or damaged.
    """
    fields: dict[str, Any] = json.loads(gzip.decompress(blobs.get(stored.blob)))
    return fields
