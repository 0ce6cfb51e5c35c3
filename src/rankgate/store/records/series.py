"""Series of recorded figures, and which there are."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import value_of
from rankgate.store.tables.records import record_values, records

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Point:
    """One figure of a series, with what decides whether it is comparable.

    Attributes:
        record: the number of its record.
        sha256: the hash of the record's content.
        evaluated_at: when it was measured.
        kind, name, revision, branch, labels, qrels_sha256, queries_sha256, convention,
            convention_hash, verdict, per_query: of its record.
        metric, system, slice, value, low, high, n, higher_is_better: as of `Value`.
    """

    record: int
    sha256: str
    evaluated_at: datetime
    kind: str
    name: str
    revision: str
    branch: str
    labels: Mapping[str, str]
    qrels_sha256: str
    queries_sha256: str
    convention: str
    convention_hash: str
    verdict: str | None
    per_query: str | None
    metric: str
    system: str
    slice: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    higher_is_better: bool


@dataclass(frozen=True)
class SeriesName:
    """A series that a project has.

    Attributes:
        metric, system, slice: which.
        points: how many figures.
        first_at, last_at: of which time.
    """

    metric: str
    system: str
    slice: str
    points: int
    first_at: datetime
    last_at: datetime


_OF_RECORD = ("sha256", "evaluated_at", "kind", "name", "revision", "branch", "labels",
              "qrels_sha256", "queries_sha256", "convention", "convention_hash", "verdict",
              "per_query")  # fmt: skip
_JOINED = record_values.join(records, records.c.id == record_values.c.record)


def points(
    connection: Connection,
    project: int,
    metric: str | None = None,
    *,
    system: str | None = None,
    slice: str | None = "",  # noqa: A002 - the term
    branch: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Point]:
    """Figures of a project in the order of their evaluation, then of recording.

    Args:
        connection: of a store.
        project: which project.
        metric: only this one.
        system: only this one.
        slice: only that; empty is of all queries, None is every slice.
        branch: only this one.
        since: evaluated at this moment or later.
        until: evaluated before this moment.
    """
    figures = [each for each in record_values.c if each.name != "record"]
    chosen = sa.select(
        record_values.c.record, *(records.c[name] for name in _OF_RECORD), *figures
    ).select_from(_JOINED)
    chosen = chosen.where(records.c.project == project)
    for column, word in (
        (record_values.c.metric, metric), (record_values.c.system, system),
        (record_values.c.slice, slice), (records.c.branch, branch),
    ):  # fmt: skip
        if word is not None:
            chosen = chosen.where(column == word)
    if since is not None:
        chosen = chosen.where(records.c.evaluated_at >= since)
    if until is not None:
        chosen = chosen.where(records.c.evaluated_at < until)
    order = (records.c.evaluated_at, records.c.id, record_values.c.system, record_values.c.slice)
    return [value_of(Point, row) for row in connection.execute(chosen.order_by(*order))]


def names(connection: Connection, project: int) -> list[SeriesName]:
    """Every series of a project, by metric, system and slice."""
    key = (record_values.c.metric, record_values.c.system, record_values.c.slice)
    at = records.c.evaluated_at
    chosen = (
        sa.select(*key, sa.func.count().label("points"), sa.func.min(at).label("first_at"),
                  sa.func.max(at).label("last_at"))
        .select_from(_JOINED)
        .where(records.c.project == project)
        .group_by(*key)
        .order_by(*key)
    )  # fmt: skip
    return [value_of(SeriesName, row) for row in connection.execute(chosen)]
