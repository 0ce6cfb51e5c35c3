"""Plan of an experiment: the result of ``plan``, and its document.

The document shows the most sensitive KPIs, the days by share of traffic, and the spread of KPIs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.core.present.document_model import (
    Chart,
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import UNDEFINED, count_noun
from rankgate.online.experiments.experiment_result import ExperimentFinding, format_figure

KPIS = Columns(
    "One row per KPI.",
    KPI,
    Column("value", pl.Float64, "its value in the log"),
    Column(
        "deviation", pl.Float64, "the standard deviation of one unit's contribution, relative to the value"
    ),
    Column("units", pl.Int64, "units with a value", unit="units"),
    Column(
        "explained", pl.Float64, "the share of the variance that the unit's own earlier value explains", ".0%"
    ),
    Column("why", pl.String, "the reason where the KPI cannot be planned for; null elsewhere"),
)
NEEDED = Columns(
    "One row per KPI, share and effect; the KPI that moves first comes first.",
    KPI,
    Column("share", pl.Float64, "the share of units with the treatment", ".0%"),
    Column("effect", pl.Float64, "the relative effect that is to show", ".0%"),
    Column("days", pl.Int64, "days until it shows; null beyond the horizon", unit="days"),
    Column("days_cuped", pl.Int64, "days until it shows with CUPED; null beyond the horizon", unit="days"),
    Column(
        "days_sequential",
        pl.Int64,
        "days until it shows with always-valid intervals; null beyond the horizon",
        unit="days",
    ),
    Column("units", pl.Int64, "units that the experiment has then", unit="units"),
)
DETECTABLE = Columns(
    "One row per KPI, share and day.",
    KPI,
    Column("share", pl.Float64, "the share of units with the treatment", ".0%"),
    Column("day", pl.Int64, "the number of days"),
    Column("units", pl.Int64, "units that the experiment has then", unit="units"),
    Column("relative", pl.Float64, "the relative difference that shows after so many days"),
    Column("relative_cuped", pl.Float64, "the relative difference that shows with CUPED"),
)
INTERLEAVING = Columns(
    "One row per test of two systems, by simulation with all traffic; no rows without two systems.",
    Column("test", pl.String, "an interleaving method or a KPI"),
    Column("design", pl.String, "interleaving or A/B"),
    Column("searches", pl.Int64, "searches needed to distinguish the systems"),
    Column("units", pl.Int64, "units that they need"),
    Column("days", pl.Int64, "days that they need"),
    Column("times_fewer", pl.Float64, "how many times fewer searches than the best A/B test"),
)


@dataclass(frozen=True)
class ExperimentPlan(Result):
    """The effects that experiments of some days and shares of traffic would detect.

    Attributes:
        unit: what is assigned: user, session or query.
        first: the first day of the log.
        last: the last day of the log.
        kpis: the columns of `KPIS`.
        needed: the columns of `NEEDED`.
        detectable: the columns of `DETECTABLE`.
        horizon: days that are looked ahead.
        settings: level, power, effect.
        findings: what makes the plan doubtful.
        interleaving: the columns of `INTERLEAVING`.
    """

    kind: ClassVar[str] = "experiment_plan"
    label: ClassVar[str] = "Plan of an experiment"
    document_from: ClassVar[str] = "rankgate.online.experiments.experiment_plan:plan_document"
    charts: ClassVar[Mapping[str, str]] = {"experiment-plan": "rankgate.online.charts.experiment_charts:plan"}
    order: ClassVar[int] = 63
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "kpis": KPIS,
        "needed": NEEDED,
        "detectable": DETECTABLE,
        "interleaving": INTERLEAVING,
    }

    unit: str
    first: str
    last: str
    kpis: pl.DataFrame
    needed: pl.DataFrame
    detectable: pl.DataFrame
    horizon: int
    settings: Mapping[str, Any]
    findings: tuple[ExperimentFinding, ...] = ()
    interleaving: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=INTERLEAVING))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the plan."""
        return tuple(finding.notice for finding in self.findings)

    def _table(self) -> pl.DataFrame:
        return self.needed


def plan_document(result: ExperimentPlan) -> Document:
    """The days until an effect is detected, effects by weeks, and reasons for missing KPIs."""
    effect = result.settings["effect"]
    unplanned_kpis = result.kpis.drop_nulls("why")
    reasons = unplanned_kpis.group_by("why", maintain_order=True).agg("kpi")
    chart = (
        [Chart("rankgate.online.charts.experiment_charts:plan", result)]
        if not result.detectable.is_empty()
        else []
    )
    return made(
        f"Days until a relative difference of {effect:.1%} shows, {result.unit}s of {result.first} to "
        f"{result.last}",
        _first_kpi(result),
        Table("days", _days(result)),
        *chart,
        Table("KPIs", _kpis(result)),
        (
            f"A dash is more than {count_noun(result.horizon, 'day')}. With CUPED: adjusted for each "
            f"{result.unit}'s own earlier value. Any look: with intervals that hold at every look."
        ),
        *_interleaving(result),
        Warnings(tuple(finding.text for finding in result.findings)),
        *(f"Not planned, as {row['why']}: {', '.join(row['kpi'])}." for row in reasons.iter_rows(named=True)),
        rows=PlainRows(tuple(result.needed.columns), list(result.needed.iter_rows())),
    )


def _interleaving(result: ExperimentPlan) -> list[Table | str]:
    """The units that interleaving and A/B tests of the same two systems need."""
    if result.interleaving.is_empty():
        return []
    rows = tuple(
        (
            row["test"],
            row["design"],
            _format_count(row["searches"]),
            _format_count(row["units"]),
            _format_count(row["days"]),
            UNDEFINED if row["times_fewer"] is None else f"{row['times_fewer']:.3g}x",
        )
        for row in result.interleaving.iter_rows(named=True)
    )
    header = (
        "test",
        "design",
        "searches\nneeded",
        f"{result.unit}s\nneeded",
        "days with\nall traffic",
        "fewer than\nbest A/B",
    )
    note = (
        f"Simulated users click on documents that are judged relevant, and {result.unit}s search as often as "
        "in the log. For a power of 80% at 5%, two-sided; a dash where the simulation shows no difference. "
        "Interleaving measures which lists users prefer, not what revenue or latency will be."
    )
    return [Table("to distinguish the two systems", Grid(header, rows, frozenset({0, 1}))), note]


def _first_kpi(result: ExperimentPlan) -> str:
    traffic_shares = result.settings["shares"]
    top = max(traffic_shares) if traffic_shares else 0.5
    rows = result.needed.filter(pl.col("share") == top).drop_nulls("days")
    if rows.is_empty():
        return f"No KPI shows such a difference within {count_noun(result.horizon, 'day')}."
    row = rows.row(0, named=True)
    sentence = (
        f"{row['kpi']} moves first: after {count_noun(row['days'], 'day')} with {top:.0%} of the traffic"
    )
    return f"{sentence} and {row['units']:,} {result.unit}s."


def _days(result: ExperimentPlan) -> Grid:
    traffic_shares = sorted(set(result.needed["share"]), reverse=True)
    rows = []
    for name in result.needed["kpi"].unique(maintain_order=True):
        cells = [make_printable(name)]
        for share in traffic_shares:
            kpi_rows = result.needed.filter(pl.col("kpi") == name, pl.col("share") == share)
            row = kpi_rows.row(0, named=True)
            cells += [_format_count(row["days"]), _format_count(row["days_cuped"])]
            if share == traffic_shares[0]:
                cells.append(_format_count(row["days_sequential"]))
        rows.append(tuple(cells))
    header = ["KPI"]
    for share in traffic_shares:
        header += [f"{share:.0%}", f"{share:.0%}\nCUPED"]
        if share == traffic_shares[0]:
            header.append(f"{share:.0%}\nany look")
    return Grid(tuple(header), tuple(rows))


def _format_count(value: int | None) -> str:
    return UNDEFINED if value is None else f"{value:,}"


def _kpis(result: ExperimentPlan) -> Grid:
    rows = [
        (
            make_printable(row["kpi"]),
            format_figure(row["value"], "", row["kpi"]),
            f"{row['deviation']:.2f}",
            f"{row['units']:,}",
            UNDEFINED if row["explained"] is None else f"{row['explained']:.1%}",
        )
        for row in result.kpis.filter(pl.col("why").is_null()).iter_rows(named=True)
    ]
    header = (
        "KPI",
        "value",
        f"sd of a {result.unit}\nover value",
        f"{result.unit}s",
        "explained by\nearlier values",
    )
    return Grid(header, tuple(rows))
