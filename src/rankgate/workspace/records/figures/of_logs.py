"""The figures of logs: KPIs, and arms of an experiment."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from rankgate.online.indicators.catalogue import KPIS
from rankgate.store.records.new_record import Value
from rankgate.workspace.records.figures.figures import Figures

if TYPE_CHECKING:
    from rankgate.online.experiments.experiment import Experiment
    from rankgate.online.indicators.kpi_table import KpiTable

LOG_SYSTEM = "users"
"""The system of KPIs of a whole log."""


def kpi_figures(result: KpiTable) -> Figures:
    """Every KPI, in total and by slice; days are not slices, but points of a series."""
    values = tuple(
        Value(
            row["kpi"],
            LOG_SYSTEM,
            row["value"],
            n=row["n"] or 0,
            slice="" if row["by"] == "all" else f"{row['by']}={row['slice']}",
            higher_is_better=_is_higher_better(row["kpi"]),
        )
        for row in result.values.filter(pl.col("by") != "day").iter_rows(named=True)
    )
    return Figures(
        values, LOG_SYSTEM, summary={"events": result.events}, at=_parse_moment(result.last)
    )


def split_by_day(result: KpiTable) -> list[KpiTable]:
    """A table for each day, so that each is a point of a series; the table itself without days."""
    daily_values = result.values.filter(pl.col("by") == "day")
    days = daily_values["slice"].drop_nulls().unique().sort()
    if not len(days):
        return [result]
    total = pl.lit("all")
    return [
        replace(
            result,
            first=day,
            last=day,
            blocked=result.blocked,
            values=daily_values.filter(pl.col("slice") == day).with_columns(by=total, slice=total),
        )
        for day in days
    ]


def experiment_figures(result: Experiment) -> Figures:
    """The figure of each arm by each metric."""
    values: dict[tuple[str, str], Value] = {}
    for row in result.metrics.iter_rows(named=True):
        higher_is_better = row["better"] != "down"
        for arm, value, n in (
            (result.control, row["control"], row["n_control"]),
            (row["variant"], row["treatment"], row["n"]),
        ):
            figure = Value(row["metric"], arm, value, n=n or 0, higher_is_better=higher_is_better)
            values.setdefault((row["metric"], arm), figure)
    return Figures(tuple(values.values()), result.control, at=_parse_moment(result.period[1]))


def _is_higher_better(name: str) -> bool:
    return KPIS[name].better != "down" if name in KPIS else True


def _parse_moment(text: str) -> datetime | None:
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
