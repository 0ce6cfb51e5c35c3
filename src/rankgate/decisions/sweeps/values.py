"""Values of all points on the same queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.sweeps.sweep import Value
from rankgate.measurement.stats.clusters import Units
from rankgate.measurement.stats.interval import guarded_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.sweeps.measure import Measured

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ValueTable:
    """Values of the points with figures, on the same queries.

    Attributes:
        values: by metric ``(n, P)``.
        left_out: judged queries that no point has.
        substituted: queries without a value at some points.
        clustered: queries that are fewer clusters; 0 where each query is its own.
        problem: why clusters of these sizes decide nothing; empty where they do.
    """

    values: dict[str, Floats]
    left_out: int
    substituted: int
    clustered: int = 0
    problem: str = ""


def aligned(
    good: Sequence[Measured],
    labels: Sequence[str],
    lower: Sequence[str],
    clusters: Mapping[str, str] | None = None,
) -> ValueTable:
    """Values of all points on the queries that at least one of them was asked, or their clusters.

    Args:
        good: points with values.
        labels: of the metrics.
        lower: metrics that are better when lower.
        clusters: of queries, by id.
    """
    found: dict[str, Floats] = {}
    if not good:
        return ValueTable({label: np.empty((0, 0)) for label in labels}, 0, 0)
    wide = [each.scores.pivot("metric", index="query_id", values="value") for each in good]  # type: ignore[union-attr]
    ids = pl.concat([frame["query_id"] for frame in wide]).unique().sort()
    absent = np.column_stack([_absent(each, ids) for each in good])
    asked = ~absent.all(axis=1)
    frame = pl.DataFrame({"query_id": ids})
    joined = [frame.join(each, "query_id", how="left", maintain_order="left") for each in wide]
    substituted, clustered, problem = 0, 0, ""
    for label in labels:
        values = np.column_stack([each[label].to_numpy() for each in joined]).astype(float)
        unknown = np.isnan(values)
        kept = asked & ~unknown.all(axis=1)
        some = kept & unknown.any(axis=1)
        if label in lower:
            kept &= ~some
        found[label] = np.where(unknown, 0.0, values)[kept]
        units = Units.of(ids.filter(pl.Series(kept)).to_list(), clusters or {})
        if len(units.first) < len(found[label]):
            clustered = max(clustered, len(found[label]))
            problem = problem or (units.problem(found[label][:, 0]) or ("", ""))[1]
            found[label] = units.values(found[label])
        substituted = max(substituted, int(some.sum()))
    return ValueTable(found, int((~asked).sum()), substituted, clustered, problem)


def _absent(measured: Measured, ids: pl.Series) -> NDArray[np.bool_]:
    """Whether the run of a point lacks each query."""
    assert measured.scores is not None
    missing = measured.scores.filter(pl.col("why") == "missing")["query_id"]
    return ids.is_in(missing.implode()).to_numpy()


def value_of(values: Floats, level: float) -> Value:
    """The mean of a column with its interval."""
    mean = float(values.mean()) if len(values) else float("nan")
    if len(values) < 3 or not np.ptp(values):
        return Value(mean, None, None)
    found = guarded_interval(values, level)
    return Value(mean, float(found.low[0]), float(found.high[0]))
