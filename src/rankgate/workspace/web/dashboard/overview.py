"""The overview of a project, verdict first, and the list of projects with their state."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.store.kept import judgments
from rankgate.store.records import alerts, records, search, series
from rankgate.store.records import annotations as noted
from rankgate.store.records.search import RecordFilter
from rankgate.store.rows import now
from rankgate.workspace.web.cache import ProjectCache
from rankgate.workspace.web.dashboard.found import kind_word, result_of, view
from rankgate.workspace.web.dashboard.lines import Line
from rankgate.workspace.web.pages import projects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.asked import Asked
    from rankgate.workspace.web.replies import Page

_LINES = 12
"""Trends on the overview."""

_POINTS = 40
"""The latest records that trends on the overview show."""

_LATEST = 8
"""Records, alerts and annotations on the overview."""

_fresh: ProjectCache[dict[str, Any]] = ProjectCache()


def page(asked: Asked) -> Page:
    """The last gate with its rules, trends, alerts, judgments; then the work of raters."""
    found = projects.overview(asked)
    with asked.store.read() as connection:
        quality = _fresh.of_project(asked, lambda: _quality(connection, asked))
    plain = {name: each for name, each in quality.items() if name != "lines"}
    trends = [{"name": e.name, "value": e.value, "change": e.change,
               "n": e.n, "against": e.level and e.level.value, "clear": bool(e.verdict),
               "alert": e.alert}
              for e in quality["lines"]]  # fmt: skip
    data = {**found.data, "quality": plain | {"trends": trends}}
    extra = {"lines": quality["lines"], "kind_word": kind_word}
    return replace(found, template="overview.html", data=data, extra=extra)


def _quality(connection: Connection, asked: Asked) -> dict[str, Any]:
    project = asked.project.id
    latest = records.listed(connection, project, most=_LATEST)
    gate = next(iter(_gates(connection, project, most=1)), None)
    open_alerts = [
        each for state in ("open", "acknowledged")
        for each in alerts.listed(connection, project, state=state, most=_LATEST)
    ]  # fmt: skip
    events = noted.listed(connection, project)[-_LATEST:]
    return {
        "records": records.count(connection, project),
        "latest": [view(each) for each in latest],
        "evaluated_at": latest[0].evaluated_at if latest else None,
        "days": None if not latest else (now() - latest[0].evaluated_at).days,
        "gate": None if gate is None else view(gate),
        "rules": [] if gate is None else _rules(asked, gate),
        "alerts": [
            {"id": e.id, "rule": e.rule, "message": e.message, "state": e.state, "count": e.count,
             "first_at": e.first_at, "last_at": e.last_at} for e in open_alerts
        ],
        "annotations": [
            {"at": e.at, "kind": e.kind, "text": e.text, "metric": e.metric} for e in events[::-1]
        ],
        "judgments": _judgments(connection, asked, latest),
        "lines": _trends(connection, project, open_alerts),
    }  # fmt: skip


def _gates(connection: Connection, project: int, *, most: int) -> list[Record]:
    """The latest records with a verdict."""
    return search.found(connection, project, RecordFilter(judged=True), most=most)


def _rules(asked: Asked, gate: Record) -> list[dict[str, Any]]:
    """Each rule of a verdict with its figures."""
    result: Any = result_of(asked, gate)
    rules = getattr(result, "rules", ())
    return [each.to_dict() for each in rules if hasattr(each, "to_dict")]


def _trends(connection: Connection, project: int, open_alerts: Sequence[Alert]) -> list[Line]:
    """Small lines of the series that are still evaluated: open alerts, losses, gains, the rest."""
    latest = records.listed(connection, project, most=_POINTS)
    if not latest:
        return []
    points = series.points(connection, project, since=latest[-1].evaluated_at)
    by_name: dict[tuple[str, str], list[Point]] = {}
    for each in points:
        by_name.setdefault((each.metric, each.system), []).append(each)
    order = sorted(by_name.items(), key=lambda item: (-len(item[1]), item[0]))
    month = latest[0].evaluated_at - timedelta(days=30)
    moving = [item for item in order if len(item[1]) > 1 and item[1][-1].evaluated_at >= month]
    alarmed = {(each.metric, each.system) for each in open_alerts}
    lines = [
        Line.of_series(f"{metric} of {system}" if system else metric, some,
                       alert=not alarmed.isdisjoint({(metric, system), (metric, "")}))
        for (metric, system), some in moving or order
    ]  # fmt: skip
    first = ("fail", "pass", "")
    return sorted(lines, key=lambda each: (not each.alert, first.index(each.verdict)))[:_LINES]


def _judgments(connection: Connection, asked: Asked, latest: list[Record]) -> dict[str, Any] | None:
    """The age of the latest judgments, and the share that they cover of the last run."""
    found = judgments.listed(connection, asked.project.id)
    newest = found[-1] if found else None
    coverage = next((each for each in (_coverage(asked, one) for one in latest) if each), None)
    if newest is None and coverage is None:
        return None
    return {
        "name": newest.name if newest else None,
        "rows": newest.rows if newest else None,
        "created_at": newest.created_at if newest else None,
        "days": (now() - newest.created_at).days if newest else None,
        **(coverage or {"judged": None, "queries": None, "judged_queries": None}),
    }


def _coverage(asked: Asked, record: Record) -> dict[str, Any] | None:
    """Shares of judged documents by depth, over all queries of the run that was evaluated.

    The record has the shares of the queries with judgments; in others no document is judged.
    """
    if record.kind != "evaluation":
        return None
    result: Any = result_of(asked, record)
    runs = getattr(result, "runs", ())
    if not runs:
        return None
    counts = runs[-1].counts
    total = counts.queries + counts.unknown_queries
    judged = {
        str(k): share * counts.queries / total
        for k, share in counts.judged_at.items() if share is not None
    }  # fmt: skip
    return (
        {"judged": judged, "queries": total, "judged_queries": counts.queries} if judged else None
    )


_UNSEEN = dict.fromkeys(("verdict", "gated_at", "evaluated_at", "records", "alerts"))
"""What raters do not see of a project."""


def listed(asked: Asked) -> Page:
    """The projects of the user, each with its last verdict and its open alerts."""
    found = projects.listed(asked)
    with asked.store.read() as connection:
        rows = [
            each | (_state(connection, each["id"]) if each["role"] != "rater" else _UNSEEN)
            for each in found.data["projects"]
        ]
    return replace(found, data={**found.data, "projects": rows})


def _state(connection: Connection, project: int) -> dict[str, Any]:
    latest = next(iter(records.listed(connection, project, most=1)), None)
    gate = next(iter(_gates(connection, project, most=1)), None)
    return {
        "verdict": gate.verdict if gate else None,
        "gated_at": gate.evaluated_at if gate else None,
        "evaluated_at": latest.evaluated_at if latest else None,
        "records": records.count(connection, project),
        "alerts": len(alerts.listed(connection, project, state="open")),
    }
