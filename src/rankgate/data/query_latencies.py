"""Latencies of queries, and their statistics.

A query that failed has no latency: the time until it was given up is only a lower bound (a
right-censored value). Statistics over all queries that were sent therefore lie between two bounds,
which are equal where no such query can move them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from math import isfinite
from typing import TypeAlias

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, format_value
from rankgate.core.present.number_formats import format_bounds
from rankgate.core.quantiles import quantiles

Bounds: TypeAlias = "tuple[float | None, float | None]"
"""The smallest and the largest possible value; without a largest one the second is None."""

SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
"""The quantiles of latency that are compared."""

SHARES_TO_LARGEST = {**SHARES, "p100": 1.0}
"""The quantiles of one engine's latency, up to the largest."""


def query_latencies(queries: pl.DataFrame) -> pl.DataFrame:
    """The latency of every query that was sent, in milliseconds.

    Args:
        queries: ``query_id``, ``state``, ``latency_ms``; where ``censored`` is true, and where a
            query failed, the latency is a lower bound (0 without one).

    Returns:
        ``query_id``, ``low`` and ``high``, infinite for a lower bound; no rows where no query has a
        latency.
    """
    if queries["latency_ms"].is_null().all():
        return pl.DataFrame(schema={"query_id": pl.String, "low": pl.Float64, "high": pl.Float64})
    failed = (pl.col("state") == "failed").fill_null(value=False)
    censored = pl.col("censored").fill_null(value=False) | failed if "censored" in queries.columns else failed
    low = pl.when(failed).then(pl.col("latency_ms").fill_null(0.0)).otherwise("latency_ms")
    return queries.select(
        "query_id", low=low, high=pl.when(censored & low.is_not_null()).then(np.inf).otherwise(low)
    ).drop_nulls()


def latency_bounds(latencies: pl.DataFrame, shares: Mapping[str, float] = SHARES) -> dict[str, Bounds]:
    """The bounds of the mean and of quantiles, by name; each (None, None) without queries.

    Args:
        latencies: the columns ``low`` and ``high`` of `query_latencies`.
        shares: the probability of each quantile by its name.

    >>> latencies = pl.DataFrame({"low": [1.0, 2, 3], "high": [1.0, 2, np.inf]})
    >>> latency_bounds(latencies, {"p50": 0.5, "p75": 0.75})
    {'mean': (2.0, None), 'p50': (2.0, 2.0), 'p75': (2.5, None)}
    """
    if latencies.is_empty():
        return dict.fromkeys(["mean", *shares], (None, None))
    low, high = (
        [float(values.mean()), *quantiles(values, list(shares.values())).tolist()]
        for values in latencies.select("low", "high").to_numpy().T
    )
    return {
        name: (smallest, largest if isfinite(largest) else None)
        for name, smallest, largest in zip(["mean", *shares], low, high, strict=True)
    }


def bounds_columns(*columns: Column) -> Iterator[Column]:
    """Each column of a statistic, followed by the column of its largest possible value.

    Tables for people have both bounds in the first one.
    """
    for column in columns:
        at_most = f"{column.name}_at_most"
        yield column._replace(format=partial(bounds_text, str(column.format)), by=at_most)
        yield Column(
            at_most,
            pl.Float64,
            f"the largest possible {column.name}; null where failed queries leave it open",
            column.format,
            unit="ms",
        )


def bounds_text(format_name: str, high: float | None, low: float | None) -> str:
    """Both bounds in a format of a column, as the format of the first of two columns."""
    return format_bounds(low, high, lambda value: format_value(value, format_name))


def complete_bounds(table: pl.DataFrame) -> pl.DataFrame:
    """The table of `bounds_columns` with the largest possible values of rows of earlier versions.

    These rows, whose ``censored`` is null, count only queries that were answered.
    """
    statistics = [name for name in table.columns if f"{name}_at_most" in table.columns]
    return table.with_columns(
        pl.when(pl.col("censored").is_null()).then(name).otherwise(f"{name}_at_most").alias(f"{name}_at_most")
        for name in statistics
    )


def bounds_row(bounds: Mapping[str, Bounds]) -> dict[str, float | None]:
    """The cells of `bounds_columns`."""
    return {
        name: value
        for statistic, (low, high) in bounds.items()
        for name, value in ((statistic, low), (f"{statistic}_at_most", high))
    }
