"""Values of all points on the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.sweep import Value
from rankgate.measurement.stats.clusters import QueryClusters
from rankgate.measurement.stats.interval import guarded_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.sweeps.measure import MeasuredPoint

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ValueTable:
    """Values of the points with figures, on the same queries.

    Attributes:
        values: by metric ``(n, P)``.
        left_out: judged queries that no point has.
        substituted: queries without a value at some points.
        clustered: queries that are fewer clusters; 0 where each query is its own.
        problem: the reason why clusters of these sizes decide nothing; empty where they do.
    """

    values: dict[str, Floats]
    left_out: int
    substituted: int
    clustered: int = 0
    problem: str = ""


def align_values(
    points: Sequence[MeasuredPoint],
    labels: Sequence[str],
    lower: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> ValueTable:
    """Values of all points on the queries that at least one of them has, or on their clusters.

    Args:
        points: points with values.
        labels: of the metrics.
        lower: metrics that are better when lower.
        clusters: of queries, by id.
    """
    values_by_metric: dict[str, Floats] = {}
    if not points:
        return ValueTable({label: np.empty((0, 0)) for label in labels}, 0, 0)
    wide_scores = [
        point.scores.pivot("metric", index="query_id", values="value")  # type: ignore[union-attr]
        for point in points
    ]
    ids = pl.concat([frame["query_id"] for frame in wide_scores]).unique().sort()
    absent = np.column_stack([_is_missing(point, ids) for point in points])
    is_present = ~absent.all(axis=1)
    frame = pl.DataFrame({"query_id": ids})
    joined = [
        frame.join(scores, "query_id", how="left", maintain_order="left") for scores in wide_scores
    ]
    substituted, clustered, problem = 0, 0, ""
    for label in labels:
        values = np.column_stack(
            [joined_scores[label].to_numpy() for joined_scores in joined]
        ).astype(float)
        is_unknown = np.isnan(values)
        is_kept = is_present & ~is_unknown.all(axis=1)
        is_partial = is_kept & is_unknown.any(axis=1)
        if label in lower:
            is_kept &= ~is_partial
        values_by_metric[label] = np.where(is_unknown, 0.0, values)[is_kept]
        units = QueryClusters.of(ids.filter(pl.Series(is_kept)).to_list(), clusters or {})
        if len(units.first) < len(values_by_metric[label]):
            clustered = max(clustered, len(values_by_metric[label]))
            problem = problem or (units.problem(values_by_metric[label][:, 0]) or ("", ""))[1]
            values_by_metric[label] = units.values(values_by_metric[label])
        substituted = max(substituted, int(is_partial.sum()))
    return ValueTable(values_by_metric, int((~is_present).sum()), substituted, clustered, problem)


def _is_missing(measured: MeasuredPoint, ids: pl.Series) -> NDArray[np.bool_]:
    """(Q,) True for queries that the run of a point lacks."""
    assert measured.scores is not None
    missing = measured.scores.filter(pl.col("why") == "missing")["query_id"]
    return ids.is_in(missing.implode()).to_numpy()


def mean_value(values: Floats, level: float) -> Value:
    """The mean of a column with its interval."""
    mean = float(values.mean()) if len(values) else float("nan")
    if len(values) < 3 or not np.ptp(values):
        return Value(mean, None, None)
    interval = guarded_interval(values, level)
    return Value(mean, float(interval.low[0]), float(interval.high[0]))
