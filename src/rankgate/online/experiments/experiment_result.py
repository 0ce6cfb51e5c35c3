"""Arms compared on KPIs: the result of ``ab``, its findings and its document.

Findings warn about an experiment's figures, or block them. The document shows checks first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Mark, Panel, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import LEVEL, P_RAW
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View, fill
from rankgate.core.present.number_formats import UNDEFINED, format_p_value, format_share
from rankgate.core.value_types import JsonObject

Severity = Literal["block", "warn"]
"""What a finding means: no figures, or figures with a warning."""


@dataclass(frozen=True)
class ExperimentFinding:
    """A fault of an experiment.

    Attributes:
        code: the code of the check.
        severity: ``block``: no figures and no decisions of rules; ``warn``: figures with a warning.
        text: the problem and the remedy.
        subject: the measure or the arm; empty for the whole experiment.
    """

    code: str
    severity: Severity
    text: str
    subject: str = ""


def _kpi_unit(metric: str) -> str:
    from rankgate.online.indicators.kpi_catalogue import KPIS

    return KPIS[metric].unit if metric in KPIS else ""


def format_figure(value: float | None, kind: str = "", metric: str = "") -> str:
    """Format a value of a metric: proportions and shares in per cent.

    >>> format_figure(0.1902, "proportion"), format_figure(52.4563), format_figure(None)
    ('19.02%', '52.46', '–')
    """
    if value is None:
        return UNDEFINED
    if kind == "proportion" or _kpi_unit(metric) == "share":
        return f"{value:.2%}"
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4f}"


_UNITS = {"ms": " ms", "millisecond": " ms", "seconds": " s", "days": " days", "pages": " pages"}


def _format_figure_of(kind: str, metric: str, value: float | None) -> str:
    return format_figure(value, kind, metric)


def format_difference(metric: str, value: float | None) -> str:
    """Format a value of a metric by its unit alone."""
    return format_figure(value, "", metric)


def _format_loss(kind: str, metric: str, loss: float | None) -> str:
    """The expected loss in the unit of the metric."""
    if loss is None:
        return UNDEFINED
    unit = _kpi_unit(metric)
    if kind == "proportion" or unit == "share":
        return f"{100 * loss:.2f} points"
    return format_figure(loss) + _UNITS.get(unit, "")


def _format_p_value(p: float | None) -> str:
    """Format a p-value, with more digits if it is small."""
    if p is not None and 1e-5 <= p < 0.01:
        return f"{p:.5f}"
    return format_p_value(p)


_ARM = Column("variant", pl.String, "the arm", header="arm")
_KIND_AND_METRIC = ("kind", "metric")

VARIANTS = Columns(
    "One row per arm.",
    _ARM,
    Column("planned", pl.Float64, "the planned share of units", ".2%"),
    Column("observed", pl.Float64, "the observed share of units", ".2%"),
    Column("units", pl.Int64, "units in the arm", unit="units"),
)
_HIGH = Column("high", pl.Float64, "the high end of the interval of delta")
_LOW = Column("low", pl.Float64, "the low end of the interval of delta")
_METRIC = Column("metric", pl.String, "the KPI")
METRICS = Columns(
    "One row per metric and arm; no rows where a finding blocks.",
    _METRIC,
    Column("kind", pl.String, "its kind: mean, proportion, ratio or quantile"),
    Column("role", pl.String, "its role: success or guardrail"),
    Column("better", pl.String, "its better direction"),
    _ARM,
    Column("n_control", pl.Int64, "units of the control", unit="units"),
    Column("n", pl.Int64, "units of the arm", unit="units"),
    Column("control", pl.Float64, "the value of the control", _format_figure_of, arguments=_KIND_AND_METRIC),
    Column("treatment", pl.Float64, "the value of the arm", _format_figure_of, arguments=_KIND_AND_METRIC),
    Column("delta", pl.Float64, "treatment − control"),
    _LOW,
    _HIGH,
    Column("relative", pl.Float64, "delta / control", "relative"),
    Column("relative_low", pl.Float64, "the low end of the interval of relative", "relative"),
    Column("relative_high", pl.Float64, "the high end of the interval of relative", "relative"),
    LEVEL._replace(format=".0%"),
    Column("method", pl.String, "the method of the interval and the test"),
    P_RAW._replace(format=_format_p_value),
    Column("p_value", pl.Float64, "the p-value after the correction", _format_p_value),
    Column("correction", pl.String, "the correction of the p-value, and over how many tests"),
    Column(
        "mde",
        pl.Float64,
        "the smallest true difference that these units show with the power that was asked for",
    ),
    Column("explained", pl.Float64, "the share of the variance that earlier values of the units explain"),
    Column(
        "chance_better",
        pl.Float64,
        "the probability that the arm is better",
        "probability",
        header="probability\nto be better",
    ),
    Column(
        "expected_loss",
        pl.Float64,
        "the expected loss if the arm is chosen",
        _format_loss,
        arguments=_KIND_AND_METRIC,
    ),
    Column(
        "margin",
        pl.Float64,
        "the largest loss that does not matter; null where none was given",
        ".1%",
        header="margin",
    ),
    Column("status", pl.String, "how the metric ended"),
    Column("why", pl.String, "the reason where figures are null", header="reason"),
)
DAILY = Columns(
    "One row per metric, arm and day: the difference at the end of the day.",
    _METRIC,
    _ARM,
    Column("day", pl.String, "the day"),
    Column("n", pl.Int64, "units of the arm until then", unit="units", header="units"),
    Column("delta", pl.Float64, "treatment − control", "+.4g", header="difference"),
    Column(
        "low", pl.Float64, "the low end of the always-valid interval", "+.4g", header="always-valid interval"
    ),
    Column("high", pl.Float64, "the high end of the always-valid interval", "+.4g"),
)
SEGMENTS = Columns(
    "One row per metric, arm and value of a segment.",
    _METRIC,
    _ARM,
    Column("segment", pl.String, "the name of the segment"),
    Column("value", pl.String, "its value"),
    Column("n", pl.Int64, "units of the arm in it", unit="units", header="units"),
    Column(
        "delta",
        pl.Float64,
        "treatment − control",
        format_difference,
        header="difference",
        arguments=("metric",),
    ),
    _LOW,
    _HIGH,
    P_RAW,
    Column("p_value", pl.Float64, "the p-value after the correction", _format_p_value, header="p (BH)"),
    Column(
        "p_differ",
        pl.Float64,
        "the p-value of the test whether segments differ, corrected by Holm over segments, metrics and arms",
    ),
)
AGAINST_ITSELF = Columns(
    "One row per metric: random halves of the control.",
    _METRIC,
    Column("splits", pl.Int64, "how often the control was split", header="random halves"),
    Column("rejected", pl.Int64, "splits in which the halves differ significantly"),
    Column("share", pl.Float64, "rejected / splits", ".1%"),
)
_FIGURES = Columns(
    "One row per metric and arm.",
    METRICS,
    Column("detectable", pl.Float64, "mde as a share of the control", ".1%"),
    Column(
        "loss_share", pl.Float64, "expected_loss as a share of the control", ".1%", header="of the\ncontrol"
    ),
)


_RELATIVE = "Relative intervals ({relative_by}) do not belong to the test that gives p."
_OPEN_INTERVALS = (
    "If a relative interval has one end or none, the control is not clearly different from 0, and an "
    "interval with two ends would not keep its level."
)
_EXPLAINED = "The covariate of {metric} explains {explained:.2%} of its variance ({variant})."
_DETECTABLE = (
    "Detectable: the smallest difference that this experiment shows with a probability of "
    "{settings[power]:.0%}, as a share of the control."
)


@dataclass(frozen=True)
class Experiment(Result):
    """Arms of an experiment, compared.

    Attributes:
        unit: what was assigned: user, session, query, a column, or row.
        control: the arm that the others are compared with.
        variants: the columns of `VARIANTS`.
        period: the first and the last day; empty without times.
        srm: ``statistic``, ``p_value`` and ``method`` of the test of units per arm.
        findings: faults; one that blocks leaves `metrics` empty.
        metrics: the columns of `METRICS`.
        daily: the columns of `DAILY`.
        segments: the columns of `SEGMENTS`.
        against_itself: the columns of `AGAINST_ITSELF`.
        settings: level, correction and all else that figures depend on.
    """

    kind = "experiment"
    label = "Experiment"
    charts: ClassVar = {
        "experiment": ChartView(
            "Differences of metrics",
            "Points are relative differences to the control, lines their intervals.",
            "{unit_count:n unit}",
            (
                Panel(
                    "metrics",
                    Axis("relative", "relative difference", form="+.1%"),
                    Axis("metric", scale="names"),
                    (ZERO, *interval("relative")),
                    (
                        pl.when(pl.col("variant").n_unique() > 1)
                        .then(pl.format("{} ({})", "metric", "variant"))
                        .otherwise("metric")
                        .alias("metric"),
                        "relative",
                        pl.col("relative_low").alias("low"),
                        pl.col("relative_high").alias("high"),
                    ),
                    row_filter=pl.all_horizontal(pl.col("relative_low", "relative_high").is_not_null()),
                    width=420,
                    height=30,
                ),
            ),
            "experiment",
            "no metric has an interval.",
        ),
        "experiment-days": ChartView(
            "Differences by day",
            "The interval holds on all days together: one may stop on any of them.",
            "{unit_count:n unit}",
            (
                Panel(
                    "daily",
                    Axis("day", scale="time"),
                    Axis("delta", "difference"),
                    (Mark("band", "low", "high"), Mark("line", "delta"), ZERO),
                    facet=("metric", "variant"),
                    most=4,
                    title="{metric} ({variant})",
                    height=160,
                ),
            ),
            "experiment",
            "the experiment has no days.",
        ),
    }
    order = 64
    SCHEMAS: ClassVar = {
        "variants": VARIANTS,
        "metrics": METRICS,
        "daily": DAILY,
        "segments": SEGMENTS,
        "against_itself": AGAINST_ITSELF,
    }
    main_table = "metrics"
    headline_text = "{treatments} against {control}{period_text}"
    lead = (
        Sentence("No verdict: a fault of the experiment forbids figures.", "no_figures"),
        "{outcome_text}",
    )
    layout = (
        NOTICES,
        "Sample ratio: {ratio_text} (p = {srm[p_value]:.2g}, {srm[method]}).",
        View(
            "variants",
            "arms",
            ("variant", "units", "planned", "observed"),
            headers={"units": "units\n({unit})"},
        ),
        Sentence(
            "No figures: a fault above forbids them (rankgate online ab --despite gives them).", "no_figures"
        ),
        View(
            "figures",
            "metrics",
            (
                "metric",
                "variant",
                "margin",
                "control",
                "treatment",
                "relative",
                ("relative_low", "relative_high"),
                "level",
                "p_raw",
                "p_value",
                "detectable",
                "status",
                "why",
            ),
            _FIGURES,
            headers={
                "relative_low": "{settings[level]:.0%} interval",
                "p_value": "p\n({settings[correction]})",
            },
            optional=("margin", "level", "why"),
            varying=("variant",),
        ),
        ShownChart("experiment", "metrics"),
        ShownChart("experiment-days", "has_days"),
        Sentence("{method_text}", "metrics"),
        View(
            "figures",
            "Bayesian view",
            ("metric", "variant", "chance_better", "expected_loss", "loss_share"),
            _FIGURES,
            headers={"expected_loss": "expected loss\n(prior sd {settings[prior]:.0%})"},
            keys=2,
            row_filter=pl.col("chance_better").is_not_null(),
            condition="is_bayesian",
        ),
        Sentence(
            "Expected loss: by how much the metric is worse on average if the arm is launched, where better "
            "counts as 0.",
            "is_bayesian",
        ),
        View(
            "segments",
            "segments",
            ("metric", "variant", "segment", "value", "n", "delta", "p_value"),
            keys=4,
            first=40,
        ),
        Sentence(
            "Do segments differ? {segment_tests}. Where they do not, differences between segments are "
            "noise: with 20 segments one of them has p < 0.05 by chance. Segments with fewer than 100 units "
            "in an arm are left out.",
            "segments",
        ),
        View(
            "against_itself",
            "control against itself",
            headers={"rejected": "significant\n({expected_rejections:.0%} expected)"},
        ),
        View(
            "daily", "days", ("metric", "variant", "day", "n", "delta", ("low", "high")), keys=3, folded=True
        ),
    )
    notice_texts = (NoticeText("{row.code}", "{row.text}", source="findings", subject="{row.subject}"),)

    unit: str
    control: str
    variants: pl.DataFrame
    period: tuple[str, str]
    srm: JsonObject
    findings: tuple[ExperimentFinding, ...]
    metrics: pl.DataFrame
    daily: pl.DataFrame
    segments: pl.DataFrame
    against_itself: pl.DataFrame
    settings: Mapping[str, Any]

    @property
    def unit_count(self) -> int:
        """The units of all arms."""
        return int(self.variants["units"].sum())

    @property
    def blocking(self) -> tuple[ExperimentFinding, ...]:
        """The faults that forbid all figures."""
        return tuple(finding for finding in self.findings if finding.severity == "block")

    @property
    def status(self) -> int:
        """The exit code: 3 where a fault blocks or a metric has no figure, else 0."""
        return 3 if self.blocking or self.metrics["delta"].null_count() else 0

    @property
    def treatments(self) -> str:
        """The arms other than the control."""
        return ", ".join(name for name in self.variants["variant"] if name != self.control)

    @property
    def period_text(self) -> str:
        """The period and its time zone, as the end of the headline."""
        period = f", {self.period[0]} to {self.period[1]}" if self.period[0] else ""
        zone = self.settings.get("time_zone", "UTC")
        return period if zone == "UTC" else f"{period}, days of {zone}"

    @property
    def no_figures(self) -> bool:
        """True if a fault forbids figures."""
        return bool(self.blocking) and self.metrics.is_empty()

    @property
    def has_days(self) -> bool:
        """True if there are figures of several days."""
        return not self.metrics.is_empty() and self.daily["day"].n_unique() > 1

    @property
    def is_bayesian(self) -> bool:
        """True if a metric has a probability that the arm is better."""
        return self.metrics["chance_better"].count() > 0

    @property
    def expected_rejections(self) -> float:
        """The share of random halves that differ significantly by chance."""
        return 1 - float(self.settings["level"])

    @property
    def figures(self) -> pl.DataFrame:
        """`metrics` with mde and loss as shares of the control, and levels that are not the usual one."""
        control = pl.when(pl.col("control") != 0).then(pl.col("control").abs())
        return self.metrics.with_columns(
            detectable=pl.col("mde") / control,
            loss_share=pl.col("expected_loss") / control,
            level=pl.when(pl.col("level") != self.settings["level"]).then(pl.col("level")),
        )

    @property
    def outcome_text(self) -> str:
        """A sentence for each arm: the metrics in which it is better, worse, or not shown to differ."""
        sentences = []
        for (arm,), rows in self.metrics.group_by("variant", maintain_order=True):
            parts = []
            for status, text in _OUTCOMES.items():
                names = [
                    f"{row['metric']} ({format_share(row['relative'])})"
                    for row in rows.filter(pl.col("status") == status).iter_rows(named=True)
                ]
                parts += [text.format(", ".join(names))] if names else []
            sentences.append(f"{arm} is {'; '.join(parts)}, against {self.control}.")
        return " ".join(sentences)

    @property
    def ratio_text(self) -> str:
        """Whether the units of the arms are as planned."""
        codes = {finding.code for finding in self.findings}
        text = "not as planned" if "sample-ratio" in codes else "as planned"
        return f"{text}, and not the same on all days" if "shares-changed" in codes else text

    @property
    def method_text(self) -> str:
        """The methods of p-values, intervals, correction and covariates."""
        methods = self.metrics["method"].drop_nulls().unique(maintain_order=True).to_list()
        with_relative = self.metrics.drop_nulls("relative")
        is_open = with_relative["relative_low"].null_count() or with_relative["relative_high"].null_count()
        relative_by = self.settings.get("relative", "log")
        correction = self.metrics["correction"].drop_nulls()
        templates = [
            "p and intervals: {methods:; }.",
            _RELATIVE * (relative_by != "fieller"),
            _OPEN_INTERVALS * bool(is_open),
            "p of metrics that are not guardrails: {correction[0]}." * bool(len(correction)),
        ]
        values = {"methods": methods, "relative_by": relative_by, "correction": correction}
        explained = self.metrics.drop_nulls("explained").iter_rows(named=True)
        texts = [
            *(fill(template, self, values) for template in templates),
            *(fill(_EXPLAINED, None, row) for row in explained),
            fill(_DETECTABLE, self),
        ]
        return " ".join(filter(None, texts))

    @property
    def segment_tests(self) -> str:
        """The p-value of the test whether segments differ, by metric, segment and arm."""
        tests = self.segments.drop_nulls("p_differ").unique(
            ["metric", "variant", "segment"], maintain_order=True
        )
        return "; ".join(
            f"{row['metric']} by {row['segment']} ({row['variant']}) p = {_format_p_value(row['p_differ'])}"
            for row in tests.iter_rows(named=True)
        )


_OUTCOMES = {
    "better": "better in {}",
    "worse": "worse in {}",
    "differs": "different in {}",
    "undecided": "not shown to differ in {}",
    "pass": "within the margin of {}",
    "fail": "outside the margin of {}",
    "inconclusive": "not decided in {}",
}
"""By status of a metric, what an arm is."""
