"""KPIs by a dimension with intervals, and one correction for all tests that segments differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.measurement.stats.multiple_comparisons import correct
from rankgate.measurement.stats.special_functions import chdtrc, ndtri
from rankgate.online.indicators.kpi_catalogue import format_kpi
from rankgate.online.indicators.search_tables import load_ibis
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    from rankgate.online.indicators.kpi import Kpi
    from rankgate.online.indicators.search_tables import KpiTables


LEVEL = 0.95
MIN_UNITS = 100
"""The units that a segment needs for an interval and a test."""

SEGMENTS = Columns(
    "One row per KPI, dimension and segment with enough units; medians and other quantiles have none.",
    KPI,
    Column("by", pl.String, "the dimension"),
    Column("slice", pl.String, "the segment", header="segment"),
    Column("units", pl.Int64, "users, or sessions where the user is unknown"),
    Column("value", pl.Float64, "the value of the KPI", format_kpi, arguments=("kpi",)),
    Column("low", pl.Float64, "the low end of its 95 % interval", format_kpi, arguments=("kpi",)),
    Column("high", pl.Float64, "the high end of its 95 % interval", format_kpi, arguments=("kpi",)),
    Column(
        "p_differ",
        pl.Float64,
        "p of no difference between the segments (Cochran's Q), corrected by Holm over KPIs and dimensions",
        ".3f",
        header="p differ",
    ),
)


def segment_intervals(kpi_tables: KpiTables, kpis: Sequence[Kpi], dimensions: Sequence[str]) -> pl.DataFrame:
    """The segments of each KPI that is a mean or a ratio, with intervals by the delta method.

    Units are users, or sessions where the user is unknown. ``p_differ`` is that of Cochran's Q:
    Σ (value − weighted mean)² / se² against chi-squared.
    """
    frames: list[pl.DataFrame] = []
    for dimension in dimensions:
        for table in dict.fromkeys(kpi.table for kpi in kpis):
            means = [kpi for kpi in kpis if kpi.table == table and kpi.quantile is None and kpi.cap is None]
            if means:
                frames += _segments_of_table(kpi_tables, means, table, dimension)
    p_values = [frame["p_differ"][0] for frame in frames]
    corrected = correct(np.array(p_values, float), "holm")
    return pl.concat(
        [
            pl.DataFrame(schema=SEGMENTS),
            *(
                frame.with_columns(p_differ=pl.lit(None if np.isnan(p) else float(p), pl.Float64))
                for frame, p in zip(frames, corrected, strict=True)
            ),
        ]
    )


def _segments_of_table(
    kpi_tables: KpiTables, kpis: Sequence[Kpi], table: str, dimension: str
) -> list[pl.DataFrame]:
    """The segments of each KPI of a table, summed in the database by unit, then by segment."""
    lib = load_ibis()
    rows = kpi_tables[table]
    names = [name for name in ("user", "session") if name in rows.columns]
    columns = {"slice": rows[dimension], "unit": lib.coalesce(*(rows[name] for name in names))}
    for number, kpi in enumerate(kpis):
        value = kpi.of(rows)
        value = (value.cast("int64") if value.type().is_boolean() else value).cast("float64")
        count = value.notnull().cast("float64") if kpi.per is None else kpi.per(rows).cast("float64")
        columns |= {f"x{number}": value.fill_null(0.0), f"n{number}": count.fill_null(0.0)}
    complete_rows = rows.select(**columns)
    complete_rows = complete_rows.filter(complete_rows.slice.notnull() & complete_rows.unit.notnull())
    sums = complete_rows.group_by("slice", "unit").aggregate(
        **{
            name: exact_sum(complete_rows[name])
            for name in complete_rows.columns
            if name not in ("slice", "unit")
        }
    )
    moments: dict[str, Any] = {}
    for number in range(len(kpis)):
        x, n = sums[f"x{number}"], sums[f"n{number}"]
        moments |= {
            f"units{number}": n.count(where=n > 0),
            **{f"{name}{number}": column.sum() for name, column in (("x", x), ("n", n))},
            f"xx{number}": (x * x).sum(),
            f"nn{number}": (n * n).sum(),
            f"xn{number}": (x * n).sum(),
        }
    moments_table = kpi_tables.base.rows(kpi_tables.base.text(sums.group_by("slice").aggregate(**moments)))
    frames = [_intervals(moments_table, number, kpi.name, dimension) for number, kpi in enumerate(kpis)]
    return [frame for frame in frames if len(frame)]


def _intervals(moments_table: pl.DataFrame, number: int, name: str, dimension: str) -> pl.DataFrame:
    """The intervals of a KPI, and the raw p that its segments do not differ."""
    units, x, n, xx, nn, xn = (pl.col(f"{name}{number}") for name in ("units", "x", "n", "xx", "nn", "xn"))
    value = x / n
    squares = xx - 2 * value * xn + value**2 * nn
    error = (units / (units - 1) * squares.clip(0.0)).sqrt() / n
    rows = moments_table.filter(units >= MIN_UNITS).sort("slice")
    rows = rows.select("slice", units=units.cast(pl.Int64), value=value, error=error)
    rows = rows.with_columns(pl.when(pl.col("error") > 0).then("error"))  # none where all users are equal
    values, errors = rows.drop_nulls("error").select("value", "error").to_numpy().T
    p = float("nan")
    if len(errors) > 1:
        weights = errors**-2.0
        q = float(weights @ (values - weights @ values / weights.sum()) ** 2)
        p = float(chdtrc(len(errors) - 1, q))
    half = float(ndtri((1 + LEVEL) / 2)) * pl.col("error")
    return rows.select(
        kpi=pl.lit(name),
        by=pl.lit(dimension),
        slice=pl.col("slice").cast(pl.String),
        units="units",
        value="value",
        low=pl.col("value") - half,
        high=pl.col("value") + half,
        p_differ=pl.lit(p),
    )
