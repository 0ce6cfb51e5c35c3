"""The figures of a result, as they are recorded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.digest import hash_table
from rankgate.store.records.new_record import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEYS = ("system", "query_id")


@dataclass(frozen=True)
class Figures:
    """The figures of a result that are recorded.

    Attributes:
        values: its figures.
        system: the system that it is about.
        per_query: ``system``, ``query_id``, and a column for each metric.
        qrels: the name of the judgments.
        qrels_sha256: their hash, where the result knows it.
        convention: name, hash and axes; empty without one.
        runs: the SHA-256 of each system's run, where the result knows it.
        verdict: of a gate.
        summary: for lists.
        at: the moment that the result itself is of.
    """

    values: tuple[Value, ...] = ()
    system: str = ""
    per_query: pl.DataFrame | None = None
    qrels: str = ""
    qrels_sha256: str = ""
    convention: Mapping[str, Any] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    verdict: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    at: datetime | None = None

    @property
    def queries_sha256(self) -> str:
        """The hash of the ids of the queries that have values; empty without any."""
        if self.per_query is None or self.per_query.is_empty():
            return ""
        return hash_table(self.per_query.select(pl.col("query_id").unique().sort()))


def compute_means(per_query: pl.DataFrame, lower: Collection[str] = ()) -> list[Value]:
    """The mean of each system and metric with Student's 95 % interval.

    Args:
        per_query: ``system``, ``query_id``, and a column for each metric.
        lower: metrics that are better when lower.
    """
    means = []
    for (system,), rows in per_query.group_by("system", maintain_order=True):
        for metric in rows.columns[len(_KEYS) :]:
            query_values = rows[metric].drop_nulls().drop_nans().to_numpy()
            value, low, high = mean_with_interval(query_values)
            means.append(
                Value(
                    metric,
                    str(system),
                    value,
                    low,
                    high,
                    len(query_values),
                    higher_is_better=metric not in lower,
                )
            )
    return means


def mean_with_interval(
    values: NDArray[np.float64],
) -> tuple[float | None, float | None, float | None]:
    """A mean with Student's 95 % interval; None where there are too few values."""
    from rankgate.measurement.stats.interval import t_interval

    if not len(values):
        return None, None, None
    intervals = t_interval(values)
    low, high = float(intervals.low[0]), float(intervals.high[0])
    mean = float(intervals.mean[0])
    return (mean, None, None) if np.isnan(low) else (mean, low, high)
