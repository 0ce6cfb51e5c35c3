"""Agreement of offline metrics and online KPIs: the result of ``agreement``, its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.core.present.document_model import Chart, Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

PAIRS = Columns(
    "One row per metric and KPI.",
    Column("metric", pl.String, "the offline metric"),
    KPI,
    Column("n", pl.Int64, "units that have both", unit="units"),
    Column("same_sign", pl.Float64, "the share of equal signs; null of queries", ".0%"),
    Column("same_sign_low", pl.Float64, "the low end of Wilson's interval of same_sign", ".0%"),
    Column("same_sign_high", pl.Float64, "the high end of Wilson's interval of same_sign", ".0%"),
    Column("spearman", pl.Float64, "Spearman's correlation", ".2f"),
    Column("spearman_low", pl.Float64, "the low end of its interval (bootstrap over units)", ".2f"),
    Column("spearman_high", pl.Float64, "the high end of its interval (bootstrap over units)", ".2f"),
    Column("spearman_least", pl.Float64, "the smallest correlation with one unit left out", ".2f"),
    Column("spearman_most", pl.Float64, "the largest correlation with one unit left out", ".2f"),
    Column("pearson", pl.Float64, "Pearson's correlation", ".2f"),
    Column("pearson_low", pl.Float64, "the low end of its interval (bootstrap over units)", ".2f"),
    Column("pearson_high", pl.Float64, "the high end of its interval (bootstrap over units)", ".2f"),
    Column("reliability", pl.Float64, "the share of the KPI's spread that is not measurement error", ".2f"),
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
    Column("right_signs", pl.Float64, "the share of signs that the others predict rightly", ".0%"),
    Column(
        "threshold",
        pl.Float64,
        "the smallest offline difference with a true rise of the KPI at the stated probability",
    ),
    Column("threshold_low", pl.Float64, "the low end of its interval"),
    Column("threshold_high", pl.Float64, "the high end of its interval"),
    Column("tried", pl.Boolean, "true if differences as large as the threshold were tried"),
)
BEST = Columns(
    "One row per KPI.",
    KPI,
    Column("metric", pl.String, "the metric with the most skill"),
    Column("skill", pl.Float64, "its skill"),
    Column("honest_skill", pl.Float64, "the skill of choosing the best metric again without each unit"),
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

    kind: ClassVar[str] = "online_agreement"
    label: ClassVar[str] = "Does offline predict online?"
    document_from: ClassVar[str] = "rankgate.online.experiments.online_agreement:online_agreement_document"
    charts: ClassVar[Mapping[str, str]] = {
        "offline-online": "rankgate.online.charts.experiment_charts:scatter"
    }
    order: ClassVar[int] = 68
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"pairs": PAIRS, "best": BEST, "units": UNITS}

    unit: str
    pairs: pl.DataFrame
    best: pl.DataFrame
    units: pl.DataFrame
    chance: float
    level: float
    resamples: int
    seed: int

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about few units, noisy KPIs and KPIs that no metric predicts."""
        notices = []
        min_units = int(self.pairs["n"].min() or 0)  # type: ignore[arg-type]
        if min_units < FEW:
            text = (
                f"a metric and a KPI have only {count_noun(min_units, 'unit')} in common: intervals are wide"
            )
            notices.append(Notice("few-units", text))
        noisy = self.pairs.filter(pl.col("reliability") < 0.5)["kpi"].unique(maintain_order=True)
        notices += [
            Notice(
                "noisy-kpi",
                f"most of the spread of {kpi} is error of measurement: its correlations are too low, and "
                "corrected ones uncertain",
                kpi,
            )
            for kpi in noisy
        ]
        useless = self.best.filter(pl.col("honest_skill") <= 0)["kpi"]
        notices += [
            Notice(
                "no-prediction",
                f"no metric predicts {kpi} of a left-out {self.unit} better than the mean of the others",
                kpi,
            )
            for kpi in useless
        ]
        return tuple(notices)


_DASH = "–"


def online_agreement_document(result: OnlineAgreement) -> Document:
    """The metrics that predict each KPI, with their skill and threshold."""
    past = result.unit == "experiment"
    return made(
        _title(result),
        Table("which metric predicts best", _best(result)),
        Table("prediction of a unit by the others", _skill(result, past=past)),
        Table("correlation", _correlation(result)),
        *([Table("offline difference from which the KPI rises", _threshold(result))] if past else []),
        Chart("rankgate.online.charts.experiment_charts:scatter", result),
        Warnings.from_notices(result.notices),
        f"Skill is 1 - the squared error of predicting each {result.unit} from the others, divided by the "
        f"squared error of their mean: 1 is perfect, 0 useless; honest skill chooses the metric again each "
        f"time. Corrected correlations are of true values, without errors of measurement; where the measured "
        "ones allow every correlation, none is given. Intervals are "
        f"{result.level:.0%}: of corrected correlations by drawn covariances, which assume that standard "
        "errors are right and hold from 10 units on, of others by the bootstrap over "
        f"{_unit_plural(result.unit)}"
        + (
            f"; a threshold is the difference at which the KPI truly rises with a chance of "
            f"{result.chance:.0%}."
            if past
            else "."
        ),
    )


def _title(result: OnlineAgreement) -> str:
    with_skill = [row for row in result.best.iter_rows(named=True) if row["skill"] is not None]
    if not with_skill:
        return "not enough data to judge if offline predicts online"
    best = max(with_skill, key=lambda row: row["skill"])
    if best["skill"] <= 0:
        return f"no metric predicts a KPI better than the mean of other {_unit_plural(result.unit)}"
    return f"{best['metric']} predicts {make_printable(best['kpi'])} best: skill {best['skill']:.2f}"


def _unit_plural(unit: str) -> str:
    return "queries" if unit == "query" else "experiments"


def _best(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            make_printable(row["kpi"]),
            make_printable(row["metric"]),
            _format_number(row["skill"]),
            _format_number(row["honest_skill"]),
        )
        for row in result.best.iter_rows(named=True)
    )
    return Grid(("KPI", "metric", "skill", "honest\nskill"), rows, frozenset({0, 1}))


def _pair_cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return make_printable(row["kpi"]), make_printable(row["metric"]), f"{row['n']:,}"


def _skill(result: OnlineAgreement, *, past: bool) -> Grid:
    table = result.pairs.sort("kpi", "skill", descending=[False, True], nulls_last=True)
    rows = tuple(
        (
            *_pair_cells(row),
            _format_number(row["skill"]),
            *(
                (
                    _format_share(row["right_signs"]),
                    _format_share(row["same_sign"]),
                    _format_interval(row["same_sign_low"], row["same_sign_high"], ".0%"),
                )
                if past
                else ()
            ),
        )
        for row in table.iter_rows(named=True)
    )
    more = ("sign\npredicted", "same\nsign", "interval") if past else ()
    return Grid(("KPI", "metric", "n", "skill", *more), rows, frozenset({0, 1}), keys=2)


def _correlation(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            *_pair_cells(row),
            _format_number(row["spearman"]),
            _format_interval(row["spearman_low"], row["spearman_high"], ".2f"),
            _format_interval(row["spearman_least"], row["spearman_most"], ".2f"),
            _format_number(row["pearson"]),
            _format_number(row["reliability"]),
            _format_number(row["corrected"]),
            _format_interval(row["corrected_low"], row["corrected_high"], ".2f"),
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = (
        "KPI",
        "metric",
        "n",
        "Spearman",
        "interval",
        "without\none",
        "Pearson",
        "KPI's\nreliability",
        "corrected",
        "interval ",
    )
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _threshold(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            *_pair_cells(row)[:2],
            _DASH if row["threshold"] is None else f"{row['threshold']:+.4f}",
            _format_interval(row["threshold_low"], row["threshold_high"], "+.4f"),
            {True: "yes", False: "no", None: _DASH}[row["tried"]],
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("KPI", "metric", "from", "interval", "ever\ntried")
    return Grid(header, rows, frozenset({0, 1, 4}), keys=2)


def _format_number(value: float | None) -> str:
    return _DASH if value is None else f"{value:.2f}"


def _format_share(value: float | None) -> str:
    return _DASH if value is None else f"{value:.0%}"


def _format_interval(low: float | None, high: float | None, form: str) -> str:
    return _DASH if low is None or high is None else f"{low:{form}} to {high:{form}}"
