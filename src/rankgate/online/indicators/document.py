"""KPIs as a document: totals with their definitions, then a table for each way to divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.online.indicators.catalogue import KPIS

if TYPE_CHECKING:
    from rankgate.online.indicators.kpi_table import KpiTable

_SORT_DIGITS = 12  # digits, so that 10 comes after 9
_MAX_COLUMNS = 6  # KPIs of a table that is divided
_FIRST_KPIS = (
    "search_ctr",
    "zero_result_rate",
    "impression_ctr",
    "mrr_first_click",
    "mean_click_rank",
    "session_success_rate",
    "revenue_per_search",
    "latency_p95",
)


def document(result: KpiTable) -> Document:
    """Every KPI that the log carries, what spoils it, and the most important ones divided."""
    total = result.values.filter(pl.col("by") == "all")
    with_values = total.filter(pl.col("value").is_not_null())
    nulls = total.filter(pl.col("value").is_null())["kpi"].to_list()
    kpis_without_events = [name for name in nulls if name not in result.blocked]
    period = f"{result.first[:10]} to {result.last[:10]}" if result.first else "without times"
    rows = [
        (row["kpi"], format_kpi(row["kpi"], row["value"]), f"{row['n']:,}", _kpi_title(row["kpi"]))
        for row in with_values.iter_rows(named=True)
    ]
    if result.time_zone != "UTC":
        period += f", days of {result.time_zone}"
    divided = [
        column for column in result.values["by"].unique(maintain_order=True) if column != "all"
    ]
    blocks = [Table(f"by {column}", _slice_grid(result, column)) for column in divided]
    charts = [Chart("rankgate.online.indicators.charts:days", result)] if _has_days(result) else []
    if "position" in divided:
        charts.append(Chart("rankgate.online.indicators.charts:positions", result))
    columns = tuple(result.values.columns)
    return made(
        f"{len(with_values)} KPIs of {result.events:,} events, {period}",
        Table("", Grid(("KPI", "value", "n", "what"), tuple(rows), frozenset({0, 3}))),
        *charts,
        *blocks,
        Warnings(tuple(notice.text for notice in result.notices)),
        f"Left out: {'; '.join(result.excluded)}." if result.excluded else "",
        f"The log has nothing for: {', '.join(kpis_without_events)}."
        if kpis_without_events
        else "",
        rows=PlainRows(columns, list(result.values.iter_rows())),
    )


def _has_days(result: KpiTable) -> bool:
    return result.values.filter(pl.col("by") == "day")["slice"].n_unique() > 1


def _kpi_title(name: str) -> str:
    return KPIS[name].title if name in KPIS else ""


def format_kpi(name: str, value: float | None) -> str:
    """A value with its unit.

    >>> (format_kpi("search_ctr", 0.275), format_kpi("mean_click_rank", 2.45),
    ...  format_kpi("search_ctr", None))
    ('27.50%', '2.450', '–')
    """
    if value is None:
        return "–"
    unit = KPIS[name].unit if name in KPIS else ""
    if unit == "share":
        return f"{value:.2%}"
    if unit in ("seconds", "ms"):
        return f"{value:,.3f} {'s' if unit == 'seconds' else unit}"
    return f"{value:,.2f}" if unit == "money" else f"{value:,.3f}"


def _slice_sort_key(name: str) -> tuple[str, str]:
    """A key that sorts numbers by size, and bands by frequency."""
    return {"head": "0", "torso": "1", "tail": "2"}.get(name, name).zfill(_SORT_DIGITS), name


def _slice_grid(result: KpiTable, by: str) -> Grid:
    """The slices, with the KPIs that most readers look for first."""
    rows = result.values.filter(pl.col("by") == by)
    available = (
        rows.filter(pl.col("value").is_not_null())["kpi"].unique(maintain_order=True).to_list()
    )
    first = [name for name in _FIRST_KPIS if name in available]
    names = (first + [name for name in available if name not in first])[:_MAX_COLUMNS]
    values = {(row["slice"], row["kpi"]): row["value"] for row in rows.iter_rows(named=True)}
    slices = sorted(map(str, rows["slice"].unique()), key=_slice_sort_key)
    cells = tuple(
        (
            make_printable(slice_name) or "–",
            *(format_kpi(name, values.get((slice_name, name))) for name in names),
        )
        for slice_name in slices
    )
    return Grid((by, *(name.replace("_", " ") for name in names)), cells)
