"""Series of recorded figures, and the names of the series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import list_values, value_of
from rankgate.store.tables.people_tables import projects
from rankgate.store.tables.record_tables import record_values, records

if TYPE_CHECKING:
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Point:
    """One figure of a series, with the data that decide whether points are comparable.

    Attributes:
        record: the number of its record.
        sha256: the hash of the record's content.
        evaluated_at: the time of the evaluation.
        kind, name, revision, branch, labels, qrels_sha256, queries_sha256, convention,
            convention_hash, verdict, per_query: the convention, verdict and values of its record.
        metric, system, slice, value, low, high, n, higher_is_better: as in `Value`.
        run_sha256: the hash of the system's run; empty where it was not recorded.
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
    run_sha256: str = ""


_STEPS = {"evaluation": 0, "comparison": 1, "verdict": 2}


def merge_evaluations(points: Iterable[Point]) -> list[Point]:
    """Points without those of a comparison or verdict about the run of the evaluation before them.

    An evaluation, then a comparison, then a verdict of one run, with one set of judgments and one
    convention, are one evaluation of the system; it keeps the verdict. So is any of them once more on
    the same day, or under the same name. Evaluations of another day count, though their run is the
    same.

    Args:
        points: in the order of evaluation.
    """
    result: list[Point] = []
    latest: dict[tuple[str, str, str], tuple[int, list[Point]]] = {}  # the position, and the points merged
    for point in points:
        key = point.metric, point.system, point.slice
        position, merged_points = latest.get(key, (-1, []))
        if merged_points and _is_same_evaluation(merged_points, point):
            result[position] = replace(result[position], verdict=point.verdict or result[position].verdict)
            merged_points.append(point)
        else:
            latest[key] = len(result), [point]
            result.append(point)
    return result


def _is_same_evaluation(merged_points: Sequence[Point], point: Point) -> bool:
    first_point = merged_points[0]
    if not first_point.run_sha256 or any(
        getattr(first_point, name) != getattr(point, name)
        for name in ("run_sha256", "qrels_sha256", "convention_hash")
    ):
        return False
    is_same_day = first_point.evaluated_at.date() == point.evaluated_at.date()
    if is_same_day or any(
        (earlier.kind, earlier.name) == (point.kind, point.name) for earlier in merged_points if point.name
    ):
        return True
    return _STEPS.get(point.kind, 0) > max(_STEPS.get(earlier.kind, len(_STEPS)) for earlier in merged_points)


@dataclass(frozen=True)
class SeriesName:
    """The name of a series, with its number of points and its dates.

    Attributes:
        metric, system, slice: the identity of the series.
        points: the number of points.
        first_at, last_at: the times of the first and the last point.
    """

    metric: str
    system: str
    slice: str
    points: int
    first_at: datetime
    last_at: datetime


RECORD_FIELDS = (
    "kind",
    "name",
    "revision",
    "branch",
    "labels",
    "qrels_sha256",
    "queries_sha256",
    "convention",
    "convention_hash",
    "verdict",
)
"""The fields of a record that its points also have."""

_OF_RECORD = ("sha256", "evaluated_at", *RECORD_FIELDS, "per_query")
_JOINED = record_values.join(records, records.c.id == record_values.c.record)


def list_points(
    connection: Connection,
    project: int,
    metric: str | None = None,
    *,
    system: str | None = None,
    slice: str | None = "",  # noqa: A002 - the term
    branch: str | None = None,
    since: datetime | None = None,
    record: int | None = None,
) -> list[Point]:
    """The figures of a project, ordered by evaluation time, then by recording; see `merge_evaluations`.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        metric: only this metric.
        system: only this system.
        slice: only this slice; empty means all queries, None means every slice.
        branch: only this branch.
        since: only evaluations at this time or later.
        record: only figures of the record with this number.
    """
    figures = [column for column in record_values.c if column.name != "record"]
    statement = sa.select(
        record_values.c.record, *(records.c[name] for name in _OF_RECORD), *figures
    ).select_from(_JOINED)
    statement = statement.where(records.c.project == project)
    for column, wanted_value in (
        (record_values.c.metric, metric),
        (record_values.c.system, system),
        (record_values.c.slice, slice),
        (records.c.branch, branch),
        (records.c.id, record),
    ):
        if wanted_value is not None:
            statement = statement.where(column == wanted_value)
    if since is not None:
        statement = statement.where(records.c.evaluated_at >= since)
    order = (records.c.evaluated_at, records.c.id, record_values.c.system, record_values.c.slice)
    return merge_evaluations(value_of(Point, row) for row in connection.execute(statement.order_by(*order)))


def list_series(connection: Connection, project: int) -> list[SeriesName]:
    """Every series of a project, by metric, system and slice."""
    key = (record_values.c.metric, record_values.c.system, record_values.c.slice)
    time = records.c.evaluated_at
    statement = (
        sa.select(
            *key,
            sa.func.count().label("points"),
            sa.func.min(time).label("first_at"),
            sa.func.max(time).label("last_at"),
        )
        .select_from(_JOINED)
        .where(records.c.project == project)
        .group_by(*key)
        .order_by(*key)
    )
    return list_values(connection, SeriesName, statement)


@dataclass(frozen=True)
class LatestValue:
    """The latest figure of a metric of a system over all queries.

    Attributes:
        project: the name of the project.
        metric, system, value, low, high, n: as in `Value`.
        verdict: the verdict of its record; None if it has none.
    """

    project: str
    metric: str
    system: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    verdict: str | None


def list_latest_values(connection: Connection, limit: int) -> list[LatestValue]:
    """The latest figure of each metric and system of all projects, at most so many."""
    key = (records.c.project, record_values.c.metric, record_values.c.system)
    newest_first = (records.c.evaluated_at.desc(), records.c.id.desc())
    names = ("metric", "system", "value", "low", "high", "n")
    ranked = (
        sa.select(
            projects.c.name.label("project"),
            *(record_values.c[name] for name in names),
            records.c.verdict,
            sa.func.row_number().over(partition_by=key, order_by=newest_first).label("rank"),
        )
        .select_from(_JOINED.join(projects, projects.c.id == records.c.project))
        .where(record_values.c.slice == "")
        .subquery()
    )
    columns = [ranked.c[name] for name in ("project", *names, "verdict")]
    statement = sa.select(*columns).where(ranked.c.rank == 1).order_by(*columns[:3]).limit(limit)
    return list_values(connection, LatestValue, statement)
