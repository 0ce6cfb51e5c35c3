"""The overview of a project, verdict first, and the list of projects with their state."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.store.blobs import stored_runs
from rankgate.store.records import alerts, record_search, records, series
from rankgate.store.records import record_notes as noted
from rankgate.store.records.record_search import RecordFilter
from rankgate.store.rows import now
from rankgate.workspace.web.dashboard.recorded_results import kind_label, read_result, record_view
from rankgate.workspace.web.dashboard.trend_pages import TrendLine
from rankgate.workspace.web.pages import project_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.replies import PageReply
    from rankgate.workspace.web.web_request import WebRequest


_MAX_LINES = 12
"""Trends on the overview."""

_MAX_RECORDS = 40
"""The latest records that trends on the overview show."""

_MAX_LATEST = 8
"""Records, alerts and annotations on the overview."""


def overview_page(request: WebRequest) -> PageReply:
    """The last gate with its rules, trends, alerts, judgments; then the work of raters."""
    project_page = project_pages.project_overview(request)
    with request.store.read() as connection:
        quality = request.cached("quality", lambda: _quality_data(connection, request))
    summary = {name: section for name, section in quality.items() if name != "lines"}
    trends = [
        {
            "name": line.name,
            "value": line.value,
            "change": line.change,
            "n": line.n,
            "against": line.level and line.level.value,
            "clear": bool(line.verdict),
            "alert": line.alert,
        }
        for line in quality["lines"]
    ]
    data = {**project_page.data, "quality": summary | {"trends": trends}}
    extra = {"lines": quality["lines"], "kind_word": kind_label}
    return replace(project_page, template="overview.html", data=data, extra=extra)


def _quality_data(connection: Connection, request: WebRequest) -> dict[str, Any]:
    project = request.project.id
    latest = records.list_records(connection, project, most=_MAX_LATEST)
    gate = next(iter(_list_gates(connection, project, most=1)), None)
    open_alerts = [
        alert
        for state in ("open", "acknowledged")
        for alert in alerts.list_alerts(connection, project, state=state, most=_MAX_LATEST)
    ]
    events = noted.list_annotations(connection, project)[-_MAX_LATEST:]
    return {
        "records": records.count_records(connection, project),
        "latest": [record_view(record) for record in latest],
        "evaluated_at": latest[0].evaluated_at if latest else None,
        "days": None if not latest else (now() - latest[0].evaluated_at).days,
        "gate": None if gate is None else record_view(gate),
        "rules": [] if gate is None else _rule_rows(request, gate),
        "alerts": [
            {
                "id": alert.id,
                "rule": alert.rule,
                "message": alert.message,
                "state": alert.state,
                "count": alert.count,
                "first_at": alert.first_at,
                "last_at": alert.last_at,
            }
            for alert in open_alerts
        ],
        "annotations": [
            {
                "at": annotation.at,
                "kind": annotation.kind,
                "text": annotation.text,
                "metric": annotation.metric,
            }
            for annotation in events[::-1]
        ],
        "judgments": _judgment_state(connection, request, latest),
        "lines": _trend_lines(connection, project, open_alerts),
    }


def _list_gates(connection: Connection, project: int, *, most: int) -> list[Record]:
    """The latest records with a verdict."""
    return record_search.find_records(connection, project, RecordFilter(judged=True), most=most)


def _rule_rows(request: WebRequest, gate: Record) -> list[dict[str, Any]]:
    """The rules of a verdict, each with its figures."""
    result: Any = read_result(request, gate)
    rules = getattr(result, "rules", ())
    return [rule.to_dict() for rule in rules if hasattr(rule, "to_dict")]


def _trend_lines(
    connection: Connection, project: int, open_alerts: Sequence[Alert]
) -> list[TrendLine]:
    """Small lines of the series that are still evaluated: open alerts, losses, gains, others."""
    latest = records.list_records(connection, project, most=_MAX_RECORDS)
    if not latest:
        return []
    points = series.list_points(connection, project, since=latest[-1].evaluated_at)
    points_by_name: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        points_by_name.setdefault((point.metric, point.system), []).append(point)
    order = sorted(
        points_by_name.items(), key=lambda named_points: (-len(named_points[1]), named_points[0])
    )
    month_ago = latest[0].evaluated_at - timedelta(days=30)
    recent_series = [
        named_points
        for named_points in order
        if len(named_points[1]) > 1 and named_points[1][-1].evaluated_at >= month_ago
    ]
    alerted_series = {(alert.metric, alert.system) for alert in open_alerts}
    lines = [
        TrendLine.of_series(
            f"{metric} of {system}" if system else metric,
            series_points,
            alert=not alerted_series.isdisjoint({(metric, system), (metric, "")}),
        )
        for (metric, system), series_points in recent_series or order
    ]
    first = ("fail", "pass", "")
    return sorted(lines, key=lambda line: (not line.alert, first.index(line.verdict)))[:_MAX_LINES]


def _judgment_state(
    connection: Connection, request: WebRequest, latest: list[Record]
) -> dict[str, Any] | None:
    """The age of the latest judgments, and the share that they cover of the last run."""
    stored_judgments = stored_runs.list_judgments(connection, request.project.id)
    newest = stored_judgments[-1] if stored_judgments else None
    coverage = next(
        (
            coverage_row
            for coverage_row in (_run_coverage(request, record) for record in latest)
            if coverage_row
        ),
        None,
    )
    if newest is None and coverage is None:
        return None
    return {
        "name": newest.name if newest else None,
        "rows": newest.rows if newest else None,
        "created_at": newest.created_at if newest else None,
        "days": (now() - newest.created_at).days if newest else None,
        **(coverage or {"judged": None, "queries": None, "judged_queries": None}),
    }


def _run_coverage(request: WebRequest, record: Record) -> dict[str, Any] | None:
    """Shares of judged documents by depth, over all queries of the run that was evaluated.

    The record has the shares of the queries with judgments; in others no document is judged.
    """
    if record.kind != "evaluation":
        return None
    result: Any = read_result(request, record)
    runs = getattr(result, "runs", ())
    if not runs:
        return None
    counts = runs[-1].counts
    total = counts.queries + counts.unknown_queries
    judged = {
        str(k): share * counts.queries / total
        for k, share in counts.judged_at.items()
        if share is not None
    }
    return (
        {"judged": judged, "queries": total, "judged_queries": counts.queries} if judged else None
    )


_HIDDEN_FROM_RATERS = dict.fromkeys(("verdict", "gated_at", "evaluated_at", "records", "alerts"))
"""The fields of a project that raters do not see."""


def projects_page(request: WebRequest) -> PageReply:
    """The projects of the user, each with its last verdict and its open alerts."""
    list_page = project_pages.list_projects(request)
    with request.store.read() as connection:
        rows = [
            project
            | (
                _project_state(connection, project["id"])
                if project["role"] != "rater"
                else _HIDDEN_FROM_RATERS
            )
            for project in list_page.data["projects"]
        ]
    return replace(list_page, data={**list_page.data, "projects": rows})


def _project_state(connection: Connection, project: int) -> dict[str, Any]:
    latest = next(iter(records.list_records(connection, project, most=1)), None)
    gate = next(iter(_list_gates(connection, project, most=1)), None)
    return {
        "verdict": gate.verdict if gate else None,
        "gated_at": gate.evaluated_at if gate else None,
        "evaluated_at": latest.evaluated_at if latest else None,
        "records": records.count_records(connection, project),
        "alerts": len(alerts.list_alerts(connection, project, state="open")),
    }
