"""Agreement of offline metrics and online KPIs: the result of ``agreement``."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_style import GREY
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View

PAIRS = Columns(
    "One row per metric and KPI.",
    Column("metric", pl.String, "the offline metric"),
    KPI,
    Column("n", pl.Int64, "units that have both", unit="units"),
    Column("same_sign", pl.Float64, "the share of equal signs; null of queries", ".0%", header="same\nsign"),
    Column("same_sign_low", pl.Float64, "the low end of Wilson's interval of same_sign", ".0%"),
    Column("same_sign_high", pl.Float64, "the high end of Wilson's interval of same_sign", ".0%"),
    Column("spearman", pl.Float64, "Spearman's correlation", ".2f", header="Spearman"),
    Column(
        "spearman_low",
        pl.Float64,
        "the low end of its interval (bootstrap over units)",
        ".2f",
        header="interval",
    ),
    Column("spearman_high", pl.Float64, "the high end of its interval (bootstrap over units)", ".2f"),
    Column(
        "spearman_least",
        pl.Float64,
        "the smallest correlation with one unit left out",
        ".2f",
        header="without\none",
    ),
    Column("spearman_most", pl.Float64, "the largest correlation with one unit left out", ".2f"),
    Column("pearson", pl.Float64, "Pearson's correlation", ".2f", header="Pearson"),
    Column("pearson_low", pl.Float64, "the low end of its interval (bootstrap over units)", ".2f"),
    Column("pearson_high", pl.Float64, "the high end of its interval (bootstrap over units)", ".2f"),
    Column(
        "reliability",
        pl.Float64,
        "the share of the KPI's spread that is not measurement error",
        ".2f",
        header="KPI's\nreliability",
    ),
    Column("corrected", pl.Float64, "Pearson's correlation without errors of measurement", ".2f"),
    Column(
        "corrected_low",
        pl.Float64,
        "the low end of its interval of drawn covariances; null where the values allow every correlation",
        ".2f",
    ),
    Column(
        "corrected_high",
        pl.Float64,
        "the high end of its interval of drawn covariances; null where the values allow every correlation",
        ".2f",
    ),
    Column("slope", pl.Float64, "the slope of the KPI over the metric"),
    Column(
        "skill",
        pl.Float64,
        "how much better than their mean the others predict a unit: 1 − ratio of squared errors",
        ".2f",
    ),
    Column(
        "right_signs",
        pl.Float64,
        "the share of signs that the others predict rightly",
        ".0%",
        header="sign\npredicted",
    ),
    Column(
        "threshold",
        pl.Float64,
        "the smallest offline difference with a true rise of the KPI at the stated probability",
        "signed",
        header="from",
    ),
    Column("threshold_low", pl.Float64, "the low end of its interval", "signed", header="interval"),
    Column("threshold_high", pl.Float64, "the high end of its interval", "signed"),
    Column(
        "tried", pl.Boolean, "true if differences as large as the threshold were tried", header="ever\ntried"
    ),
)
BEST = Columns(
    "One row per KPI.",
    KPI,
    Column("metric", pl.String, "the metric with the most skill"),
    Column("skill", pl.Float64, "its skill", ".2f"),
    Column(
        "honest_skill",
        pl.Float64,
        "the skill of choosing the best metric again without each unit",
        ".2f",
        header="honest\nskill",
    ),
)
UNITS = Columns(
    "One row per metric, KPI and unit: the source of the pairs.",
    Column("metric", pl.String, "the offline metric"),
    KPI,
    Column("unit", pl.String, "the experiment or the query"),
    Column("offline", pl.Float64, "the value of the metric"),
    Column("online", pl.Float64, "the value of the KPI"),
    Column("error", pl.Float64, "the standard error of the KPI"),
    Column("predicted", pl.Float64, "the value of the KPI that the others predict"),
)

FEW = 10
"""Units below which correlations are uncertain."""

_NORMAL = 1.96


@dataclass(frozen=True)
class OnlineAgreement(Result):
    """The agreement of offline metrics with online KPIs.

    Attributes:
        unit: experiment, or query of a log.
        pairs: the columns of `PAIRS`.
        best: the columns of `BEST`.
        units: the columns of `UNITS`.
        chance: of the threshold.
        level: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    kind = "online_agreement"
    csv_table = None
    label = "Does offline predict online?"
    charts: ClassVar = {
        "offline-online": ChartView(
            "Does offline predict online?",
            "A point is one {unit}: the offline value and the online one with its 95 % interval.",
            "{unit_count:n unit} ({unit})",
            (
                Panel(
                    lambda result: result.best.select("metric", "kpi", "skill").join(
                        result.units, on=("metric", "kpi"), maintain_order="left_right"
                    ),
                    Axis("offline", "{metric}", zero=False),
                    Axis("online", "{kpi:spaced}", zero=False),
                    (Mark("interval", "low", "high", GREY), Mark("point", "online")),
                    (
                        pl.all(),
                        (pl.col("online") - _NORMAL * pl.col("error")).alias("low"),
                        (pl.col("online") + _NORMAL * pl.col("error")).alias("high"),
                    ),
                    facet=("metric", "kpi"),
                    most=4,
                    title="skill {skill:.2f}",
                    height=220,
                    tooltip=("unit", "predicted"),
                ),
            ),
            "agreement",
            "no metric has a skill.",
        )
    }
    order = 68
    SCHEMAS: ClassVar = {"pairs": PAIRS, "best": BEST, "units": UNITS}
    layout = (
        View("best", "which metric predicts best", keys=2),
        View(
            "by_skill",
            "prediction of a unit by the others",
            ("kpi", "metric", "n", "skill", "right_signs", "same_sign", ("same_sign_low", "same_sign_high")),
            PAIRS,
            keys=2,
            optional=("right_signs", "same_sign"),
        ),
        View(
            "pairs",
            "correlation",
            (
                "kpi",
                "metric",
                "n",
                "spearman",
                ("spearman_low", "spearman_high"),
                ("spearman_least", "spearman_most"),
                "pearson",
                "reliability",
                "corrected",
                ("corrected_low", "corrected_high"),
            ),
            keys=2,
        ),
        View(
            "pairs",
            "offline difference from which the KPI rises",
            ("kpi", "metric", "threshold", ("threshold_low", "threshold_high"), "tried"),
            keys=2,
            condition="of_experiments",
        ),
        ShownChart("offline-online"),
        NOTICES,
        Sentence(
            "Skill is 1 - the squared error of predicting each {unit} from the others, divided by the "
            "squared error of their mean: 1 is perfect, 0 useless; honest skill chooses the metric again "
            "each time. Corrected correlations are of true values, without errors of measurement; where the "
            "measured ones allow every correlation, none is given. Intervals are {level:.0%}: of corrected "
            "correlations by drawn covariances, which assume that standard errors are right and hold from "
            "10 units on, of others by the bootstrap over {unit_plural}."
        ),
        Sentence(
            "A threshold is the difference at which the KPI truly rises with a probability of {chance:.0%}.",
            "of_experiments",
        ),
    )
    notice_texts = (
        NoticeText(
            "few-units",
            "a metric and a KPI have only {min_units:n unit} in common: intervals are wide",
            lambda agreement: agreement.min_units < FEW,
        ),
        NoticeText(
            "noisy-kpi",
            "most of the spread of {row} is error of measurement: its correlations are too low, and "
            "corrected ones uncertain",
            source="noisy_kpis",
            subject="{row}",
        ),
        NoticeText(
            "no-prediction",
            "no metric predicts {kpi} of a left-out {unit} better than the mean of the others",
            source="best",
            subject="{kpi}",
            rows=pl.col("honest_skill") <= 0,
        ),
    )

    unit: str
    pairs: pl.DataFrame
    best: pl.DataFrame
    units: pl.DataFrame
    chance: float
    level: float
    resamples: int
    seed: int

    @property
    def headline(self) -> str:
        """The metric that predicts a KPI best."""
        with_skill = [row for row in self.best.iter_rows(named=True) if row["skill"] is not None]
        if not with_skill:
            return "not enough data to judge if offline predicts online"
        best = max(with_skill, key=lambda row: row["skill"])
        if best["skill"] <= 0:
            return f"no metric predicts a KPI better than the mean of other {self.unit_plural}"
        return f"{best['metric']} predicts {best['kpi']} best: skill {best['skill']:.2f}"

    @property
    def unit_count(self) -> int:
        """The number of units."""
        return self.units["unit"].n_unique()

    @property
    def of_experiments(self) -> bool:
        """True if units are experiments."""
        return self.unit == "experiment"

    @property
    def unit_plural(self) -> str:
        """The units in the plural."""
        return "queries" if self.unit == "query" else "experiments"

    @property
    def by_skill(self) -> pl.DataFrame:
        """`pairs`, those of a KPI with the most skill first."""
        return self.pairs.sort("kpi", "skill", descending=[False, True], nulls_last=True)

    @property
    def min_units(self) -> int:
        """The smallest number of units that a metric and a KPI have in common."""
        return int(self.pairs["n"].min() or 0)  # type: ignore[arg-type]

    @property
    def noisy_kpis(self) -> list[str]:
        """The KPIs of which most of the spread is error of measurement."""
        noisy = self.pairs.filter(pl.col("reliability") < 0.5)
        return noisy["kpi"].unique(maintain_order=True).to_list()
