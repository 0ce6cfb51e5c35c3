"""Pages of trends: all series, and one series over time with the reasons for its changes.

The module also computes the earlier level with which the last value of a series is compared, and
the small lines of values over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.document_model import Chart, Document, Entries, PlainRows, Table
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.pages.page import page_content
from rankgate.store.records import record_notes as noted
from rankgate.store.records import records, series
from rankgate.store.rows import now
from rankgate.workspace.records.history import find_differences, make_history, split_comparable
from rankgate.workspace.records.history_entries import break_entry, change_entry
from rankgate.workspace.records.rescoring import split_break
from rankgate.workspace.records.storages.store_storage import StoreStorage
from rankgate.workspace.web.dashboard import trend_chart
from rankgate.workspace.web.dashboard.gate_outcomes import GateOutcome, find_outcomes, shown_status
from rankgate.workspace.web.dashboard.recorded_results import pair_address, read_query_values
from rankgate.workspace.web.replies import FileReply, PageReply, not_found
from rankgate.workspace.web.shared_fields import SINCE_FIELD, SLICE, SYSTEM
from rankgate.workspace.web.web_request import VIEWING_ROLES, Field, page

if TYPE_CHECKING:
    from collections.abc import Hashable

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.document_model import Block
    from rankgate.store.records.record_notes import Annotation
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.history import CachedChanges, History
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest


MAX_EVALUATIONS = 10
"""The number of evaluations whose median is the level."""


@dataclass(frozen=True)
class Level:
    """An earlier level of a series.

    Attributes:
        value: the median of the evaluations.
        count: the number of evaluations.
        clear: True if the level is outside the interval of the last value.
        since: the first evaluation after the level.
    """

    value: float
    count: int
    clear: bool
    since: datetime

    @property
    def description(self) -> str:
        """A description of the level with its dates."""
        basis = "the evaluation" if self.count == 1 else f"the median of {self.count} evaluations"
        end = "outside" if self.clear else "not outside"
        return f"against {self.value:.4g}, {basis} before {self.since:%Y-%m-%d}; {end} the interval"


def find_level(points: Sequence[Point]) -> Level | None:
    """The level before the last value, from at most `MAX_EVALUATIONS` comparable evaluations.

    None if there are no earlier evaluations.

    Evaluations inside the interval of the last value, back to the first evaluation outside of it,
    belong to the level of the last value. If the median of the values before them is also outside,
    this median is the earlier level, so that a fall stays visible for more than one night.
    Otherwise the level is the median of the latest values.
    """
    valued_points = [point for point in points if point.value is not None]
    if not valued_points:
        return None
    last = valued_points.pop()
    earlier_values = [
        (point.evaluated_at, point.value)
        for point in valued_points
        if point.value is not None and not find_differences(point, last)
    ]
    if not earlier_values:
        return None
    if last.low is not None and last.high is not None:
        earlier_count = len(earlier_values)
        while earlier_count and last.low <= earlier_values[earlier_count - 1][1] <= last.high:
            earlier_count -= 1
        level_values = [value for _, value in earlier_values[:earlier_count][-MAX_EVALUATIONS:]]
        if level_values and not last.low <= median(level_values) <= last.high:
            since = (
                earlier_values[earlier_count][0] if earlier_count < len(earlier_values) else last.evaluated_at
            )
            return Level(median(level_values), len(level_values), clear=True, since=since)
    level_values = [value for _, value in earlier_values[-MAX_EVALUATIONS:]]
    return Level(median(level_values), len(level_values), clear=False, since=last.evaluated_at)


def find_earlier(points: Sequence[Point]) -> Point | None:
    """The evaluation with which the last one is compared query by query; None if there is none.

    It is the last comparable one; if the level of the series changed, the last one before that.
    """
    if not points:
        return None
    last, level = points[-1], find_level(points)
    end = level.since if level is not None and level.clear else last.evaluated_at
    earlier_points = [
        point for point in points[:-1] if point.evaluated_at < end and not find_differences(point, last)
    ]
    return earlier_points[-1] if earlier_points else None


WIDE, HIGH = 160, 36
"""The size of the drawing in its own units."""

_EDGE = 4


@dataclass(frozen=True)
class TrendLine:
    """A series as a small line.

    Attributes:
        name: the name of the series.
        path: the SVG path of the line, with gaps between incomparable values.
        last: the position of the last point; None without points.
        value: the last value.
        before: the value before it.
        words: a description of the line, for screen readers.
        metric, system: those of the series.
        better: True if higher values are better.
        level: the level that the last value is compared with, instead of the value before it.
        alert: True if the series has an open alert.
        n: the number of queries of the last value; 0 if unknown.
        outcome: the outcome of the gate for the change; None if it is not known.
    """

    name: str
    path: str
    last: tuple[float, float] | None
    value: float | None
    before: float | None
    words: str
    metric: str = ""
    system: str = ""
    better: bool = True
    level: Level | None = None
    alert: bool = False
    n: int = 0
    outcome: GateOutcome | None = None

    @property
    def change(self) -> float | None:
        """The change to the last value from the earlier level, or from the value before."""
        before = self.level.value if self.level else self.before
        return None if self.value is None or before is None else self.value - before

    @property
    def verdict(self) -> str:
        """``pass`` or ``fail`` for a gain or a loss beyond the interval, otherwise empty.

        It is ``inconclusive`` if the gate is, and empty for a loss that the gate allows.
        """
        if self.level is None or not self.level.clear or not self.change:
            return ""
        return shown_status(self.outcome, better=(self.change > 0) == self.better)

    @classmethod
    def of_series(
        cls,
        name: str,
        points: Sequence[Point],
        *,
        alert: bool = False,
        scale: tuple[float, float] | None = None,
    ) -> TrendLine:
        """The line of a recorded series, compared with its earlier level.

        Args:
            name: the name of the series.
            points: the points, the oldest first.
            alert: True if the series has an open alert.
            scale: as in `from_series`.
        """
        valued_points = [point for point in points if point.value is not None]
        segments = split_comparable(valued_points) if valued_points else []
        line = cls.from_series(
            name, [[(point.evaluated_at, point.value) for point in segment] for segment in segments], scale
        )
        if not points:
            return line
        last = points[-1]
        return replace(
            line,
            metric=last.metric,
            system=last.system,
            before=None,
            better=last.higher_is_better,
            level=find_level(points),
            alert=alert,
            n=valued_points[-1].n if valued_points else 0,
        )

    @classmethod
    def from_series(
        cls,
        name: str,
        segments: Sequence[Sequence[tuple[datetime, float | None]]],
        scale: tuple[float, float] | None = None,
    ) -> TrendLine:
        """The line of a series.

        Args:
            name: the name of the series.
            segments: the parts that are not joined, each with the oldest point first.
            scale: the values at the lower and the upper edge; by default those of the series.
        """
        valued_segments = [
            [(moment, value) for moment, value in segment if value is not None] for segment in segments
        ]
        points = [point for segment in valued_segments for point in segment]
        if not points:
            return cls(name, "", None, None, None, f"{name}: no value")
        first, last = points[0][0], points[-1][0]
        low, high = min(v for _, v in points), max(v for _, v in points)
        span = (last - first).total_seconds() or 1.0
        bottom, top = scale or (low, high)
        value_range = (top - bottom) or 1.0

        def position(moment: datetime, value: float) -> tuple[float, float]:
            x = _EDGE + (WIDE - 2 * _EDGE) * (moment - first).total_seconds() / span
            y = HIGH - _EDGE - (HIGH - 2 * _EDGE) * (value - bottom) / value_range
            return x, HIGH / 2 if top == bottom else y

        path = "".join(
            _segment_path([position(*point) for point in segment]) for segment in valued_segments if segment
        )
        description = (
            f"{name}: {points[-1][1]:.4g} on {last:%Y-%m-%d}, from {low:.4g} to {high:.4g} in "
            f"{count_noun(len(points), 'evaluation')} since {first:%Y-%m-%d}"
        )
        if len(valued_segments) > 1:
            description += f"; {count_noun(len(valued_segments), 'part')} that are not comparable"
        latest = valued_segments[-1]
        before = latest[-2][1] if len(latest) > 1 else None
        return cls(name, path, position(*points[-1]), points[-1][1], before, description)


def with_outcomes(
    connection: Connection, request: WebRequest, lines: Sequence[tuple[TrendLine, Sequence[Point]]]
) -> list[TrendLine]:
    """The lines with the outcomes of the gate for their clear changes.

    Args:
        connection: a connection to the store.
        request: the request of the page.
        lines: each line with the points of its series, the oldest first.
    """
    pairs: dict[tuple[int, int], tuple[Point, Point]] = {}
    metrics_of_pair: dict[tuple[int, int], list[str]] = {}
    pair_of_line: list[tuple[int, int] | None] = []
    for line, points in lines:
        valued_points = [point for point in points if point.value is not None]
        earlier = find_earlier(valued_points) if line.verdict else None
        key = None if earlier is None else (earlier.record, valued_points[-1].record)
        pair_of_line.append(key)
        if earlier is not None and key is not None:
            pairs.setdefault(key, (earlier, valued_points[-1]))
            metrics_of_pair.setdefault(key, []).append(line.metric)
    outcomes = {
        key: find_outcomes(connection, request, points, metrics_of_pair[key]) for key, points in pairs.items()
    }
    return [
        line if key is None else replace(line, outcome=outcomes[key].get(line.metric))
        for (line, _), key in zip(lines, pair_of_line, strict=True)
    ]


def _segment_path(positions: Sequence[tuple[float, float]]) -> str:
    """The path of a segment; a single point is a short stroke, so that it is visible."""
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in positions)
    return f"{path}h0.1" if len(positions) == 1 else path


_MAX_RECORDS = 60
"""The number of latest records shown by small lines."""


_SERIES = (SYSTEM, SLICE, Field("branch", "Branch", most=500), SINCE_FIELD)

_METRIC = Field("metric", "Metric", required=True, most=200)


@page(
    "trends",
    "/projects/{project}/trends",
    VIEWING_ROLES,
    "Trends",
    Field("metric", "Metric", most=200, help="By default all series."),
    *_SERIES,
    tabular=True,
)
def trends_page(request: WebRequest) -> PageReply:
    """The page of one series over time, or of all series if the request names no series."""
    return _series_page(request) if request.values["metric"] else _all_series_page(request)


def _all_series_page(request: WebRequest) -> PageReply:
    """The page of all series, with last values and small lines."""
    with request.store.read() as connection:
        rows, lines = request.cached("series", lambda: _series_rows(connection, request))
        events = noted.list_annotations(connection, request.project.id)
    data = {"project": request.project.name, "series": rows, "annotations": _annotation_rows(events)}
    column_names = ("metric", "system", "slice", "points", "first_at", "last_at", "value", "n", "change")
    sheet = PlainRows(column_names, [tuple(_cell_value(row[name]) for name in column_names) for row in rows])
    return PageReply("trends.html", data, {"lines": lines, "now": now()}, rows=sheet)


def _series_rows(connection: Connection, request: WebRequest) -> tuple[list[PageRow], list[TrendLine]]:
    """The figures and the line of each series."""
    project = request.project.id
    latest = records.list_records(connection, project, most=_MAX_RECORDS)
    since = latest[-1].evaluated_at if latest else None
    points_by_series: dict[tuple[str, str, str], list[Point]] = {}
    for point in series.list_points(connection, project, slice=None, since=since) if latest else []:
        points_by_series.setdefault((point.metric, point.system, point.slice), []).append(point)
    names = series.list_series(connection, project)
    lines_and_points = []
    for name in names:
        series_points = points_by_series.get((name.metric, name.system, name.slice), [])
        line = TrendLine.of_series(name.metric, series_points)
        lines_and_points.append((line, [] if name.slice else series_points))  # rules are on all queries
    lines = with_outcomes(connection, request, lines_and_points)
    rows = [
        vars(name)
        | {
            "value": line.value,
            "n": line.n,
            "change": line.change,
            "against": line.level and line.level.value,
            "clear": bool(line.verdict),
            "higher_is_better": line.better,
        }
        for name, line in zip(names, lines, strict=True)
    ]
    return rows, lines


def _cell_value(value: object) -> str | float | None:
    return value if isinstance(value, str | float) or value is None else str(value)


def _annotation_rows(events: list[Annotation]) -> list[PageRow]:
    names = ("id", "at", "kind", "text", "metric", "revision", "actor")
    return [{name: getattr(annotation, name) for name in names} for annotation in events[::-1]]


def _series_page(request: WebRequest) -> PageReply:
    """The page of a series: drawing, changes, breaks with parts, annotations, evaluations."""
    with request.store.read() as connection:
        points, events = _read_series(connection, request)
        names = series.list_series(connection, request.project.id)
    history, key = _make_history(request, points, events)
    drawing, html = request.cache.get(("trend page", key), lambda: _draw_history(request, history))
    fields = request.values
    systems = sorted({series_name.system for series_name in names if series_name.metric == history.metric})
    slices = sorted({series_name.slice for series_name in names if series_name.metric == history.metric})
    data = {
        "project": request.project.name,
        "history": history.to_dict(),
        "annotations": _annotation_rows(events),
        "systems": systems,
        "slices": slices,
    }
    extra = {
        "drawing": drawing,
        "document": html,
        "colours": trend_chart.list_colours(history),
        "steps": _list_steps(request, history),
        "given": {name: fields[name] for name in ("metric", "system", "slice", "branch")},
        "rows": list(history.series.sort("at", descending=True).iter_rows(named=True)),
        "now": now(),
    }
    sheet = PlainRows(tuple(history.series.columns), history.series.rows())
    return PageReply("trend.html", data, extra, rows=sheet)


def _read_series(connection: Connection, request: WebRequest) -> tuple[list[Point], list[Annotation]]:
    """The requested points, and the annotations.

    Raises:
        Refused: the series does not exist.
    """
    fields, project = request.values, request.project.id
    points = series.list_points(
        connection,
        project,
        fields["metric"],
        system=fields["system"],
        slice=fields["slice"] or "",
        branch=fields["branch"],
        since=fields["since"],
    )
    valued_points = [point for point in points if point.value is not None]
    if not valued_points:
        raise not_found("series")
    events = noted.list_annotations(connection, project, metric=fields["metric"], since=fields["since"])
    return valued_points, events


def _make_history(
    request: WebRequest, points: list[Point], events: list[Annotation]
) -> tuple[History, tuple[Hashable, ...]]:
    """The history of points, and its cache key."""
    key = (
        request.project.id,
        points[0].metric,
        points[0].slice,
        tuple(point.record for point in points),
        tuple(point.system for point in points),
        tuple(event.id for event in events),
    )
    storage = StoreStorage(request.stored_project)

    def per_query(point: Point) -> pl.DataFrame | None:
        values = read_query_values(request, point)
        return None if values is None else values.table

    # the cached change-points of the series, by segment
    change_cache: dict[Hashable, CachedChanges] = request.cache.get(("changes", *key[:3]), dict)
    history = request.cache.get(
        ("history", *key),
        lambda: make_history(
            points,
            events,
            per_query,
            name=request.project.name,
            bridge=partial(split_break, storage),
            looked=change_cache,
        ),
    )
    return history, key


def read_history(request: WebRequest, points: list[Point]) -> History:
    """The history of one system's points, with change-points and without annotations."""
    return _make_history(request, points, [])[0]


def _draw_history(request: WebRequest, history: History) -> tuple[str, str]:
    """The drawing with links from points to records, and the remaining document."""
    drawing = trend_chart.draw_trend(
        history, lambda sha256: f"{request.config.base}{request.project_path('records', sha256)}"
    )
    document = history.document()
    sections = tuple(
        replace(section, blocks=tuple(block for block in section.blocks if not _is_on_page(block)))
        for section in document.sections
    )
    remaining_document = Document("", lead=(document.title,), sections=sections)
    return drawing, page_content(remaining_document)


def _list_steps(request: WebRequest, history: History) -> list[PageRow]:
    """The changes and breaks of a history, each with the page that compares both sides."""
    steps = [
        (*entry(row), row["system"], row["record"])
        for entry, table in ((change_entry, history.changes), (break_entry, history.breaks))
        for row in table.iter_rows(named=True)
    ]
    rows = history.series.select("system", "record", "sha256").rows()
    before_of = {
        (system, record): (previous_value, value)
        for (previous_system, _, previous_value), (system, record, value) in pairwise(rows)
        if previous_system == system
    }
    order = {record: number for number, (*_, record) in reversed([*enumerate(sorted(steps))])}
    return [
        {
            "anchor": f"change-{record}" if order[record] == number else "",
            "label": label,
            "lines": lines,
            "address": pair_address(
                request, *before_of[system, record], metric=history.metric, system=system
            ),
        }
        for number, (_, label, lines, system, record) in enumerate(sorted(steps))
    ]


def _is_on_page(block: Block) -> bool:
    """True if the page already shows a block: the drawing, or a table with links."""
    page_headings = ("Evaluations", "Annotations", "Changes and breaks")
    return isinstance(block, Chart) or (
        isinstance(block, Entries | Table) and block.heading.startswith(page_headings)
    )


def _requested_history(request: WebRequest) -> History:
    with request.store.read() as connection:
        points, events = _read_series(connection, request)
    return _make_history(request, points, events)[0]


@page("trend-svg", "/projects/{project}/trends.svg", VIEWING_ROLES, "Trend as SVG", _METRIC, *_SERIES)
def trend_svg(request: WebRequest) -> FileReply:
    """The drawing of a series as SVG."""
    return FileReply(_requested_history(request).plot().svg().encode(), "image/svg+xml")


@page("trend-png", "/projects/{project}/trends.png", VIEWING_ROLES, "Trend as PNG", _METRIC, *_SERIES)
def trend_png(request: WebRequest) -> FileReply:
    """The drawing of a series as PNG."""
    return FileReply(_requested_history(request).plot().png(), "image/png")
