"""KPIs as a document: totals with their definitions, then a table for each way to divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.online.indicators.catalogue import KPIS

if TYPE_CHECKING:
    from rankgate.online.indicators.kpi_table import KpiTable

_WIDTH = 12  # digits, so that 10 comes after 9
_WIDE = 6  # KPIs of a table that is divided
_SHOWN = (
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
    given = total.filter(pl.col("value").is_not_null())
    nulls = total.filter(pl.col("value").is_null())["kpi"].to_list()
    without = [name for name in nulls if name not in result.blocked]
    period = f"{result.first[:10]} to {result.last[:10]}" if result.first else "without times"
    rows = [
        (row["kpi"], shown(row["kpi"], row["value"]), f"{row['n']:,}", _title(row["kpi"]))
        for row in given.iter_rows(named=True)
    ]
    if result.time_zone != "UTC":
        period += f", days of {result.time_zone}"
    divided = [each for each in result.values["by"].unique(maintain_order=True) if each != "all"]
    blocks = [Table(f"by {each}", _divided(result, each)) for each in divided]
    charts = [Chart("rankgate.online.indicators.charts:days", result)] if _days(result) else []
    if "position" in divided:
        charts.append(Chart("rankgate.online.indicators.charts:positions", result))
    head = tuple(result.values.columns)
    return made(
        f"{len(given)} KPIs of {result.events:,} events, {period}",
        Table("", Grid(("KPI", "value", "n", "what"), tuple(rows), frozenset({0, 3}))),
        *charts,
        *blocks,
        Warnings(tuple(each.text for each in result.notices)),
        f"Left out: {'; '.join(result.excluded)}." if result.excluded else "",
        f"The log has nothing for: {', '.join(without)}." if without else "",
        rows=PlainRows(head, list(result.values.iter_rows())),
    )


def _days(result: KpiTable) -> bool:
    return result.values.filter(pl.col("by") == "day")["slice"].n_unique() > 1


def _title(name: str) -> str:
    return KPIS[name].title if name in KPIS else ""


def shown(name: str, value: float | None) -> str:
    """A value with its unit.

    >>> shown("search_ctr", 0.275), shown("mean_click_rank", 2.45), shown("search_ctr", None)
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


def _place(name: str) -> tuple[str, str]:
    """A key that sorts numbers by size, and bands by frequency."""
    return {"head": "0", "torso": "1", "tail": "2"}.get(name, name).zfill(_WIDTH), name


def _divided(result: KpiTable, by: str) -> Grid:
    """The slices, with the KPIs that most readers look for first."""
    rows = result.values.filter(pl.col("by") == by)
    known = rows.filter(pl.col("value").is_not_null())["kpi"].unique(maintain_order=True).to_list()
    first = [each for each in _SHOWN if each in known]
    names = (first + [each for each in known if each not in first])[:_WIDE]
    values = {(row["slice"], row["kpi"]): row["value"] for row in rows.iter_rows(named=True)}
    slices = sorted(map(str, rows["slice"].unique()), key=_place)
    cells = tuple(
        (printable(each) or "–", *(shown(name, values.get((each, name))) for name in names))
        for each in slices
    )
    return Grid((by, *(name.replace("_", " ") for name in names)), cells)
