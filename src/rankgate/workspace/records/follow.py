"""Follow a figure over time: comparable stretches, change-points, breaks, annotations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, MutableMapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.frames import frame
from rankgate.measurement.stats.change_points import Change, change_points, continued
from rankgate.workspace.records.bridge import Parts, parts_of
from rankgate.workspace.records.history import ANNOTATIONS, BREAKS, CHANGES, SERIES, History
from rankgate.workspace.records.moment import moment_of
from rankgate.workspace.records.places.place import place_at

if TYPE_CHECKING:
    from rankgate.store.records.annotations import Annotation
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.places.place import Place

RATE = 0.001
"""False alarms for each evaluation of a series of independent days, at most."""

Looked = tuple[tuple[str | float | None, ...], tuple[Change, ...]]
"""What the evaluations of a stretch hold, and the changes among them."""

Evaluated = TypeVar("Evaluated", "Point", "Record")

_COMPARABLE = (("judgments", "qrels_sha256"), ("convention", "convention_hash"),
               ("queries", "queries_sha256"))  # fmt: skip


def history(
    metric: str,
    from_: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    system: str | None = None,
    slice: str = "",  # noqa: A002 - the term
    since: str | datetime | None = None,
    rate: float = RATE,
    bridge: bool = True,
) -> History:
    """Show how a metric or a KPI moved: series, change-points, breaks, annotations.

    Args:
        metric: as it was recorded, such as nDCG@10 or search_ctr.
        from_: a folder of records.
        store: instead of a folder a store, or the URL of a server.
        project: the project in the store.
        system: only this system; all without it.
        slice: only queries of this slice, such as lang=en.
        since: only evaluations from this moment on.
        rate: false alarms for each evaluation of a series; twice that where days resemble the
            day before, more in a season.
        bridge: score the run before a break by the judgments after it, to see the part of the
            judgments.

    Raises:
        UsageError: no place, or nothing recorded of the metric.

    >>> import rankgate, tempfile
    >>> qrels = {"q": {"a": 1}, "r": {"b": 1}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (1, 2):
    ...         run = {"q": {"a": 2.0}, "r": {"b" if day == 2 else "c": 1.0}}
    ...         result = rankgate.evaluate(qrels, {"bm25": run}, ["RR"])
    ...         done = rankgate.record(result, folder, at=f"2026-03-0{day}")
    ...     rankgate.history("RR", folder).series.select("at", "value").rows()
    [('2026-03-01T00:00:00+00:00', 0.5), ('2026-03-02T00:00:00+00:00', 1.0)]
    """
    begin = None if since is None else moment_of(since)
    with closing(place_at(None if from_ is None else str(from_), store, project)) as place:
        points = place.points(metric, system, slice, begin)
        if not points:
            raise _nothing(place, metric, system, slice)
        return history_of(
            points, place.annotations(metric, begin), place.per_query, name=place.name, rate=rate,
            bridge=partial(parts_of, place) if bridge else None,
        )  # fmt: skip


def _nothing(place: Place, metric: str, system: str | None, part: str) -> UsageError:
    known = sorted({each.metric for each in place.points(None, None, "", None)})
    more = f"; there are {', '.join(known[:20])}" if known else "; record an evaluation first"
    words = f" of {system}" if system else ""
    words += f" for {part}" if part else ""
    problem = f"{place.name} has no values of {metric!r}{words}{more}."
    return UsageError(problem, code="unknown-metric")


def history_of(
    points: Sequence[Point],
    annotations: Sequence[Annotation],
    per_query: Callable[[Point], pl.DataFrame | None],
    *,
    name: str = "",
    rate: float = RATE,
    bridge: Callable[[Point, Point], Parts] | None = None,
    looked: MutableMapping[Hashable, Looked] | None = None,
) -> History:
    """The history of points of one metric and slice.

    Args:
        points: in the order of their evaluation; of two of one moment the later one counts.
        annotations: what happened.
        per_query: gives the values per query of a point's record.
        name: of the place.
        rate: as of `history`.
        bridge: gives the parts of a break between two points.
        looked: what was found before, which is used and renewed: of a series that became longer
            only the new evaluations are looked at.
    """
    rows: list[dict[str, Any]] = []
    breaks: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    cache: dict[str, pl.DataFrame | None] = {}
    for own in _systems(points):
        segments = comparable_segments(own)
        for before, after in pairwise(segments):
            breaks.append(_break(before[-1], after[0], bridge))
        for number, segment in enumerate(segments):
            rows += [_row(each, number) for each in segment]
            changes += _changes(segment, per_query, cache, rate, looked)
    noted = [
        {"at": each.at.isoformat(), "kind": each.kind, "text": each.text,
         "revision": each.revision, "actor": each.actor}
        for each in annotations
    ]  # fmt: skip
    last = points[-1]
    return History(
        last.metric, last.slice, name, last.higher_is_better, frame(rows, SERIES),
        frame(breaks, BREAKS), frame(changes, CHANGES), frame(noted, ANNOTATIONS), rate,
    )  # fmt: skip


def _systems(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each system; of those of one moment the one that was recorded last."""
    found: dict[str, dict[datetime, Point]] = {}
    for each in points:
        if each.value is not None:
            found.setdefault(each.system, {})[each.evaluated_at] = each
    return [list(each.values()) for each in found.values()]


def comparable_segments(points: Sequence[Evaluated]) -> list[list[Evaluated]]:
    """Points or records, the oldest first, cut where one is not comparable with the one before."""
    segments = [[points[0]]]
    for before, after in pairwise(points):
        if reasons(before, after):
            segments.append([])
        segments[-1].append(after)
    return segments


def reasons(before: Point | Record, after: Point | Record) -> tuple[str, ...]:
    """Why two points are not comparable: judgments, convention, queries; empty if they are."""
    found = tuple(
        word for word, name in _COMPARABLE if getattr(before, name) != getattr(after, name)
    )
    return tuple(each for each in found if each != "queries") or found


def _row(point: Point, segment: int) -> dict[str, Any]:
    given = vars(point)
    row = {name: given[name] for name in SERIES if name in given}
    if point.low is None or point.high is None:  # half of an interval says nothing
        row |= {"low": None, "high": None}
    return {**row, "at": point.evaluated_at.isoformat(), "segment": segment}


def _break(
    before: Point, after: Point, bridge: Callable[[Point, Point], Parts] | None
) -> dict[str, Any]:
    assert before.value is not None
    assert after.value is not None
    parts = Parts() if bridge is None else bridge(before, after)
    return {
        "system": after.system, "at": after.evaluated_at.isoformat(), "record": after.record,
        "reasons": ", ".join(reasons(before, after)), "before": before.value,
        "after": after.value, "delta": after.value - before.value, **vars(parts),
    }  # fmt: skip


def _changes(
    segment: Sequence[Point],
    per_query: Callable[[Point], pl.DataFrame | None],
    cache: dict[str, pl.DataFrame | None],
    rate: float,
    looked: MutableMapping[Hashable, Looked] | None,
) -> list[dict[str, Any]]:
    values = _matrix(segment, per_query, cache)
    sign = 1 if segment[0].higher_is_better else -1
    found = []
    for each in _found(segment, values, rate, looked):
        first, seen = segment[each.place], segment[each.found]
        found.append({
            "system": first.system, "at": first.evaluated_at.isoformat(),
            "found_at": seen.evaluated_at.isoformat(), "record": first.record,
            "found_record": seen.record, "revision": first.revision, "before": each.before,
            "after": each.after, "delta": each.delta, "gain": sign * each.delta, "low": each.low,
            "high": each.high, "p_value": each.p_value, "queries": each.queries,
        })  # fmt: skip
    return found


def _found(
    segment: Sequence[Point],
    values: np.ndarray[Any, np.dtype[np.float64]],
    rate: float,
    looked: MutableMapping[Hashable, Looked] | None,
) -> tuple[Change, ...]:
    """The change-points of comparable points; those of an unchanged beginning are known."""
    if looked is None:
        return change_points(values, rate=rate)
    first = segment[0]
    contents = tuple(each.per_query if values.ndim == 2 else each.value for each in segment)
    key = (first.metric, first.system, first.slice, rate, contents[0])
    before, known = looked.get(key, ((), ()))
    if contents[: len(before)] != before:
        before, known = (), ()
    found = continued(values, known, len(before), rate=rate)
    looked[key] = contents, found
    return found


def _matrix(
    segment: Sequence[Point],
    per_query: Callable[[Point], pl.DataFrame | None],
    cache: dict[str, pl.DataFrame | None],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A row of values per query for each point, or the means where some have no such values."""
    means = np.array([each.value for each in segment], np.float64)
    if len(segment) == 1 or any(each.per_query is None or each.slice for each in segment):
        return means
    tables: list[pl.DataFrame] = []
    for each in segment:
        key = str(each.per_query)
        if key not in cache:
            cache[key] = per_query(each)
        table = cache[key]
        if table is None or each.metric not in table.columns:
            return means
        own = table.filter(pl.col("system") == each.system)
        tables.append(own.select("query_id", pl.col(each.metric).alias("value")))
    whole = _side_by_side(tables)
    return whole if whole.shape[1] > 1 else means


def _side_by_side(tables: Sequence[pl.DataFrame]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A row for each table, a column for each query that has a value in any; NaN without one."""
    ids = tables[0]["query_id"]
    same = all(each["query_id"].equals(ids) for each in tables[1:])
    if not same:  # mostly they are
        ids = pl.concat([each["query_id"] for each in tables]).unique(maintain_order=True)
        order = ids.to_frame()
        tables = [order.join(each, on="query_id", how="left", maintain_order="left")
                  for each in tables]  # fmt: skip
    rows = [each["value"].fill_null(float("nan")).to_numpy() for each in tables]
    found = np.asarray(rows, np.float64)
    return found[:, ~np.isnan(found).all(axis=0)]
