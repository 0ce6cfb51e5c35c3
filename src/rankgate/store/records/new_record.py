"""An evaluation before it is recorded, and the hash of its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Value:
    """One figure of a record.

    Attributes:
        metric: its name with all parameters, or that of a KPI.
        system: whose, of the result's systems or variants.
        value: null where it is undefined.
        low, high: its interval.
        n: queries, or units of a KPI.
        slice: of which queries; empty is all.
        higher_is_better: the direction.
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
        result: its JSON, as ``to_dict`` gives it.
        evaluated_at: when it was measured.
        name: for people, such as a file or a job.
        system: the system that the record is about; the candidate of a comparison.
        revision, branch: of git; a revision of changed files ends in ``+``.
        labels: any words by name.
        qrels_sha256, queries_sha256: of the judgments, and of the ids of their queries.
        convention, convention_hash: name and hash.
        inputs: what else is known: ``runs`` has the SHA-256 of each system's run, ``qrels`` names
            the judgments, ``settings`` are any others.
        summary: for lists.
        verdict: ``pass``, ``fail``, ``inconclusive`` of a gate.
        values: all figures.
        per_query: ``system``, ``query_id``, and a column for each metric.
        dated: True if the moment is a part of the content, so that the same result at another
            moment is another record.
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
    summary: Mapping[str, Any] = field(default_factory=dict)
    verdict: str | None = None
    values: tuple[Value, ...] = ()
    per_query: pl.DataFrame | None = None
    dated: bool = True

    @property
    def kind(self) -> str:
        """The kind of its result."""
        return str(self.result["kind"])

    @cached_property
    def content(self) -> bytes:
        """Its result as JSON."""
        return json.dumps(
            dict(self.result), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        ).encode()

    @cached_property
    def sha256(self) -> str:
        """The hash of its content: result, system, revision, branch, labels, inputs, moment."""
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
        """As plain values, without the values per query."""
        return {
            "schema_version": 1,
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
    def from_dict(
        cls, values: Mapping[str, Any], per_query: pl.DataFrame | None, source: str
    ) -> NewRecord:
        """From ``to_dict``, and the values per query.

        Args:
            values: of ``to_dict``.
            per_query: ``system``, ``query_id``, and a column for each metric.
            source: where they are from.

        Raises:
            InputError: these are not the values of a record.
        """
        try:
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
            is_complete = record.evaluated_at.tzinfo is not None and bool(
                _text(record.result["kind"])
            )
        except (KeyError, TypeError, ValueError):
            raise _invalid_error(source) from None
        numbers = (
            number for figure in record.values for number in (figure.value, figure.low, figure.high)
        )
        if not is_complete or not all(
            number is None or isinstance(number, int | float) for number in numbers
        ):
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
    """The bytes of a table, whatever wrote it."""
    for column in table.iter_columns():
        yield column.name.encode()
        if column.dtype == pl.Float64:
            yield column.fill_null(float("nan")).to_numpy().tobytes()
        else:
            yield "\0".join(column.cast(pl.String).fill_null("").to_list()).encode()
