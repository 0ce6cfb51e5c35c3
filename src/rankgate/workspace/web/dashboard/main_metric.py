"""The main metric of the overview: its choice, its chart, and the queries that moved most.

The project may name the metric; otherwise it is the first metric of the last gate or of the last
evaluation. The queries come from the last gate or comparison, or from two later evaluations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.chart_style import system_colour
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.gating.verdict import Verdict
from rankgate.store.material import queries_documents
from rankgate.store.records import alerts, records, series
from rankgate.store.records import record_notes as noted
from rankgate.workspace.records.history import find_differences, point_row, split_comparable
from rankgate.workspace.web.dashboard import trend_chart
from rankgate.workspace.web.dashboard.gate_outcomes import find_outcomes
from rankgate.workspace.web.dashboard.query_lists import PAIR_SIZE, list_systems
from rankgate.workspace.web.dashboard.recorded_results import (
    pair_address,
    query_address,
    read_query_values,
    read_result,
    record_address,
)
from rankgate.workspace.web.dashboard.trend_chart import TimelineMark
from rankgate.workspace.web.dashboard.trend_pages import find_earlier, find_level

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from rankgate.decisions.gating.verdict import RuleResult
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import WebRequest

    PointsBySeries = Mapping[tuple[str, str], Sequence[Point]]


_MAX_POINTS = 100
"""The number of latest evaluations in the chart."""

_MAX_NOTES = 8
"""The number of latest annotations marked in the chart."""

_MAX_ALERTS = 50
"""The number of latest alerts that may be marked in the chart."""

_MAX_QUERIES = 8
"""The number of listed queries that moved most."""

_SIZE = (640, 360)
"""The size of the chart."""


@dataclass(frozen=True)
class Decision:
    """The last gate or comparison.

    Attributes:
        record: the record.
        sentence: the sentence that the gate or comparison prints; may be empty.
        reason: the reason of the first rule that decided the gate; may be empty.
        metrics: the metrics of the gate's rules or of the comparison, in order.
        names: the names of baseline and candidate; empty if unknown.
        rules: the rules of a gate with their figures.
    """

    record: Record
    sentence: str = ""
    reason: str = ""
    metrics: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    rules: tuple[RuleResult, ...] = ()


def read_decision(request: WebRequest, record: Record) -> Decision:
    """The gate or comparison of a record; if its result is unknown, only the record."""
    result = read_result(request, record)
    if isinstance(result, Comparisons):
        return Decision(
            record, _sentence(result), metrics=result.only.names, names=list_systems(request, record)
        )
    if not isinstance(result, Verdict):
        return Decision(record)
    decisive = (
        (rule, outcome)
        for rule, outcome in ((row.rule, row.outcome) for row in result.rules)
        if rule.tier == "block" and outcome.status == result.verdict
    )
    reason = next((f"{rule.id}: {outcome.reason}." for rule, outcome in decisive), "")
    metrics = [row.rule.get("metric") for row in result.rules]
    named_metrics = tuple(dict.fromkeys(metric for metric in metrics if metric))
    return Decision(record, _sentence(result), reason, named_metrics, result.names, result.rules)


def _sentence(result: Verdict | Comparisons) -> str:
    return " ".join(str(text) for text in result.document().lead)


def choose_series(
    request: WebRequest, latest: Sequence[Record], decision: Decision | None, points_by_series: PointsBySeries
) -> tuple[str, str] | None:
    """The metric and system shown on the overview; None if there are no series.

    Args:
        request: the request of the page.
        latest: the latest records, newest first.
        decision: the last gate or comparison.
        points_by_series: the points of each series that is still evaluated, by metric and system.
    """
    metrics = sorted({metric for metric, _ in points_by_series})
    wanted_metrics = [
        request.project.settings.get("metric", ""),
        *(decision.metrics if decision else ()),
        *_last_evaluated_metrics(request, latest),
        *metrics,
    ]
    metric = next((name for name in wanted_metrics if name in metrics), None)
    if metric is None:
        return None
    decided_system = decision.record.system if decision else ""

    def rank(system: str) -> tuple[bool, int, datetime]:
        points = points_by_series[metric, system]
        return system == decided_system and len(points) > 1, len(points), points[-1].evaluated_at

    systems = [system for series_metric, system in points_by_series if series_metric == metric]
    return metric, max(systems, key=rank)


def _last_evaluated_metrics(request: WebRequest, latest: Sequence[Record]) -> list[str]:
    """The metrics of the last evaluation, in order."""
    for record in latest:
        if record.kind == "evaluation":
            values = read_query_values(request, record)
            metrics = values.metrics if values else record.summary.get("metrics")
            return [str(metric) for metric in metrics] if isinstance(metrics, list) else []
    return []


def read_points(connection: Connection, project: int, metric: str, system: str) -> list[Point]:
    """The latest points with a value in a series; for equal times, the point recorded last."""
    points = series.list_points(connection, project, metric, system=system)
    point_of_moment = {point.evaluated_at: point for point in points if point.value is not None}
    return list(point_of_moment.values())[-_MAX_POINTS:]


def draw_metric(connection: Connection, request: WebRequest, points: Sequence[Point]) -> str:
    """Draw a series with intervals, breaks, annotations and alerts; empty without points."""
    if not points:
        return ""
    segments = split_comparable(points)
    dots = [
        trend_chart.make_point(point_row(point, number), record_address(request, point), system_colour(0))
        for number, segment in enumerate(segments)
        for point in segment
    ]
    breaks = [
        TimelineMark(
            later_segment[0].evaluated_at,
            "break",
            f"other {', '.join(find_differences(segment[-1], later_segment[0]))}",
        )
        for segment, later_segment in pairwise(segments)
    ]
    last = points[-1]
    events = noted.list_annotations(
        connection, request.project.id, metric=last.metric, since=points[0].evaluated_at
    )
    notes = [TimelineMark(event.at, event.kind, event.text) for event in events[-_MAX_NOTES:]]
    marks = [*breaks, *notes, *_alert_marks(connection, request.project.id, points)]
    title = f"{last.metric} of {last.system} over time"
    return trend_chart.draw_points(dots, marks, title, _SIZE)


def _alert_marks(connection: Connection, project: int, points: Sequence[Point]) -> Iterator[TimelineMark]:
    """The marks of a series' alerts, each at the evaluation before the alert."""
    last = points[-1]
    for alert in alerts.list_alerts(connection, project, most=_MAX_ALERTS):
        if alert.metric != last.metric or alert.slice or alert.system not in {"", last.system}:
            continue
        earlier_points = [point for point in points if point.evaluated_at <= alert.first_at]
        if earlier_points:
            yield TimelineMark(earlier_points[-1].evaluated_at, "alert", f"alert: {alert.rule}")


@dataclass(frozen=True)
class MovedQuery:
    """A query with a changed value."""

    query_id: str
    baseline: float
    candidate: float
    delta: float
    text: str
    better: bool


@dataclass(frozen=True)
class QueryMoves:
    """The queries that moved most between two systems, or two evaluations of a system.

    Attributes:
        metric: the metric of the values.
        baseline, candidate: the names of the two sides; for two evaluations, their dates.
        record: the hash of the record with the values of the candidate.
        moved: the number of queries whose values differ.
        count: the number of queries with a value on both sides.
        queries: the queries, the largest loss first.
        addresses: the page of each query.
        comparison: the page that compares the two evaluations; empty for two systems of one record.
        status: the status of the gate's rule for the metric; empty if it is not known.
    """

    metric: str
    baseline: str
    candidate: str
    record: str
    moved: int
    count: int
    queries: tuple[MovedQuery, ...]
    addresses: Mapping[str, str]
    comparison: str = ""
    status: str = ""

    @property
    def data(self) -> PageRow:
        """The moves as JSON, without addresses of pages."""
        return {name: value for name, value in vars(self).items() if name not in {"addresses", "comparison"}}


def find_moves(
    connection: Connection, request: WebRequest, points: Sequence[Point], decision: Decision | None
) -> QueryMoves | None:
    """The queries that moved most in the last decision or evaluation, whichever is later.

    None if there are not two sides with values per query.
    """
    is_decided_last = decision is not None and (
        not points or decision.record.evaluated_at >= points[-1].evaluated_at
    )
    decided = None if decision is None else _decided_moves(connection, request, points, decision)
    if decided is not None and is_decided_last:
        return decided
    return _evaluated_moves(connection, request, points) or decided


def _evaluated_moves(
    connection: Connection, request: WebRequest, points: Sequence[Point]
) -> QueryMoves | None:
    """The moves between the last evaluation and an earlier comparable evaluation.

    If the level of the series changed, the earlier evaluation precedes this change.
    """
    baseline = find_earlier(points)
    if baseline is None:
        return None
    last, level = points[-1], find_level(points)
    outcome = None
    if level is not None and level.clear:
        outcome = find_outcomes(connection, request, (baseline, last), [last.metric]).get(last.metric)
    sides = [read_side_values(request, point, point.system, last.metric) for point in (baseline, last)]
    names = "", ""
    for time_format in ("%Y-%m-%d", "%H:%M", "%H:%M:%S"):
        if names[0] == names[1]:
            names = baseline.evaluated_at.strftime(time_format), last.evaluated_at.strftime(time_format)
    moves = _make_moves(connection, request, last, last.metric, sides, names, higher=last.higher_is_better)
    comparison = pair_address(request, baseline.sha256, last.sha256, metric=last.metric, system=last.system)
    return moves and replace(moves, comparison=comparison, status=outcome.status if outcome else "")


def _decided_moves(
    connection: Connection, request: WebRequest, points: Sequence[Point], decision: Decision
) -> QueryMoves | None:
    """The moves from the baseline to the candidate of the last gate or comparison."""
    record = decision.record
    names = decision.names
    values = read_query_values(request, record)
    if values is None or len(names) != PAIR_SIZE:
        return None
    wanted_metrics = [*(point.metric for point in points[-1:]), *decision.metrics]
    metric = next((name for name in wanted_metrics if name in values.metrics), None)
    if metric is None:
        return None
    figures = records.read_values(connection, record.id)
    higher = next((figure.higher_is_better for figure in figures if figure.metric == metric), True)
    sides = [read_side_values(request, record, name, metric) for name in names]
    moves = _make_moves(connection, request, record, metric, sides, (names[0], names[1]), higher=higher)
    statuses = [
        row.outcome.status
        for row in decision.rules
        if row.rule.get("metric") == metric and not row.rule.slice
    ]
    return moves and replace(moves, status=next(iter(statuses), ""))


def read_side_values(
    request: WebRequest, record: Record | Point, system: str, metric: str
) -> pl.DataFrame | None:
    """A system's values in a record: ``query_id`` and ``value``; None if there are none."""
    values = read_query_values(request, record)
    if values is None or metric not in values.metrics:
        return None
    system_rows = values.table.filter(pl.col("system") == system)
    return system_rows.select("query_id", pl.col(metric).alias("value")).drop_nulls()


def join_sides(baseline_values: pl.DataFrame, candidate_values: pl.DataFrame) -> pl.DataFrame:
    """The queries with a value on both sides: ``baseline``, ``candidate`` and ``delta``."""
    return baseline_values.join(candidate_values, on="query_id", suffix="_candidate").select(
        "query_id",
        baseline="value",
        candidate="value_candidate",
        delta=pl.col("value_candidate") - pl.col("value"),
    )


def _make_moves(
    connection: Connection,
    request: WebRequest,
    record: Record | Point,
    metric: str,
    sides: Sequence[pl.DataFrame | None],
    names: tuple[str, str],
    *,
    higher: bool,
) -> QueryMoves | None:
    baseline_values, candidate_values = sides
    if baseline_values is None or candidate_values is None:
        return None
    table = join_sides(baseline_values, candidate_values)
    moved = table.filter(pl.col("delta") != 0)
    if table.is_empty():
        return None
    rows = (
        moved.sort(pl.col("delta").abs(), "query_id", descending=[True, False])
        .head(_MAX_QUERIES)
        .sort("delta", "query_id", descending=[not higher, False])
        .to_dicts()
    )
    query_ids = [row["query_id"] for row in rows]
    texts = queries_documents.read_query_texts(connection, request.project.id, query_ids)
    return QueryMoves(
        metric,
        *names,
        record.sha256,
        len(moved),
        len(table),
        tuple(
            MovedQuery(**row, text=texts.get(row["query_id"], ""), better=(row["delta"] > 0) == higher)
            for row in rows
        ),
        {query: query_address(request, query, record, metric) for query in query_ids},
    )
