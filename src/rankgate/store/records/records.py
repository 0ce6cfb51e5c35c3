"""Recorded evaluations: rows of facts and figures; results and values per query are blobs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.kept.blobs import Blobs, save_blob
from rankgate.store.kept.parquet import from_parquet, to_parquet
from rankgate.store.records.new_record import NewRecord, Value
from rankgate.store.rows import CHUNK_ROWS, get_by_number, new_id, now, unknown_error, value_of
from rankgate.store.tables.records import record_values, records

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.records.series import Point


@dataclass(frozen=True)
class Record:
    """A recorded evaluation without its values.

    Attributes:
        id: the number.
        project: the number of its project.
        sha256: of its content; unique in the project.
        recorded_at, evaluated_at: moments.
        kind: of its result, such as ``evaluation``, ``comparison``, ``verdict``.
        name, system, revision, branch, labels, qrels_sha256, queries_sha256, convention,
            convention_hash, inputs, summary, verdict: as of `NewRecord`.
        blob: the hash of the result's JSON.
        per_query: the hash of its values per query, if it has any.
        recorded_by: a user.
    """

    id: int
    project: int
    sha256: str
    recorded_at: datetime
    evaluated_at: datetime
    kind: str
    name: str
    system: str
    revision: str
    branch: str
    labels: Mapping[str, str]
    qrels_sha256: str
    queries_sha256: str
    convention: str
    convention_hash: str
    inputs: Mapping[str, Any]
    summary: Mapping[str, Any]
    verdict: str | None
    blob: str
    per_query: str | None
    recorded_by: int | None


@dataclass(frozen=True)
class AddedRecord:
    """An added record, new or known.

    Attributes:
        record: the record.
        new: False if its content was recorded before.
    """

    record: Record
    new: bool


def add(
    connection: Connection,
    blobs: Blobs,
    project: int,
    record: NewRecord,
    *,
    recorded_by: int | None = None,
) -> AddedRecord:
    """Record an evaluation; the same content is recorded once.

    Args:
        connection: of a store, to write.
        blobs: of the store.
        project: which project.
        record: what is recorded.
        recorded_by: a user.
    """
    existing = by_hash(connection, project, record.sha256)
    if existing is not None:
        return AddedRecord(existing, new=False)
    table = record.per_query
    content = gzip.compress(record.content, compresslevel=3, mtime=0)
    number = new_id(
        connection,
        records,
        project=project,
        sha256=record.sha256,
        recorded_at=now(),
        evaluated_at=record.evaluated_at,
        kind=record.kind,
        name=record.name,
        system=record.system,
        revision=record.revision,
        branch=record.branch,
        labels=dict(record.labels),
        qrels_sha256=record.qrels_sha256,
        queries_sha256=record.queries_sha256,
        convention=record.convention,
        convention_hash=record.convention_hash,
        inputs=dict(record.inputs),
        summary=dict(record.summary),
        verdict=record.verdict,
        recorded_by=recorded_by,
        blob=save_blob(connection, blobs, content),
        per_query=None if table is None else save_blob(connection, blobs, to_parquet(table)),
    )
    rows = [{"record": number, **vars(figure)} for figure in record.values]
    for begin in range(0, len(rows), CHUNK_ROWS):
        connection.execute(sa.insert(record_values), rows[begin : begin + CHUNK_ROWS])
    return AddedRecord(get(connection, number), new=True)


def get(connection: Connection, record: int) -> Record:
    """A record by number.

    Raises:
        UsageError: there is none.
    """
    return get_by_number(connection, Record, records, record, "record")


def by_hash(connection: Connection, project: int, sha256: str) -> Record | None:
    """The record of a project whose content has a hash; None where there is none."""
    is_record = sa.and_(records.c.project == project, records.c.sha256 == sha256)
    row = connection.execute(sa.select(records).where(is_record)).first()
    return None if row is None else value_of(Record, row)


def find_record(connection: Connection, project: int, reference: str) -> Record:
    """The record of a project by its number, or by the first letters of its hash.

    Raises:
        UsageError: there is none, or there are several.
    """
    if reference.isdigit() and len(reference) < _HASH_LETTERS:
        condition = records.c.id == int(reference)
    else:
        condition = records.c.sha256.startswith(reference, autoescape=True)
    statement = sa.select(records).where(records.c.project == project, condition).limit(2)
    rows = connection.execute(statement).all()
    if len(rows) != 1:
        raise unknown_error("record", reference)
    return value_of(Record, rows[0])


_HASH_LETTERS = 8


def list_records(
    connection: Connection,
    project: int,
    *,
    kind: str | None = None,
    system: str | None = None,
    branch: str | None = None,
    since: datetime | None = None,
    before: int | None = None,
    most: int = 100,
) -> list[Record]:
    """The latest records of a project by their evaluation, the last first.

    Args:
        connection: of a store.
        project: which project.
        kind: only of this kind of result.
        system: only of this system.
        branch: only of this branch.
        since: evaluated at this moment or later.
        before: only what comes after this record in the list, to turn pages.
        most: how many.
    """
    time, number = records.c.evaluated_at, records.c.id
    statement = sa.select(records).where(records.c.project == project)
    for column, wanted_value in ((records.c.kind, kind), (records.c.branch, branch)):
        if wanted_value is not None:
            statement = statement.where(column == wanted_value)
    if system is not None:
        statement = statement.where(records.c.system == system)
    if since is not None:
        statement = statement.where(time >= since)
    if before is not None:
        last = get(connection, before)
        statement = statement.where(
            sa.or_(time < last.evaluated_at, sa.and_(time == last.evaluated_at, number < before))
        )
    rows = connection.execute(statement.order_by(time.desc(), number.desc()).limit(most))
    return [value_of(Record, row) for row in rows]


def records_of_project(
    connection: Connection, project: int, numbers: Iterable[int]
) -> list[Record]:
    """Records of a project by number, the oldest evaluation first."""
    statement = sa.select(records).where(
        records.c.project == project, records.c.id.in_(list(numbers))
    )
    rows = connection.execute(statement.order_by(records.c.evaluated_at, records.c.id))
    return [value_of(Record, row) for row in rows]


def count_records(connection: Connection, project: int) -> int:
    """Count the records of a project."""
    statement = sa.select(sa.func.count()).where(records.c.project == project)
    return int(connection.scalar(statement) or 0)


def read_values(connection: Connection, record: int) -> tuple[Value, ...]:
    """The figures of a record, all queries before slices."""
    statement = sa.select(record_values).where(record_values.c.record == record)
    order = (record_values.c.slice, record_values.c.system, record_values.c.metric)
    return tuple(value_of(Value, row) for row in connection.execute(statement.order_by(*order)))


def read_result(record: Record, blobs: Blobs) -> dict[str, Any]:
    """The JSON of a record's result, for ``from_dict`` of its kind.

    Raises:
        InputError: its blob is missing or damaged.
    """
    fields: dict[str, Any] = json.loads(gzip.decompress(blobs.get(record.blob)))
    return fields


def read_per_query(record: Record | Point, blobs: Blobs) -> pl.DataFrame | None:
    """Values per query: ``system``, ``query_id``, a column for each metric; None without any.

    Args:
        record: a record, or a point of one.
        blobs: where they are.

    Raises:
        InputError: the blob is missing or damaged.
    """
    if record.per_query is None:
        return None
    return from_parquet(blobs.get(record.per_query), blobs.where)
