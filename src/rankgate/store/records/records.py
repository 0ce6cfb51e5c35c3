"""Recorded evaluations: rows of facts and figures; results and values per query are blobs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.kept.blobs import Blobs, keep
from rankgate.store.kept.parquet import packed, unpacked
from rankgate.store.records.new_record import NewRecord, Value
from rankgate.store.rows import PIECE, new_id, now, numbered, unknown, value_of
from rankgate.store.tables.records import record_values, records

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

    from rankgate.store.records.series import Point


@dataclass(frozen=True)
class Record:
    """What is known of a recorded evaluation without its values.

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
class Added:
    """A record, and whether it is new.

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
) -> Added:
    """Record an evaluation; the same content is recorded once.

    Args:
        connection: of a store, to write.
        blobs: of the store.
        project: which project.
        record: what is recorded.
        recorded_by: a user.
    """
    known = by_hash(connection, project, record.sha256)
    if known is not None:
        return Added(known, new=False)
    table = record.per_query
    content = gzip.compress(record.content, compresslevel=3, mtime=0)
    number = new_id(
        connection, records, project=project, sha256=record.sha256, recorded_at=now(),
        evaluated_at=record.evaluated_at, kind=record.kind, name=record.name,
        system=record.system, revision=record.revision, branch=record.branch,
        labels=dict(record.labels), qrels_sha256=record.qrels_sha256,
        queries_sha256=record.queries_sha256, convention=record.convention,
        convention_hash=record.convention_hash, inputs=dict(record.inputs),
        summary=dict(record.summary), verdict=record.verdict, recorded_by=recorded_by,
        blob=keep(connection, blobs, content),
        per_query=None if table is None else keep(connection, blobs, packed(table)),
    )  # fmt: skip
    rows = [{"record": number, **vars(each)} for each in record.values]
    for begin in range(0, len(rows), PIECE):
        connection.execute(sa.insert(record_values), rows[begin : begin + PIECE])
    return Added(get(connection, number), new=True)


def get(connection: Connection, record: int) -> Record:
    """A record by number.

    Raises:
        UsageError: there is none.
    """
    return numbered(connection, Record, records, record, "record")


def by_hash(connection: Connection, project: int, sha256: str) -> Record | None:
    """The record of a project whose content has a hash; None where there is none."""
    here = sa.and_(records.c.project == project, records.c.sha256 == sha256)
    row = connection.execute(sa.select(records).where(here)).first()
    return None if row is None else value_of(Record, row)


def named(connection: Connection, project: int, words: str) -> Record:
    """The record of a project by its number, or by the first letters of its hash.

    Raises:
        UsageError: there is none, or there are several.
    """
    if words.isdigit() and len(words) < _LETTERS:
        which = records.c.id == int(words)
    else:
        which = records.c.sha256.startswith(words, autoescape=True)
    chosen = sa.select(records).where(records.c.project == project, which).limit(2)
    rows = connection.execute(chosen).all()
    if len(rows) != 1:
        raise unknown("record", words)
    return value_of(Record, rows[0])


_LETTERS = 8


def listed(
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
    at, number = records.c.evaluated_at, records.c.id
    chosen = sa.select(records).where(records.c.project == project)
    for column, word in ((records.c.kind, kind), (records.c.branch, branch)):
        if word is not None:
            chosen = chosen.where(column == word)
    if system is not None:
        chosen = chosen.where(records.c.system == system)
    if since is not None:
        chosen = chosen.where(at >= since)
    if before is not None:
        last = get(connection, before)
        chosen = chosen.where(
            sa.or_(at < last.evaluated_at, sa.and_(at == last.evaluated_at, number < before))
        )
    found = connection.execute(chosen.order_by(at.desc(), number.desc()).limit(most))
    return [value_of(Record, row) for row in found]


def of_project(connection: Connection, project: int, numbers: Iterable[int]) -> list[Record]:
    """Records of a project by number, the oldest evaluation first."""
    chosen = sa.select(records).where(records.c.project == project, records.c.id.in_(list(numbers)))
    rows = connection.execute(chosen.order_by(records.c.evaluated_at, records.c.id))
    return [value_of(Record, row) for row in rows]


def count(connection: Connection, project: int) -> int:
    """How many records a project has."""
    chosen = sa.select(sa.func.count()).where(records.c.project == project)
    return int(connection.scalar(chosen) or 0)


def values(connection: Connection, record: int) -> tuple[Value, ...]:
    """The figures of a record, all queries before slices."""
    chosen = sa.select(record_values).where(record_values.c.record == record)
    order = (record_values.c.slice, record_values.c.system, record_values.c.metric)
    return tuple(value_of(Value, row) for row in connection.execute(chosen.order_by(*order)))


def result(record: Record, blobs: Blobs) -> dict[str, Any]:
    """The JSON of a record's result, for ``from_dict`` of its kind.

    Raises:
        InputError: its blob is missing or damaged.
    """
    found: dict[str, Any] = json.loads(gzip.decompress(blobs.get(record.blob)))
    return found


def per_query(record: Record | Point, blobs: Blobs) -> pl.DataFrame | None:
    """Values per query: ``system``, ``query_id``, a column for each metric; None without any.

    Args:
        record: a record, or a point of one.
        blobs: where they are.

    Raises:
        InputError: the blob is missing or damaged.
    """
    if record.per_query is None:
        return None
    return unpacked(blobs.get(record.per_query), blobs.where)
