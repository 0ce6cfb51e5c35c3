"""Plan of an experiment: the result of ``plan``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel, Reference
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.core.present.document_model import make_printable
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.core.present.number_formats import count_noun
from rankgate.online.experiments.experiment_result import ExperimentFinding, format_difference

KPIS = Columns(
    "One row per KPI.",
    KPI,
    Column("value", pl.Float64, "its value in the log", format_difference, arguments=("kpi",)),
    Column(
        "deviation",
        pl.Float64,
        "the standard deviation of one unit's contribution, relative to the value",
        ".2f",
    ),
    Column("units", pl.Int64, "units with a value", unit="units"),
    Column(
        "explained",
        pl.Float64,
        "the share of the variance that the unit's own earlier value explains",
        ".1%",
        header="explained by\nearlier values",
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
    Column("searches", pl.Int64, "searches needed to distinguish the systems", header="searches\nneeded"),
    Column("units", pl.Int64, "units that they need"),
    Column("days", pl.Int64, "days that they need", header="days with\nall traffic"),
    Column(
        "times_fewer",
        pl.Float64,
        "how many times fewer searches than the best A/B test",
        ".3g",
        header="times fewer\nthan best A/B",
    ),
)


_DAYS = Columns(
    "One row per KPI, share and analysis.",
    KPI,
    Column("condition", pl.String, "the share of units with the treatment, and the analysis"),
    Column("days", pl.Int64, "days until the effect shows"),
)


def _unplanned_kpis(result: ExperimentPlan) -> Iterator[str]:
    """The KPIs that cannot be planned for, by reason."""
    unplanned = result.kpis.drop_nulls("why").group_by("why", maintain_order=True).agg("kpi")
    for reason, names in unplanned.iter_rows():
        yield make_printable(f"Not planned, as {reason}: {', '.join(names)}.")


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

    kind = "experiment_plan"
    label = "Plan of an experiment"
    charts: ClassVar = {
        "experiment-plan": ChartView(
            "The smallest effect that shows, by days",
            "With {largest_share:.0%} of the traffic; the dashed line is the requested effect.",
            "{most_units:,} {unit}s",
            (
                Panel(
                    "detectable",
                    Axis("day", "days"),
                    Axis("relative", "relative difference that shows", "log", ".1%"),
                    (Mark("points", "relative"), Reference("settings[effect]", dashed=True)),
                    row_filter=pl.col("share") == pl.col("share").max(),
                    series="kpi",
                    most=8,
                    width=460,
                    height=280,
                    tooltip=("units",),
                ),
            ),
            "plan",
            "no KPI can be planned for.",
        )
    }
    order = 63
    SCHEMAS: ClassVar = {
        "kpis": KPIS,
        "needed": NEEDED,
        "detectable": DETECTABLE,
        "interleaving": INTERLEAVING,
    }
    main_table = "needed"
    headline_text = (
        "Days until a relative difference of {settings[effect]:.1%} shows, {unit}s of {first} to {last}"
    )
    layout = (
        "{first_kpi}",
        CrossView("days", "days", ("kpi",), "condition", "days", columns=_DAYS),
        ShownChart("experiment-plan", "detectable"),
        View(
            "kpis",
            "KPIs",
            ("kpi", "value", "deviation", "units", "explained"),
            headers={"deviation": "sd of a {unit}\nover value", "units": "{unit}s"},
            row_filter=pl.col("why").is_null(),
        ),
        Sentence(
            "A dash is more than {horizon:n day}. With CUPED: adjusted for each {unit}'s own earlier value. "
            "Any look: with intervals that hold at every look."
        ),
        View("interleaving", "to distinguish the two systems", headers={"units": "{unit}s\nneeded"}, keys=2),
        Sentence(
            "Simulated users click on documents that are judged relevant, and {unit}s search as often as in "
            "the log. For a power of 80% at 5%, two-sided; a dash where the simulation shows no difference. "
            "Interleaving measures which lists users prefer, not what revenue or latency will be.",
            "interleaving",
        ),
        NOTICES,
        _unplanned_kpis,
    )
    notice_texts = (NoticeText("{row.code}", "{row.text}", source="findings", subject="{row.subject}"),)

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
    def first_kpi(self) -> str:
        """The KPI that moves first, in a sentence."""
        top = max(self.settings["shares"], default=0.5)
        rows = self.needed.filter(pl.col("share") == top).drop_nulls("days")
        if rows.is_empty():
            return f"No KPI shows such a difference within {count_noun(self.horizon, 'day')}."
        row = rows.row(0, named=True)
        days = count_noun(row["days"], "day")
        traffic = f"{top:.0%} of the traffic and {row['units']:,} {self.unit}s"
        return f"{row['kpi']} moves first: after {days} with {traffic}."

    @property
    def largest_share(self) -> float:
        """The largest share of the traffic."""
        return float(self.detectable["share"].to_numpy().max())

    @property
    def most_units(self) -> int:
        """The units of the KPI that has the most."""
        return int(self.kpis["units"].to_numpy().max())

    @property
    def days(self) -> pl.DataFrame:
        """The days of `needed`, a row for each KPI, share and analysis.

        The analysis of all looks is shown for the largest share alone.
        """
        analyses = {"days": "", "days_cuped": "\nCUPED", "days_sequential": "\nany look"}
        largest = self.needed["share"].max()
        rows = [
            (kpi, f"{share:.0%}{label}", row[name])
            for (kpi, share), row in self.needed.rows_by_key(
                ["kpi", "share"], named=True, unique=True
            ).items()
            for name, label in analyses.items()
            if name != "days_sequential" or share == largest
        ]
        return pl.DataFrame(rows, {"kpi": pl.String, "condition": pl.String, "days": pl.Int64}, orient="row")
