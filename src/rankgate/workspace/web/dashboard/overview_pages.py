"""The overview of a project, and the list of projects with their state.

The overview begins with urgent problems and the next step; then follow the chart of the metric, the
last verdict, the queries that moved most, other metrics, and the work of raters.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.store.blobs import stored_runs
from rankgate.store.records import alerts, record_search, records, series
from rankgate.store.records import record_notes as noted
from rankgate.store.records.record_search import RecordFilter
from rankgate.store.rows import now
from rankgate.workspace.web.dashboard.main_metric import (
    Decision,
    QueryMoves,
    choose_series,
    draw_metric,
    find_moves,
    read_decision,
    read_points,
)
from rankgate.workspace.web.dashboard.next_steps import choose_next_step, find_first_step, list_attention
from rankgate.workspace.web.dashboard.recorded_results import read_result, record_view
from rankgate.workspace.web.dashboard.trend_pages import TrendLine, with_outcomes
from rankgate.workspace.web.pages import project_pages
from rankgate.workspace.web.web_request import SIGNED_IN, VIEWING_ROLES, page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.replies import PageReply
    from rankgate.workspace.web.web_request import WebRequest


_MAX_TRENDS = 12
"""The largest number of series in the JSON of the overview."""

_MAX_LINES = 24
"""The largest number of further series on the overview."""

_MAX_RECORDS = 40
"""The number of latest records shown by lines on the overview."""

_MAX_LATEST = 8
"""The number of records, alerts and annotations on the overview."""


@dataclass(frozen=True)
class _LineGroup:
    """Small lines of series with the same kind of values, drawn on one scale.

    Attributes:
        name: the name of the kind of values.
        low, high: the values at the edges of every line.
        lines: the lines of the series.
    """

    name: str
    low: float
    high: float
    lines: tuple[TrendLine, ...]


@dataclass(frozen=True)
class _Quality:
    """The quality of a project, computed from its latest records.

    Attributes:
        data: the JSON of the page.
        decision: the last gate; without a gate, the last comparison.
        main: the line of the overview's metric; None without series.
        drawing: the chart of the metric.
        moves: the queries that moved most.
        groups: all other series.
        open_alerts: the unresolved alerts.
    """

    data: dict[str, Any]
    decision: Decision | None
    main: TrendLine | None
    drawing: str
    moves: QueryMoves | None
    groups: tuple[_LineGroup, ...]
    open_alerts: list[Alert]


@page("project", "/projects/{project}", VIEWING_ROLES, "Overview")
def overview_page(request: WebRequest) -> PageReply:
    """The overview page: urgent problems, the metric, the last verdict, queries, and rater work."""
    project_page = project_pages.project_overview(request)
    with request.store.read() as connection:
        metric = request.project.settings.get("metric", "")  # a new alert is shown at once
        quality = request.cached(f"quality {metric}", lambda: _read_quality(connection, request))
        judgment_state = quality.data["judgments"] or {}
        attention = list_attention(
            connection,
            request,
            quality.open_alerts,
            judgment_state.get("judged") or {},
            project_page.data["progress"]["disputed"],
        )
        step = (
            choose_next_step(connection, request, attention, quality.decision, quality.moves)
            if quality.data["records"]
            else find_first_step(connection, request, project_page.data)
        )
    steps = {"attention": [vars(item) for item in attention], "next_step": step and vars(step)}
    data = {**project_page.data, "quality": quality.data, **steps}
    extra = {
        "main": quality.main,
        "drawing": quality.drawing,
        "addresses": quality.moves.addresses if quality.moves else {},
        "comparison": quality.moves.comparison if quality.moves else "",
        "groups": quality.groups,
    }
    return replace(project_page, template="overview.html", data=data, extra=extra)


def _read_quality(connection: Connection, request: WebRequest) -> _Quality:
    project = request.project.id
    latest = records.list_records(connection, project, most=_MAX_LATEST)
    decision = _find_decision(connection, request)
    gate = decision if decision and decision.record.verdict else None
    open_alerts = [
        alert
        for state in ("open", "acknowledged")
        for alert in alerts.list_alerts(connection, project, state=state, most=_MAX_LATEST)
    ]
    points_by_series = _recent_points(connection, project)
    valued_series = {
        name: series_points
        for name, series_points in points_by_series.items()
        if any(point.value is not None for point in series_points)
    }
    main_series = choose_series(request, latest, decision, valued_series)
    points = read_points(connection, project, *main_series) if main_series else []
    lines = {
        name: _make_line(name, series_points, open_alerts) for name, series_points in points_by_series.items()
    }
    judged_lines = with_outcomes(
        connection, request, [(line, points_by_series[name]) for name, line in lines.items()]
    )
    lines = dict(zip(lines, judged_lines, strict=True))
    main = None
    if main_series:
        [main] = with_outcomes(connection, request, [(_make_line(main_series, points, open_alerts), points)])
    moves = find_moves(connection, request, points, decision)
    events = noted.list_annotations(connection, project)[-_MAX_LATEST:]
    data = {
        "records": records.count_records(connection, project),
        "latest": [record_view(record) for record in latest],
        "evaluated_at": latest[0].evaluated_at if latest else None,
        "days": None if not latest else (now() - latest[0].evaluated_at).days,
        "gate": None if gate is None else record_view(gate.record),
        "rules": [] if gate is None else [rule.to_dict() for rule in gate.rules],
        "decision": None
        if decision is None
        else record_view(decision.record) | {"sentence": decision.sentence, "reason": decision.reason},
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
        "metric": _metric_data(main, points),
        "moves": moves and moves.data,
        "trends": [_trend_data(line) for line in sorted(lines.values(), key=_line_order)[:_MAX_TRENDS]],
    }
    other_series = {
        name: series_points for name, series_points in points_by_series.items() if name != main_series
    }
    groups = _group_lines(other_series, lines, open_alerts)
    drawing = draw_metric(connection, request, points)
    return _Quality(data, decision, main, drawing, moves, groups, open_alerts)


def _find_decision(connection: Connection, request: WebRequest) -> Decision | None:
    """The last gate; without a gate, the last comparison."""
    project = request.project.id
    record = _last_gate(connection, project) or next(
        iter(records.list_records(connection, project, kind=Comparisons.kind, most=1)), None
    )
    return None if record is None else read_decision(request, record)


def _last_gate(connection: Connection, project: int) -> Record | None:
    """The latest record with a verdict."""
    return next(
        iter(record_search.find_records(connection, project, RecordFilter(judged=True), most=1)), None
    )


def _recent_points(connection: Connection, project: int) -> dict[tuple[str, str], list[Point]]:
    """The points of recently evaluated series, the longest series first."""
    latest = records.list_records(connection, project, most=_MAX_RECORDS)
    if not latest:
        return {}
    points = series.list_points(connection, project, since=latest[-1].evaluated_at)
    points_by_series: dict[tuple[str, str], list[Point]] = {}
    for point in points:
        points_by_series.setdefault((point.metric, point.system), []).append(point)
    order = sorted(
        points_by_series.items(), key=lambda named_points: (-len(named_points[1]), named_points[0])
    )
    month_ago = latest[0].evaluated_at - timedelta(days=30)
    recent_series = [
        named_points
        for named_points in order
        if len(named_points[1]) > 1 and named_points[1][-1].evaluated_at >= month_ago
    ]
    return dict(recent_series or order)


def _make_line(
    name: tuple[str, str],
    points: Sequence[Point],
    open_alerts: Sequence[Alert],
    scale: tuple[float, float] | None = None,
) -> TrendLine:
    metric, system = name
    alerted_series = {(alert.metric, alert.system) for alert in open_alerts}
    return TrendLine.of_series(
        f"{metric} of {system}" if system else metric,
        points,
        alert=not alerted_series.isdisjoint({(metric, system), (metric, "")}),
        scale=scale,
    )


def _line_order(line: TrendLine) -> tuple[bool, int]:
    """The sort key of lines: open alerts first, then losses, undecided changes, gains, and the rest."""
    return not line.alert, ("fail", "inconclusive", "pass", "").index(line.verdict)


_SHARES = "Metrics from 0 to 1"


def _group_lines(
    points_by_series: Mapping[tuple[str, str], Sequence[Point]],
    lines: Mapping[tuple[str, str], TrendLine],
    open_alerts: Sequence[Alert],
) -> tuple[_LineGroup, ...]:
    """The lines grouped by kind of values: shares from 0 to 1, or one metric."""
    names = sorted(points_by_series, key=lambda name: _line_order(lines[name]))[:_MAX_LINES]
    names_by_kind: dict[str, list[tuple[str, str]]] = {}
    values_by_kind: dict[str, list[float]] = {}
    for name in names:
        values = [point.value for point in points_by_series[name] if point.value is not None]
        if not values:
            continue
        is_share = min(values) >= 0 and max(values) <= 1
        kind = _SHARES if is_share else name[0].partition("@")[0]
        names_by_kind.setdefault(kind, []).append(name)
        values_by_kind.setdefault(kind, []).extend(values)
    groups = []
    for kind, kind_names in names_by_kind.items():
        scale = min(values_by_kind[kind]), max(values_by_kind[kind])
        scaled_lines = (
            replace(_make_line(name, points_by_series[name], open_alerts, scale), outcome=lines[name].outcome)
            for name in kind_names
        )
        groups.append(_LineGroup(kind, *scale, tuple(scaled_lines)))
    return tuple(groups)


def _trend_data(line: TrendLine) -> PageRow:
    return {
        "name": line.name,
        "value": line.value,
        "change": line.change,
        "n": line.n,
        "against": line.level and line.level.value,
        "clear": bool(line.verdict),
        "alert": line.alert,
    }


def _metric_data(main: TrendLine | None, points: Sequence[Point]) -> PageRow | None:
    """The metric of the overview, with its last value and interval."""
    if main is None or not points:
        return None
    last = points[-1]
    return _trend_data(main) | {
        "metric": last.metric,
        "system": last.system,
        "low": last.low,
        "high": last.high,
        "evaluated_at": last.evaluated_at,
        "record": last.sha256,
    }


def _judgment_state(connection: Connection, request: WebRequest, latest: list[Record]) -> PageRow | None:
    """The age of the latest judgments, and their coverage of the last run."""
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


def _run_coverage(request: WebRequest, record: Record) -> PageRow | None:
    """Shares of judged documents by depth, over all queries of the evaluated run.

    The record has the shares for queries with judgments; other queries have no judged documents.
    """
    if record.kind != "evaluation":
        return None
    result = read_result(request, record)
    runs = getattr(result, "runs", ())
    if not runs:
        return None
    counts = runs[-1].counts
    total = counts.queries + counts.unknown_queries
    judged = {
        str(k): share * counts.queries / total for k, share in counts.judged_at.items() if share is not None
    }
    return {"judged": judged, "queries": total, "judged_queries": counts.queries} if judged else None


_HIDDEN_FROM_RATERS = dict.fromkeys(("verdict", "gated_at", "evaluated_at", "records", "alerts"))
"""The fields of a project that are hidden from raters."""


@page("projects", "/projects", SIGNED_IN, "Projects", scope="read")
@page("home", "/", SIGNED_IN, "Projects")
def projects_page(request: WebRequest) -> PageReply:
    """The page of the user's projects, each with its last verdict and open alerts."""
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


def _project_state(connection: Connection, project: int) -> PageRow:
    latest = next(iter(records.list_records(connection, project, most=1)), None)
    gate = _last_gate(connection, project)
    return {
        "verdict": gate.verdict if gate else None,
        "gated_at": gate.evaluated_at if gate else None,
        "evaluated_at": latest.evaluated_at if latest else None,
        "records": records.count_records(connection, project),
        "alerts": len(alerts.list_alerts(connection, project, state="open")),
    }
