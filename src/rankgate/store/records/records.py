"""Records of a store: new records with their figures, and stored records."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import InputError, check_schema_version
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import fits
from rankgate.store.blobs.blob_folders import Blobs, from_parquet, read_json_blob, save_blob, to_parquet
from rankgate.store.rows import (
    chunks_of,
    find_value,
    get_by_number,
    list_values,
    new_id,
    now,
    unknown_error,
    value_of,
)
from rankgate.store.tables.record_tables import record_values, records

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.store.records.series import Point


SCHEMA_VERSION = 1
"""The version of the JSON of a record."""


@dataclass(frozen=True)
class Value:
    """One figure of a record.

    Attributes:
        metric: the name of the metric with all parameters, or the name of a KPI.
        system: the system or variant of the result.
        value: the value; null if undefined.
        low, high: the confidence interval.
        n: the number of queries, or of units of a KPI.
        slice: the slice of queries; empty means all queries.
        higher_is_better: the direction of the metric.
    """

    metric: str
    system: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    slice: str = ""
    higher_is_better: bool = True


@dataclass(frozen=True)
class NewRecord:
    """An evaluation to be recorded.

    Attributes:
        result: the result as JSON values, from its ``to_dict``.
        evaluated_at: the time of the evaluation.
        name: the name that people see, such as a file or a job.
        system: the system that the record is about; the candidate of a comparison.
        revision, branch: the revision and branch in git; a revision of changed files ends in ``+``.
        labels: any texts by name.
        qrels_sha256, queries_sha256: the hashes of the judgments, and of the ids of their queries.
        convention, convention_hash: the name and hash of the convention.
        inputs: further inputs: ``runs`` has the SHA-256 of each system's run, ``qrels`` names the
            judgments, ``settings`` has all other inputs.
        summary: the values shown in lists.
        verdict: the verdict of a gate: ``pass``, ``fail`` or ``inconclusive``.
        values: all figures.
        per_query: ``system``, ``query_id``, and a column for each metric.
        dated: True if the time is part of the content, so that the same result at another time is
            another record.
    """

    result: Mapping[str, Any]
    evaluated_at: datetime
    name: str = ""
    system: str = ""
    revision: str = ""
    branch: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    qrels_sha256: str = ""
    queries_sha256: str = ""
    convention: str = ""
    convention_hash: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    summary: JsonObject = field(default_factory=dict)
    verdict: str | None = None
    values: tuple[Value, ...] = ()
    per_query: pl.DataFrame | None = None
    dated: bool = True

    @property
    def kind(self) -> str:
        """The kind of the result."""
        return str(self.result["kind"])

    @cached_property
    def content(self) -> bytes:
        """The result as JSON."""
        return json.dumps(
            dict(self.result), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()

    @cached_property
    def sha256(self) -> str:
        """The hash of the content: result, system, revision, branch, labels, inputs, time."""
        digest = hashlib.sha256(self.content)
        details = [
            self.system,
            self.revision,
            self.branch,
            dict(self.labels),
            dict(self.inputs),
            self.qrels_sha256,
            self.queries_sha256,
            self.convention_hash,
        ]
        if self.dated:
            details.append(self.evaluated_at.astimezone(UTC).isoformat())
        digest.update(b"\n" + json.dumps(details, sort_keys=True).encode())
        if self.per_query is not None:
            for piece in _column_bytes(self.per_query):
                digest.update(piece)
        return digest.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without the values per query."""
        return {
            "schema_version": SCHEMA_VERSION,
            "sha256": self.sha256,
            "evaluated_at": self.evaluated_at.astimezone(UTC).isoformat(),
            "dated": self.dated,
            "kind": self.kind,
            **{name: getattr(self, name) for name in _TEXTS},
            **{name: dict(getattr(self, name)) for name in _OBJECTS},
            "verdict": self.verdict,
            "values": [vars(figure) for figure in self.values],
            "result": dict(self.result),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], per_query: pl.DataFrame | None, source: str) -> NewRecord:
        """Create a record from the values of ``to_dict`` and the values per query.

        Args:
            values: the values of ``to_dict``.
            per_query: ``system``, ``query_id``, and a column for each metric.
            source: the origin of the record.

        Raises:
            InputError: the values are not those of a record.
        """
        try:
            check_schema_version(values, SCHEMA_VERSION, source)
            texts: dict[str, Any] = {name: _text(values[name]) for name in _TEXTS}
            objects: dict[str, Any] = {name: {**values[name]} for name in _OBJECTS}
            record = cls(
                result={**values["result"]},
                evaluated_at=datetime.fromisoformat(values["evaluated_at"]),
                **texts,
                **objects,
                verdict=None if values["verdict"] is None else _text(values["verdict"]),
                values=tuple(Value(**fields) for fields in values["values"]),
                per_query=per_query,
                dated=bool(values["dated"]),
            )
            is_complete = record.evaluated_at.tzinfo is not None and bool(_text(record.result["kind"]))
            is_complete = is_complete and fits(values["values"], list[Value])
            is_complete = is_complete and fits(record.labels, dict[str, str])
        except (AttributeError, KeyError, TypeError, ValueError):
            raise _invalid_error(source) from None
        if not is_complete:
            raise _invalid_error(source)
        return record


_TEXTS = (
    "name",
    "system",
    "revision",
    "branch",
    "qrels_sha256",
    "queries_sha256",
    "convention",
    "convention_hash",
)
_OBJECTS = ("labels", "inputs", "summary")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _invalid_error(source: str) -> InputError:
    problem = "these are not the values of a record; write it with rankgate record."
    return InputError(problem, source=source, code="invalid-record")


def _column_bytes(table: pl.DataFrame) -> Iterator[bytes]:
    """The bytes of a table, independent of the program that wrote it."""
    for column in table.iter_columns():
        yield column.name.encode()
        if column.dtype == pl.Float64:
            yield column.fill_null(float("nan")).to_numpy().tobytes()
        else:
            yield "\0".join(column.cast(pl.String).fill_null("").to_list()).encode()


@dataclass(frozen=True)
class Record:
    """A recorded evaluation without its figures.

    Attributes:
        id: the number.
        project: the number of its project.
        sha256: the SHA-256 of its content; unique in the project.
        recorded_at, evaluated_at: the times of recording and evaluation.
        kind: the kind of its result, such as ``evaluation``, ``comparison``, ``verdict``.
        name, system, revision, branch, labels, qrels_sha256, queries_sha256, convention,
            convention_hash, inputs, summary, verdict: as in `NewRecord`.
        blob: the hash of the result's JSON.
        per_query: the hash of the values per query, if any.
        recorded_by: the user who recorded the evaluation.
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
    summary: JsonObject
    verdict: str | None
    blob: str
    per_query: str | None
    recorded_by: int | None


@dataclass(frozen=True)
class AddedRecord:
    """The record of an added evaluation, and whether it is new.

    Attributes:
        record: the record.
        new: False if the same content was recorded before.
    """

    record: Record
    new: bool


def add(
    connection: Connection, blobs: Blobs, project: int, record: NewRecord, *, recorded_by: int | None = None
) -> AddedRecord:
    """Record an evaluation; equal content is recorded only once.

    Args:
        connection: a connection to a store, for writing.
        blobs: the blobs of the store.
        project: the number of the project.
        record: the record to add.
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
    rows = [
        {"record": number, **vars(figure), "run_sha256": _run_hash(record.inputs, figure.system)}
        for figure in record.values
    ]
    for chunk in chunks_of(rows):
        connection.execute(sa.insert(record_values), chunk)
    return AddedRecord(get(connection, number), new=True)


def _run_hash(inputs: Mapping[str, Any], system: str) -> str:
    """The hash of a system's run among the inputs of a record; empty where it was not recorded."""
    runs = inputs.get("runs")
    run_hash = runs.get(system) if isinstance(runs, Mapping) else None
    return run_hash if isinstance(run_hash, str) else ""


def get(connection: Connection, record: int) -> Record:
    """A record by number.

    Raises:
        UsageError: the record does not exist.
    """
    return get_by_number(connection, Record, records, record, "record")


def by_hash(connection: Connection, project: int, sha256: str) -> Record | None:
    """The record of a project whose content has a hash, or None."""
    is_record = sa.and_(records.c.project == project, records.c.sha256 == sha256)
    return find_value(connection, Record, sa.select(records).where(is_record))


def find_record(connection: Connection, project: int, reference: str) -> Record:
    """A record of a project by its number, or by the first letters of its hash.

    Raises:
        UsageError: no record matches, or several records match.
    """
    if reference.isdecimal() and len(reference) < _HASH_LETTERS:
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
    connection: Connection, project: int, *, kind: str | None = None, most: int = 100
) -> list[Record]:
    """The latest records of a project by evaluation time, newest first.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        kind: only records of this kind of result.
        most: the largest number of records.
    """
    statement = sa.select(records).where(records.c.project == project)
    if kind is not None:
        statement = statement.where(records.c.kind == kind)
    order = (records.c.evaluated_at.desc(), records.c.id.desc())
    return list_values(connection, Record, statement.order_by(*order).limit(most))


def records_of_project(connection: Connection, project: int, numbers: Iterable[int]) -> list[Record]:
    """Records of a project by number, the oldest evaluation first."""
    statement = sa.select(records).where(records.c.project == project, records.c.id.in_(list(numbers)))
    return list_values(connection, Record, statement.order_by(records.c.evaluated_at, records.c.id))


def count_records(connection: Connection, project: int) -> int:
    """Count the records of a project."""
    statement = sa.select(sa.func.count()).where(records.c.project == project)
    return int(connection.scalar(statement) or 0)


def read_values(connection: Connection, record: int) -> tuple[Value, ...]:
    """The figures of a record: those for all queries first, then those of slices."""
    statement = sa.select(record_values).where(record_values.c.record == record)
    order = (record_values.c.slice, record_values.c.system, record_values.c.metric)
    return tuple(value_of(Value, row) for row in connection.execute(statement.order_by(*order)))


def read_result(record: Record, blobs: Blobs) -> dict[str, Json]:
    """The JSON of a record's result, for ``from_dict`` of its kind.

    Raises:
        InputError: its blob is missing or damaged.
    """
    return read_json_blob(blobs, record.blob)


def read_per_query(record: Record | Point, blobs: Blobs) -> pl.DataFrame | None:
    """Values per query: ``system``, ``query_id``, a column for each metric; None if there are none.

    Args:
        record: a record, or a point of a record.
        blobs: the blobs of the store.

    Raises:
        InputError: the blob is missing or damaged.
    """
    if record.per_query is None:
        return None
    return from_parquet(blobs.get(record.per_query), blobs.where)
