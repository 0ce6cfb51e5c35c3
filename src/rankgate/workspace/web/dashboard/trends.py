"""Trends: every series, and one over time with what changed it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, Entries, PlainRows, Table
from rankgate.core.present.pages.page import page_content
from rankgate.store.records import annotations as noted
from rankgate.store.records import records, series
from rankgate.store.rows import now
from rankgate.store.stored_project import StoredProject
from rankgate.workspace.records.bridge import split_break
from rankgate.workspace.records.follow import make_history
from rankgate.workspace.records.places.stored import StoreStorage
from rankgate.workspace.web.cache import Cache, ProjectCache
from rankgate.workspace.web.dashboard import trend_chart
from rankgate.workspace.web.dashboard.found import read_query_values
from rankgate.workspace.web.dashboard.lines import TrendLine
from rankgate.workspace.web.replies import FileReply, PageReply, not_found

if TYPE_CHECKING:
    from collections.abc import Hashable

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.document import Block
    from rankgate.store.records.annotations import Annotation
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.follow import CachedChanges
    from rankgate.workspace.records.history import History
    from rankgate.workspace.web.asked import WebRequest

_MAX_RECORDS = 60
"""The latest records that small lines show."""

_series_cache: ProjectCache[tuple[list[dict[str, Any]], list[TrendLine]]] = ProjectCache()
_HISTORIES: Cache[History] = Cache(64)
_CHANGE_CACHES: Cache[dict[Hashable, CachedChanges]] = Cache(64)
"""The change-points of each series, by its segments."""

_PAGES: Cache[tuple[str, str]] = Cache(64)


def trends_page(request: WebRequest) -> PageReply:
    """One series over time; all of them where none is named."""
    return _series_page(request) if request.values["metric"] else _all_series_page(request)


def _all_series_page(request: WebRequest) -> PageReply:
    """Every series with its last value and a small line."""
    with request.store.read() as connection:
        rows, lines = _series_cache.of_project(
            request, lambda: _series_rows(connection, request.project.id)
        )
        events = noted.list_annotations(connection, request.project.id)
    data = {
        "project": request.project.name,
        "series": rows,
        "annotations": _annotation_rows(events),
    }
    column_names = (
        "metric",
        "system",
        "slice",
        "points",
        "first_at",
        "last_at",
        "value",
        "n",
        "change",
    )
    sheet = PlainRows(
        column_names, [tuple(_cell_value(row[name]) for name in column_names) for row in rows]
    )
    return PageReply("trends.html", data, {"lines": lines, "now": now()}, rows=sheet)


def _series_rows(
    connection: Connection, project: int
) -> tuple[list[dict[str, Any]], list[TrendLine]]:
    """The figures of each series, and its line."""
    latest = records.list_records(connection, project, most=_MAX_RECORDS)
    since = latest[-1].evaluated_at if latest else None
    points_by_series: dict[tuple[str, str, str], list[Point]] = {}
    for point in series.list_points(connection, project, slice=None, since=since) if latest else []:
        points_by_series.setdefault((point.metric, point.system, point.slice), []).append(point)
    lines, rows = [], []
    for name in series.list_series(connection, project):
        series_points = points_by_series.get((name.metric, name.system, name.slice), [])
        line = TrendLine.of_series(name.metric, series_points)
        lines.append(line)
        rows.append(
            vars(name)
            | {
                "value": line.value,
                "n": line.n,
                "change": line.change,
                "against": line.level and line.level.value,
                "clear": bool(line.verdict),
                "higher_is_better": line.better,
            }
        )
    return rows, lines


def _cell_value(value: Any) -> str | float | None:
    return value if isinstance(value, str | float) or value is None else str(value)


def _annotation_rows(events: list[Annotation]) -> list[dict[str, Any]]:
    names = ("id", "at", "kind", "text", "metric", "revision", "actor")
    return [{name: getattr(annotation, name) for name in names} for annotation in events[::-1]]


def _series_page(request: WebRequest) -> PageReply:
    """A series: drawing, changes, breaks with their parts, annotations, evaluations."""
    with request.store.read() as connection:
        points, events = _read_series(connection, request)
        names = series.list_series(connection, request.project.id)
    history, key = _make_history(request, points, events)
    drawing, html = _PAGES.get((key, request.config.base), lambda: _draw_history(request, history))
    fields = request.values
    systems = sorted(
        {series_name.system for series_name in names if series_name.metric == history.metric}
    )
    slices = sorted(
        {series_name.slice for series_name in names if series_name.metric == history.metric}
    )
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
        "given": {name: fields[name] for name in ("metric", "system", "slice", "branch")},
        "rows": list(history.series.sort("at", descending=True).iter_rows(named=True)),
        "now": now(),
    }
    sheet = PlainRows(tuple(history.series.columns), history.series.rows())
    return PageReply("trend.html", data, extra, rows=sheet)


def _read_series(
    connection: Connection, request: WebRequest
) -> tuple[list[Point], list[Annotation]]:
    """The requested points, and the annotations.

    Raises:
        Refused: there are none.
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
    events = noted.list_annotations(
        connection, project, metric=fields["metric"], since=fields["since"]
    )
    return valued_points, events


def _make_history(
    request: WebRequest, points: list[Point], events: list[Annotation]
) -> tuple[History, tuple[Any, ...]]:
    """The history of points, and its key in the cache."""
    key = (
        request.store.name,
        request.project.id,
        points[0].metric,
        points[0].slice,
        tuple(point.record for point in points),
        tuple(point.system for point in points),
        tuple(event.id for event in events),
    )
    storage = StoreStorage(StoredProject(request.store, request.project.name, request.project.id))

    def per_query(point: Point) -> pl.DataFrame | None:
        values = read_query_values(request, point)
        return None if values is None else values.table

    history = _HISTORIES.get(
        key,
        lambda: make_history(
            points,
            events,
            per_query,
            name=request.project.name,
            bridge=partial(split_break, storage),
            looked=_CHANGE_CACHES.get(key[:4], dict),
        ),
    )
    return history, key


def _draw_history(request: WebRequest, history: History) -> tuple[str, str]:
    """The drawing whose points lead to records, and the rest of the document."""
    drawing = trend_chart.draw_trend(history, lambda sha256: _record_address(request, sha256))
    document = history.document()
    sections = tuple(
        replace(section, blocks=tuple(block for block in section.blocks if not _is_on_page(block)))
        for section in document.sections
    )
    remaining_document = Document("", lead=(document.title,), sections=sections)
    return drawing, page_content(remaining_document)


def _is_on_page(block: Block) -> bool:
    """True if the page itself shows a block: the drawing, and tables with links."""
    page_headings = ("Evaluations", "Annotations")
    return isinstance(block, Chart) or (
        isinstance(block, Entries | Table) and block.heading.startswith(page_headings)
    )


def _record_address(request: WebRequest, sha256: str) -> str:
    return f"{request.config.base}{request.at('records', sha256)}"


def _requested_history(request: WebRequest) -> History:
    with request.store.read() as connection:
        points, events = _read_series(connection, request)
    return _make_history(request, points, events)[0]


def trend_svg(request: WebRequest) -> FileReply:
    """The picture of a series as SVG."""
    return FileReply(_requested_history(request).plot().svg().encode(), "image/svg+xml")


def trend_png(request: WebRequest) -> FileReply:
    """The picture of a series as PNG."""
    return FileReply(_requested_history(request).plot().png(), "image/png")
