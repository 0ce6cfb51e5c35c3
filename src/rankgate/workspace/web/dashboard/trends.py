"""Trends: every series, and one over time with what changed it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, Entries, PlainRows, Table
from rankgate.core.present.pages.page import content
from rankgate.store.records import annotations as noted
from rankgate.store.records import records, series
from rankgate.store.rows import now
from rankgate.store.stored_project import StoredProject
from rankgate.workspace.records.bridge import parts_of
from rankgate.workspace.records.follow import history_of
from rankgate.workspace.records.places.stored import Stored
from rankgate.workspace.web.cache import Cache, ProjectCache
from rankgate.workspace.web.dashboard import trend_chart
from rankgate.workspace.web.dashboard.found import values_of
from rankgate.workspace.web.dashboard.lines import Line
from rankgate.workspace.web.replies import Page, Sent, not_found

if TYPE_CHECKING:
    from collections.abc import Hashable

    import polars as pl
    from sqlalchemy import Connection

    from rankgate.core.present.document import Block
    from rankgate.store.records.annotations import Annotation
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.follow import Looked
    from rankgate.workspace.records.history import History
    from rankgate.workspace.web.asked import Asked

_POINTS = 60
"""The latest records that small lines show."""

_fresh: ProjectCache[tuple[list[dict[str, Any]], list[Line]]] = ProjectCache()
_HISTORIES: Cache[History] = Cache(64)
_LOOKED: Cache[dict[Hashable, Looked]] = Cache(64)
"""The change-points of each series, by its stretches."""

_PAGES: Cache[tuple[str, str]] = Cache(64)


def page(asked: Asked) -> Page:
    """One series over time; all of them where none is named."""
    return _one(asked) if asked.values["metric"] else _all(asked)


def _all(asked: Asked) -> Page:
    """Every series with its last value and a small line."""
    with asked.store.read() as connection:
        rows, lines = _fresh.of_project(asked, lambda: _series(connection, asked.project.id))
        events = noted.listed(connection, asked.project.id)
    data = {"project": asked.project.name, "series": rows, "annotations": _noted(events)}
    head = ("metric", "system", "slice", "points", "first_at", "last_at", "value", "n", "change")
    sheet = PlainRows(head, [tuple(_cell(row[name]) for name in head) for row in rows])
    return Page("trends.html", data, {"lines": lines, "now": now()}, rows=sheet)


def _series(connection: Connection, project: int) -> tuple[list[dict[str, Any]], list[Line]]:
    """What is shown of each series, and its line."""
    latest = records.listed(connection, project, most=_POINTS)
    since = latest[-1].evaluated_at if latest else None
    own: dict[tuple[str, str, str], list[Point]] = {}
    for each in series.points(connection, project, slice=None, since=since) if latest else []:
        own.setdefault((each.metric, each.system, each.slice), []).append(each)
    lines, rows = [], []
    for name in series.names(connection, project):
        some = own.get((name.metric, name.system, name.slice), [])
        line = Line.of_series(name.metric, some)
        lines.append(line)
        rows.append(vars(name) | {
            "value": line.value, "n": line.n, "change": line.change,
            "against": line.level and line.level.value, "clear": bool(line.verdict),
            "higher_is_better": line.better,
        })  # fmt: skip
    return rows, lines


def _cell(value: Any) -> str | float | None:
    return value if isinstance(value, str | float) or value is None else str(value)


def _noted(events: list[Annotation]) -> list[dict[str, Any]]:
    names = ("id", "at", "kind", "text", "metric", "revision", "actor")
    return [{name: getattr(each, name) for name in names} for each in events[::-1]]


def _one(asked: Asked) -> Page:
    """A series: drawing, changes, breaks with their parts, annotations, evaluations."""
    with asked.store.read() as connection:
        points, events = _found(connection, asked)
        names = series.names(connection, asked.project.id)
    history, key = _history(asked, points, events)
    drawing, html = _PAGES.get((key, asked.config.base), lambda: _drawn(asked, history))
    given = asked.values
    systems = sorted({each.system for each in names if each.metric == history.metric})
    slices = sorted({each.slice for each in names if each.metric == history.metric})
    data = {
        "project": asked.project.name,
        "history": history.to_dict(),
        "annotations": _noted(events),
        "systems": systems,
        "slices": slices,
    }
    extra = {
        "drawing": drawing,
        "document": html,
        "colours": trend_chart.colours(history),
        "given": {name: given[name] for name in ("metric", "system", "slice", "branch")},
        "rows": list(history.series.sort("at", descending=True).iter_rows(named=True)),
        "now": now(),
    }
    sheet = PlainRows(tuple(history.series.columns), history.series.rows())
    return Page("trend.html", data, extra, rows=sheet)


def _found(connection: Connection, asked: Asked) -> tuple[list[Point], list[Annotation]]:
    """The points that are asked for, and what happened.

    Raises:
        Refused: there are none.
    """
    given, project = asked.values, asked.project.id
    points = series.points(
        connection, project, given["metric"], system=given["system"],
        slice=given["slice"] or "", branch=given["branch"], since=given["since"],
    )  # fmt: skip
    known = [each for each in points if each.value is not None]
    if not known:
        raise not_found("series")
    events = noted.listed(connection, project, metric=given["metric"], since=given["since"])
    return known, events


def _history(
    asked: Asked, points: list[Point], events: list[Annotation]
) -> tuple[History, tuple[Any, ...]]:
    """The history of points, and what it is kept by."""
    key = (asked.store.name, asked.project.id, points[0].metric, points[0].slice,
           tuple(each.record for each in points), tuple(each.system for each in points),
           tuple(each.id for each in events))  # fmt: skip
    place = Stored(StoredProject(asked.store, asked.project.name, asked.project.id))

    def per_query(point: Point) -> pl.DataFrame | None:
        values = values_of(asked, point)
        return None if values is None else values.table

    found = _HISTORIES.get(
        key,
        lambda: history_of(
            points,
            events,
            per_query,
            name=asked.project.name,
            bridge=partial(parts_of, place),
            looked=_LOOKED.get(key[:4], dict),
        ),
    )
    return found, key


def _drawn(asked: Asked, history: History) -> tuple[str, str]:
    """The drawing whose points lead to records, and the rest of the document."""
    drawing = trend_chart.draw(history, lambda sha256: _place(asked, sha256))
    document = history.document()
    sections = tuple(
        replace(each, blocks=tuple(block for block in each.blocks if not _shown(block)))
        for each in document.sections
    )
    rest = Document("", lead=(document.title,), sections=sections)
    return drawing, content(rest)


def _shown(block: Block) -> bool:
    """Whether the page has a part as its own: the drawing, and tables with links."""
    own = ("Evaluations", "Annotations")
    return isinstance(block, Chart) or (
        isinstance(block, Entries | Table) and block.heading.startswith(own)
    )


def _place(asked: Asked, sha256: str) -> str:
    return f"{asked.config.base}{asked.at('records', sha256)}"


def _asked_history(asked: Asked) -> History:
    with asked.store.read() as connection:
        points, events = _found(connection, asked)
    return _history(asked, points, events)[0]


def svg(asked: Asked) -> Sent:
    """The picture of a series as SVG."""
    return Sent(_asked_history(asked).plot().svg().encode(), "image/svg+xml")


def png(asked: Asked) -> Sent:
    """The picture of a series as PNG."""
    return Sent(_asked_history(asked).plot().png(), "image/png")
