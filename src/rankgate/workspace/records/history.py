"""Follow a metric over time; the module has the result of ``history``.

A history has comparable segments, change-points, breaks and annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import P_VALUE, SYSTEM
from rankgate.core.present.document_model import Entries, Entry
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View
from rankgate.core.present.result_frames import make_frame
from rankgate.measurement.stats.change_points import (
    MIN_EVALUATIONS,
    Change,
    change_points,
    correlation_in_time,
    extend_change_points,
)
from rankgate.workspace.records.cron_times import parse_moment
from rankgate.workspace.records.history_entries import annotation_entry, break_entry, change_entry
from rankgate.workspace.records.record_columns import BRANCH, KIND, REVISION, VERDICT, format_minute
from rankgate.workspace.records.rescoring import BreakParts, split_break
from rankgate.workspace.records.storages.record_storage import open_storage

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.store.records.record_notes import Annotation
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point


HIGH_CORRELATION = 0.5
"""The correlation of neighbouring evaluations from which on a warning states that few changes are
found; independent values of `MIN_EVALUATIONS` evaluations rarely reach this correlation."""

SERIES_SCHEMA = Columns(
    "One row per evaluation.",
    SYSTEM,
    Column("at", pl.String, "when it was measured", format_minute, header="at (UTC)"),
    Column("value", pl.Float64, "the value of the metric"),
    Column(
        "low", pl.Float64, "the low end of its interval; null where it is not known", header="95% interval"
    ),
    Column("high", pl.Float64, "the high end of its interval; null where it is not known"),
    Column("n", pl.Int64, "queries with a value", unit="queries"),
    Column("record", pl.Int64, "the number of the record"),
    Column("sha256", pl.String, "the hash of the record"),
    KIND,
    REVISION,
    BRANCH,
    VERDICT,
    Column("segment", pl.Int64, "the number of the segment; values of one segment are comparable"),
)
_EVALUATIONS = Columns(
    "One row per evaluation.",
    SERIES_SCHEMA,
    Column("outcome", pl.String, "the verdict, and the change or break", header="what"),
)
_LATEST = Columns(
    "One row per system.",
    SERIES_SCHEMA,
    Column("first", pl.Float64, "the first value"),
    Column("since", pl.String, "the day of the first evaluation", ".10"),
    Column("evaluations", pl.Int64, "the number of evaluations"),
)
_DELTA = Column("delta", pl.Float64, "after − before", "signed")
BREAKS_SCHEMA = Columns(
    "One row per evaluation with a value that cannot be compared with the value before it. The parts are "
    "null unless the run before is kept.",
    SYSTEM,
    Column("at", pl.String, "when the evaluation after the break was measured"),
    Column("record", pl.Int64, "the number of its record"),
    Column("reasons", pl.String, "the difference: judgments, convention or queries"),
    Column("before", pl.Float64, "the value before"),
    Column("after", pl.Float64, "the value after"),
    _DELTA,
    Column(
        "judgments",
        pl.Float64,
        "the part of the judgments and the convention: the same run by the new ones less by the old ones",
        "signed",
    ),
    Column("queries", pl.Float64, "the part of other queries", "signed"),
    Column("rest", pl.Float64, "what the system did", "signed"),
    Column("low", pl.Float64, "the low end of the interval of rest", "signed"),
    Column("high", pl.Float64, "the high end of the interval of rest", "signed"),
    Column("why", pl.String, "why there are no parts"),
)
CHANGES_SCHEMA = Columns(
    "One row per change-point between comparable evaluations.",
    SYSTEM,
    Column("at", pl.String, "when the first evaluation after it was measured"),
    Column("found_at", pl.String, "when the evaluation that shows it was measured"),
    Column("record", pl.Int64, "the number of the first record after it"),
    Column("found_record", pl.Int64, "the number of the record that shows it"),
    Column("revision", pl.String, "the revision of git of the first record after it"),
    Column("before", pl.Float64, "the mean before"),
    Column("after", pl.Float64, "the mean after"),
    _DELTA,
    Column(
        "gain",
        pl.Float64,
        "delta, or −delta for a metric that is better when lower: positive is better",
        "signed",
    ),
    Column("low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("high", pl.Float64, "the high end of the interval of delta", "signed"),
    P_VALUE,
    Column(
        "queries", pl.Int64, "queries that the interval is over; null where values of queries are not kept"
    ),
)
ANNOTATIONS_SCHEMA = Columns(
    "One row per annotation.",
    Column("at", pl.String, "when the annotated event happened"),
    Column("kind", pl.String, "its kind: deploy, judgments, incident or note"),
    Column("text", pl.String, "its text"),
    Column("revision", pl.String, "the revision of git; empty where none is known"),
    Column("actor", pl.String, "who wrote it"),
)


def _list_events(result: History) -> Iterator[Entries]:
    """The changes and breaks with reasons, then the annotations, by time."""
    events = [
        *map(change_entry, result.changes.iter_rows(named=True)),
        *map(break_entry, result.breaks.iter_rows(named=True)),
    ]
    yield Entries(tuple(Entry(label, lines) for _, label, lines in sorted(events)), "Changes and breaks")
    yield Entries(tuple(map(annotation_entry, result.annotations.iter_rows(named=True))), "Annotations")


@dataclass(frozen=True)
class History(Result):
    """A metric over time.

    Attributes:
        metric: which.
        slice: the queries; empty is all.
        place: where the records are.
        higher_is_better: the direction.
        series: the columns of `SERIES_SCHEMA`.
        breaks: the columns of `BREAKS_SCHEMA`.
        changes: the columns of `CHANGES_SCHEMA`.
        annotations: the columns of `ANNOTATIONS_SCHEMA`.
        rate: false alarms for each evaluation of a series, where days are independent.
    """

    kind = "history"
    charts: ClassVar = {"history": "rankgate.workspace.records.history_chart:HISTORY"}
    order = 3
    SCHEMAS: ClassVar = {
        "series": SERIES_SCHEMA,
        "breaks": BREAKS_SCHEMA,
        "changes": CHANGES_SCHEMA,
        "annotations": ANNOTATIONS_SCHEMA,
    }
    headline_text = (
        "{metric}",
        Sentence(" for {slice}", "slice"),
        ": {series:n evaluation}, {changes:n change}, {breaks:n break}",
    )
    layout = (
        View(
            "latest",
            "",
            ("system", "value", ("low", "high"), "n", "at", "first", "since", "evaluations"),
            _LATEST,
            {"value": "last", "at": "on"},
            {"at": ".10"},
        ),
        ShownChart("history", "has_trend"),
        _list_events,
        View(
            "evaluations",
            "Evaluations, the newest first",
            ("at", "system", "value", ("low", "high"), "revision", "outcome"),
            _EVALUATIONS,
            keys=2,
            first=30,
        ),
        Sentence(
            "Changes are found with a rate of {rate:g} false alarms for each evaluation of a series: at most"
            " that where evaluations are independent, at most twice that where they resemble the one before,"
            " more in a season or a slow drift. Values on the two sides of a break are not comparable."
        ),
        NOTICES,
    )

    metric: str
    slice: str
    place: str
    higher_is_better: bool
    series: pl.DataFrame
    breaks: pl.DataFrame
    changes: pl.DataFrame
    annotations: pl.DataFrame
    rate: float

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems, in the order of their first evaluation."""
        return tuple(self.series["system"].unique(maintain_order=True).to_list())

    @property
    def has_trend(self) -> bool:
        """True if a system has two evaluations or more."""
        return len(self.series) > len(self.systems)

    @property
    def latest(self) -> pl.DataFrame:
        """The last evaluation of each system, and its first value."""
        return self.series.group_by("system", maintain_order=True).agg(
            pl.exclude("system").last(),
            pl.col("value").first().alias("first"),
            pl.col("at").first().alias("since"),
            pl.len().alias("evaluations"),
        )

    @property
    def evaluations(self) -> pl.DataFrame:
        """The evaluations with their outcomes, the newest first."""
        reasons = (
            self.changes.select("system", "record", reason=pl.lit("change")),
            self.breaks.select("system", "record", reason="break: " + pl.col("reasons")),
        )
        table = self.series.join(
            pl.concat(reasons).unique(["system", "record"], keep="last"),
            on=["system", "record"],
            how="left",
            maintain_order="left",
        )
        outcome = pl.concat_str("verdict", "reason", separator=", ", ignore_nulls=True)
        return table.with_columns(outcome.alias("outcome")).sort("at", descending=True, maintain_order=True)

    @property
    def heading(self) -> str:
        """The metric."""
        return f"{self.metric} over time"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Breaks whose parts are not known, and systems in whose values few changes are found."""
        breaks = tuple(
            Notice("no-bridge", f"{row['system']}, {row['at'][:10]}: {row['why']}", row["system"])
            for row in self.breaks.iter_rows(named=True)
            if row["why"]
        )
        return breaks + tuple(filter(None, map(self._correlated, self.systems)))

    def _correlated(self, system: str) -> Notice | None:
        """A notice if evaluations resemble the one before, in the last segment of a system."""
        system_rows = self.series.filter(pl.col("system") == system)
        system_rows = system_rows.filter(pl.col("segment") == system_rows["segment"][-1])
        if len(system_rows) < MIN_EVALUATIONS:
            return None
        change_records = self.changes.filter(pl.col("system") == system)["record"].implode()
        change_rows = (
            system_rows.select(pl.col("record").is_in(change_records).arg_true()).to_series().to_list()
        )
        correlation = correlation_in_time(system_rows["value"].to_numpy(), change_rows)
        if correlation < HIGH_CORRELATION:
            return None
        text = (
            f"{system}: evaluations resemble the one before (correlation {correlation:.2f}), or have a "
            "season. A fall must be about five times as large as what one evaluation adds to be found, and "
            "single evaluations that are far out, or a season larger than twice the noise, give more false "
            "alarms than the given rate."
        )
        return Notice("correlated-evaluations", text, system)


FALSE_ALARM_RATE = 0.001
"""The largest rate of false alarms per evaluation of a series of independent days."""

CachedChanges = tuple[tuple[str | float | None, ...], tuple[Change, ...]]
"""The cached contents of a segment's evaluations, with the changes among them."""

PointOrRecord = TypeVar("PointOrRecord", "Point", "Record")

_COMPARED_FIELDS = (
    ("judgments", "qrels_sha256"),
    ("convention", "convention_hash"),
    ("queries", "queries_sha256"),
)


def history(
    metric: str,
    from_: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    system: str | None = None,
    slice: str = "",  # noqa: A002 - the term
    since: str | datetime | None = None,
    rate: float = FALSE_ALARM_RATE,
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
        rate: false alarms for each evaluation of a series; up to three times that where days
            resemble the day before, more in a season.
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
    begin = None if since is None else parse_moment(since)
    with closing(open_storage(None if from_ is None else str(from_), store, project)) as storage:
        points = storage.points(metric, system, slice, begin)
        if not points:
            metrics = sorted({point.metric for point in storage.points(None, None, "", None)})
            hint = f"; known: {', '.join(metrics[:20])}" if metrics else "; record an evaluation first"
            filters = f" of {system}" if system else ""
            filters += f" for {slice}" if slice else ""
            problem = f"{storage.name} has no values of {metric!r}{filters}{hint}."
            raise UsageError(problem, code="unknown-metric")
        return make_history(
            points,
            storage.annotations(metric, begin),
            storage.per_query,
            name=storage.name,
            rate=rate,
            bridge=partial(split_break, storage) if bridge else None,
        )


def make_history(
    points: Sequence[Point],
    annotations: Sequence[Annotation],
    per_query: Callable[[Point], pl.DataFrame | None],
    *,
    name: str = "",
    rate: float = FALSE_ALARM_RATE,
    bridge: Callable[[Point, Point], BreakParts] | None = None,
    looked: MutableMapping[Hashable, CachedChanges] | None = None,
) -> History:
    """The history of the points of one metric and slice.

    Args:
        points: the points in the order of evaluation; for equal times, the later point counts.
        annotations: annotations of events.
        per_query: a function that returns the values per query of a point's record.
        name: the name of the source.
        rate: as in `history`.
        bridge: a function that returns the parts of a break between two points.
        looked: a cache of earlier results, which is updated: only the new evaluations of a longer
            series are computed.
    """
    rows: list[dict[str, Json]] = []
    breaks: list[dict[str, Json]] = []
    changes: list[dict[str, Json]] = []
    cache: dict[str, pl.DataFrame | None] = {}
    for system_points in _points_by_system(points):
        segments = split_comparable(system_points)
        for before, after in pairwise(segments):
            breaks.append(_break_row(before[-1], after[0], bridge))
        for number, segment in enumerate(segments):
            rows += [point_row(point, number) for point in segment]
            changes += _change_rows(segment, per_query, cache, rate, looked)
    annotation_rows = [
        {
            "at": annotation.at.isoformat(),
            "kind": annotation.kind,
            "text": annotation.text,
            "revision": annotation.revision,
            "actor": annotation.actor,
        }
        for annotation in annotations
    ]
    last = points[-1]
    return History(
        last.metric,
        last.slice,
        name,
        last.higher_is_better,
        make_frame(rows, SERIES_SCHEMA),
        make_frame(breaks, BREAKS_SCHEMA),
        make_frame(changes, CHANGES_SCHEMA),
        make_frame(annotation_rows, ANNOTATIONS_SCHEMA),
        rate,
    )


def _points_by_system(points: Sequence[Point]) -> list[list[Point]]:
    """The points of each system; for equal times, the point recorded last."""
    points_by_system: dict[str, dict[datetime, Point]] = {}
    for point in points:
        if point.value is not None:
            points_by_system.setdefault(point.system, {})[point.evaluated_at] = point
    return [list(points_by_time.values()) for points_by_time in points_by_system.values()]


def split_comparable(points: Sequence[PointOrRecord]) -> list[list[PointOrRecord]]:
    """Split points or records, the oldest first, into segments that are comparable."""
    segments = [[points[0]]]
    for before, after in pairwise(points):
        if find_differences(before, after):
            segments.append([])
        segments[-1].append(after)
    return segments


def find_differences(before: Point | Record, after: Point | Record) -> tuple[str, ...]:
    """The inputs that make two points incomparable; empty if the points are comparable."""
    differences = tuple(
        input_name for input_name, name in _COMPARED_FIELDS if getattr(before, name) != getattr(after, name)
    )
    return tuple(difference for difference in differences if difference != "queries") or differences


def point_row(point: Point, segment: int) -> dict[str, Json]:
    """The row of a point in a series; an interval with only one end is left out.

    Args:
        point: the point.
        segment: the number of its segment.
    """
    fields = vars(point)
    row = {name: fields[name] for name in SERIES_SCHEMA if name in fields}
    if point.low is None or point.high is None:
        row |= {"low": None, "high": None}
    return {**row, "at": point.evaluated_at.isoformat(), "segment": segment}


def _break_row(
    before: Point, after: Point, bridge: Callable[[Point, Point], BreakParts] | None
) -> dict[str, Json]:
    assert before.value is not None
    assert after.value is not None
    parts = BreakParts() if bridge is None else bridge(before, after)
    return {
        "system": after.system,
        "at": after.evaluated_at.isoformat(),
        "record": after.record,
        "reasons": ", ".join(find_differences(before, after)),
        "before": before.value,
        "after": after.value,
        "delta": after.value - before.value,
        **vars(parts),
    }


def _change_rows(
    segment: Sequence[Point],
    per_query: Callable[[Point], pl.DataFrame | None],
    cache: dict[str, pl.DataFrame | None],
    rate: float,
    change_cache: MutableMapping[Hashable, CachedChanges] | None,
) -> list[dict[str, Json]]:
    values = _value_matrix(segment, per_query, cache)
    sign = 1 if segment[0].higher_is_better else -1
    changes: list[dict[str, Json]] = []
    for change in _find_changes(segment, values, rate, change_cache):
        first_after, detection = segment[change.place], segment[change.found]
        changes.append(
            {
                "system": first_after.system,
                "at": first_after.evaluated_at.isoformat(),
                "found_at": detection.evaluated_at.isoformat(),
                "record": first_after.record,
                "found_record": detection.record,
                "revision": first_after.revision,
                "before": change.before,
                "after": change.after,
                "delta": change.delta,
                "gain": sign * change.delta,
                "low": change.low,
                "high": change.high,
                "p_value": change.p_value,
                "queries": change.queries,
            }
        )
    return changes


def _find_changes(
    segment: Sequence[Point],
    values: Floats,
    rate: float,
    change_cache: MutableMapping[Hashable, CachedChanges] | None,
) -> tuple[Change, ...]:
    """The change-points of a segment; an unchanged beginning uses the cache."""
    weekdays = [point.evaluated_at.weekday() for point in segment]
    if change_cache is None:
        return change_points(values, rate=rate, weekdays=weekdays)
    first = segment[0]
    contents = tuple(point.per_query if values.ndim == 2 else point.value for point in segment)
    key = (first.metric, first.system, first.slice, rate, contents[0])
    known_contents, known_changes = change_cache.get(key, ((), ()))
    if contents[: len(known_contents)] != known_contents:
        known_contents, known_changes = (), ()
    changes = extend_change_points(values, known_changes, len(known_contents), rate=rate, weekdays=weekdays)
    change_cache[key] = contents, changes
    return changes


def _value_matrix(
    segment: Sequence[Point],
    per_query: Callable[[Point], pl.DataFrame | None],
    cache: dict[str, pl.DataFrame | None],
) -> Floats:
    """A row of values per query for each point, or the means if a point has no values per query."""
    means = np.array([point.value for point in segment], np.float64)
    if len(segment) == 1 or any(point.per_query is None or point.slice for point in segment):
        return means
    tables: list[pl.DataFrame] = []
    for point in segment:
        key = str(point.per_query)
        if key not in cache:
            cache[key] = per_query(point)
        table = cache[key]
        if table is None or point.metric not in table.columns:
            return means
        system_table = table.filter(pl.col("system") == point.system)
        tables.append(system_table.select("query_id", pl.col(point.metric).alias("value")))
    matrix = _align_tables(tables)
    return matrix if matrix.shape[1] > 1 else means


def _align_tables(tables: Sequence[pl.DataFrame]) -> Floats:
    """A matrix with a row for each table and a column for each query; NaN for missing values."""
    ids = tables[0]["query_id"]
    has_same_queries = all(table["query_id"].equals(ids) for table in tables[1:])
    if not has_same_queries:  # usually true
        ids = pl.concat([table["query_id"] for table in tables]).unique(maintain_order=True)
        order = ids.to_frame()
        tables = [order.join(table, on="query_id", how="left", maintain_order="left") for table in tables]
    rows = [table["value"].fill_null(float("nan")).to_numpy() for table in tables]
    matrix = np.asarray(rows, np.float64)
    return matrix[:, ~np.isnan(matrix).all(axis=0)]
