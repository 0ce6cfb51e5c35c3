"""The changes between two recorded evaluations: metrics, and values of each query.

The pair behind an alert is the pair at the last change-point of its series. Without a change-point,
it is the last evaluation before the level changed and the evaluation that fired the alert.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRIC
from rankgate.store.records import series
from rankgate.workspace.records.attribution import attribute_points
from rankgate.workspace.records.figures import mean_with_interval
from rankgate.workspace.records.history import find_differences
from rankgate.workspace.records.storages.store_storage import StoreStorage
from rankgate.workspace.web.dashboard.gate_outcomes import find_outcomes, shown_status
from rankgate.workspace.web.dashboard.main_metric import join_sides, read_side_values
from rankgate.workspace.web.dashboard.recorded_results import find_record
from rankgate.workspace.web.dashboard.trend_pages import find_level, read_history

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.records.alerts import Alert
    from rankgate.store.records.records import Record
    from rankgate.store.records.series import Point
    from rankgate.workspace.web.web_request import WebRequest


@dataclass(frozen=True)
class EvaluationPair:
    """Two recorded evaluations, with the figures that both have.

    Attributes:
        earlier, later: the records.
        points: the figures of both records by metric, the requested metric first.
    """

    earlier: Record
    later: Record
    points: Mapping[str, tuple[Point, Point]]

    @property
    def metric(self) -> str:
        """The requested metric."""
        return next(iter(self.points))

    @property
    def metric_points(self) -> tuple[Point, Point]:
        """The figures of the requested metric in both evaluations."""
        return self.points[self.metric]

    @property
    def subject(self) -> str:
        """The pair as a subject of comments."""
        return f"{self.earlier.sha256}..{self.later.sha256}"


@dataclass(frozen=True)
class MetricChange:
    """The change of a metric between two evaluations.

    Attributes:
        metric: the metric.
        before, after: the values of the metric.
        change: the mean difference over queries with a value in both evaluations; without values
            per query, the difference of the two values.
        low, high: the interval of the mean difference; None without values per query.
        n: the number of these queries.
        better: True for a gain, False for a loss; None if the interval contains 0 or is missing.
        status: the status in whose colour the change is shown; empty without a colour.
        reason: the sentence of the gate's rule; empty if its outcome is not known.
    """

    metric: str
    before: float
    after: float
    change: float
    low: float | None
    high: float | None
    n: int
    better: bool | None
    status: str = ""
    reason: str = ""


def read_pair(connection: Connection, request: WebRequest) -> EvaluationPair:
    """Read the evaluations, the metric and the system that a request names.

    Raises:
        Refused: the record does not exist in the project.
        UsageError: the evaluations share no metric.
    """
    fields = request.values
    earlier, later = (find_record(connection, request, fields[name]) for name in ("before", "after"))
    sides = [
        [
            point
            for point in series.list_points(connection, request.project.id, record=record.id)
            if point.value is not None
        ]
        for record in (earlier, later)
    ]
    systems = [
        _choose_system(points, other_points, fields["system"])
        for points, other_points in zip(sides, sides[::-1], strict=True)
    ]
    by_metric = [
        {point.metric: point for point in points if point.system == system}
        for points, system in zip(sides, systems, strict=True)
    ]
    shared_metrics = [metric for metric in by_metric[0] if metric in by_metric[1]]
    if not shared_metrics:
        raise UsageError(
            "the two evaluations have no metric that both have; choose others.", code="not-comparable"
        )
    wanted_metrics = (
        fields["metric"],
        request.project.settings.get("metric", ""),
        DEFAULT_METRIC,
        *shared_metrics,
    )
    metric = next(name for name in wanted_metrics if name in shared_metrics)
    order = dict.fromkeys((metric, *shared_metrics))
    points = {name: (by_metric[0][name], by_metric[1][name]) for name in order}
    return EvaluationPair(earlier, later, points)


def _choose_system(points: Sequence[Point], other_points: Sequence[Point], system_name: str | None) -> str:
    """The named system, or the last system of both records, or the last system."""
    systems = list(dict.fromkeys(point.system for point in points))
    other_systems = {point.system for point in other_points}
    shared_systems = [system for system in systems if system in other_systems]
    if system_name in systems:
        return str(system_name)
    return next(reversed(shared_systems or systems), "")


def find_alert_pair(connection: Connection, request: WebRequest, alert: Alert) -> tuple[Point, Point] | None:
    """The evaluations before and after the fall reported by an alert; None without a series."""
    if alert.metric is None:
        return None
    points = [
        point
        for point in series.list_points(
            connection, request.project.id, alert.metric, system=alert.system or None, slice=alert.slice
        )
        if point.value is not None
    ]
    last = next((point for point in points if point.record == alert.record), None)
    if last is None:
        return None
    points = [
        point for point in points if point.system == last.system and point.evaluated_at <= last.evaluated_at
    ]
    # the first evaluation of the fall that a rule reports at the last point
    kind = str(alert.evidence.get("kind", ""))
    level = find_level(points)
    changes = read_history(request, points).changes.filter(pl.col("gain") < 0)
    moments = [datetime.fromisoformat(time) for time in changes["at"].to_list()]
    if level is not None and level.clear and kind != "change":
        moments = [moment for moment in moments if moment >= level.since] or [level.since]
    elif kind == "relative":  # this rule compares with the evaluations just before
        moments = []
    begin = moments[-1] if moments else points[-1].evaluated_at
    earlier_points = [point for point in points if point.evaluated_at < begin]
    comparable = [point for point in earlier_points if not find_differences(point, last)]
    if not earlier_points:
        return None
    later = next(point for point in points if point.evaluated_at >= begin)
    return (comparable or earlier_points)[-1], later


def metric_changes(connection: Connection, request: WebRequest, pair: EvaluationPair) -> list[MetricChange]:
    """The change of each metric of both evaluations, the requested metric first."""
    changes = [_metric_change(request, *points) for points in pair.points.values()]
    clear_metrics = [change.metric for change in changes if change.better is not None]
    outcomes = find_outcomes(connection, request, pair.metric_points, clear_metrics)
    return [
        replace(
            change,
            status=shown_status(outcome, better=change.better),
            reason=outcome.reason if outcome else "",
        )
        for change in changes
        for outcome in [outcomes.get(change.metric)]
    ]


def _metric_change(request: WebRequest, earlier: Point, later: Point) -> MetricChange:
    assert earlier.value is not None
    assert later.value is not None
    table = query_changes(request, earlier, later)
    if table is None or table.is_empty():
        change = later.value - earlier.value
        return MetricChange(later.metric, earlier.value, later.value, change, None, None, 0, None)
    deltas = table["delta"].to_numpy().astype(np.float64)
    mean, low, high = mean_with_interval(deltas)
    assert mean is not None
    is_clear = low is not None and high is not None and not low <= 0 <= high
    return MetricChange(
        later.metric,
        earlier.value,
        later.value,
        mean,
        low,
        high,
        len(table),
        (mean > 0) == later.higher_is_better if is_clear else None,
    )


def query_changes(request: WebRequest, earlier: Point, later: Point) -> pl.DataFrame | None:
    """``baseline``, ``candidate`` and ``delta`` of each query in both; None without values."""
    sides = [read_side_values(request, point, point.system, point.metric) for point in (earlier, later)]
    if sides[0] is None or sides[1] is None:
        return None
    return join_sides(sides[0], sides[1])


def sort_worst_first(changes: pl.DataFrame, point: Point) -> pl.DataFrame:
    """The queries with a changed value from `query_changes`, the largest loss first."""
    sign = 1 if point.higher_is_better else -1
    return changes.filter(pl.col("delta") != 0).sort(pl.col("delta") * sign, "query_id")


_CAUSES = {
    "system": "the system",
    "ids": "the ids of documents",
    "corpus": "the corpus",
    "judge": "the judge",
    "judgments": "the judgments",
    "queries": "the queries",
    "convention": "the convention",
}


@dataclass(frozen=True)
class Causes:
    """The causes of a change between two evaluations.

    Attributes:
        answer: the main cause, as a sentence.
        rows: ``cause``, ``changed``, ``part`` and ``sentence`` of each cause.
        problem: the reason why the causes are unknown; empty if they are known.
    """

    answer: str
    rows: tuple[Mapping[str, str | float | None], ...] = ()
    problem: str = ""


def find_causes(request: WebRequest, pair: EvaluationPair) -> Causes:
    """The parts of a change due to system, judge, judgments and queries."""
    earlier, later = pair.metric_points
    key = f"causes {earlier.sha256} {later.sha256} {later.metric} {earlier.system} {later.system}"

    def make_value() -> Causes:
        storage = StoreStorage(request.stored_project)
        try:
            attribution = attribute_points(storage, earlier, later)
            rows = tuple(
                {
                    "cause": row["cause"],
                    "changed": row["changed"],
                    "part": row["part"],
                    "sentence": _cause_sentence(row["cause"], row["changed"], row["part"], row["evidence"]),
                }
                for row in attribution.parts.iter_rows(named=True)
            )
            answer = attribution.answer
            sentence = _ANSWERS.get(answer) or f"The change comes mostly from {_CAUSES[answer]}."
            return Causes(sentence, rows, " ".join(attribution.warnings))
        except RankgateError as error:
            return Causes("The cause is not known.", problem=str(error))

    return request.cached(key, make_value)


_ANSWERS = {
    "several": "The change has several causes.",
    "none": "The value did not change.",
    "unknown": "The cause is not known.",
}


def _cause_sentence(cause: str, changed: str, share: float | None, evidence: str) -> str:
    name = _CAUSES[cause].capitalize()
    verb = "is" if cause in {"system", "corpus", "judge", "convention"} else "are"
    reason = f" ({evidence})" if evidence else ""
    if changed == "no":
        return f"{name} looks the same{reason}." if evidence else f"{name} {verb} the same."
    if changed == "unknown" and share == 0:
        return f"Whether {_CAUSES[cause]} changed is not known: {evidence}."
    if share is None:
        return f"{name} may have changed{reason}; the part is not known."
    return f"{name} changed{reason}: {share:+.4f}."
