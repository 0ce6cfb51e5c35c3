"""Arms compared on KPIs: the result of ``ab``, its findings and its document.

Findings warn about an experiment's figures, or block them. The document shows checks first, then
arms, metrics, segments and days.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import LEVEL, P_RAW
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
from rankgate.core.present.number_formats import (
    UNDEFINED,
    format_p_value,
    format_probability,
    format_share,
    format_share_interval,
)
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

    @property
    def notice(self) -> Notice:
        """The fault as a notice of a result."""
        return Notice(self.code, self.text, self.subject)


VARIANTS = Columns(
    "One row per arm.",
    Column("variant", pl.String, "the arm"),
    Column("planned", pl.Float64, "the planned share of units"),
    Column("observed", pl.Float64, "the observed share of units"),
    Column("units", pl.Int64, "units in the arm", unit="units"),
)
METRICS = Columns(
    "One row per metric and arm; no rows where a finding blocks.",
    Column("metric", pl.String, "the KPI"),
    Column("kind", pl.String, "its kind: mean, proportion, ratio or quantile"),
    Column("role", pl.String, "its role: success or guardrail"),
    Column("better", pl.String, "its better direction"),
    Column("variant", pl.String, "the arm"),
    Column("n_control", pl.Int64, "units of the control", unit="units"),
    Column("n", pl.Int64, "units of the arm", unit="units"),
    Column("control", pl.Float64, "the value of the control"),
    Column("treatment", pl.Float64, "the value of the arm"),
    Column("delta", pl.Float64, "treatment − control"),
    Column("low", pl.Float64, "the low end of the interval of delta"),
    Column("high", pl.Float64, "the high end of the interval of delta"),
    Column("relative", pl.Float64, "delta / control"),
    Column("relative_low", pl.Float64, "the low end of the interval of relative"),
    Column("relative_high", pl.Float64, "the high end of the interval of relative"),
    LEVEL,
    Column("method", pl.String, "the method of the interval and the test"),
    P_RAW,
    Column("p_value", pl.Float64, "the p-value after the correction"),
    Column("correction", pl.String, "the correction of the p-value, and over how many tests"),
    Column(
        "mde",
        pl.Float64,
        "the smallest true difference that these units show with the power that was asked for",
    ),
    Column("explained", pl.Float64, "the share of the variance that earlier values of the units explain"),
    Column("chance_better", pl.Float64, "the probability that the arm is better"),
    Column("expected_loss", pl.Float64, "the expected loss if the arm is chosen"),
    Column("margin", pl.Float64, "the largest loss that does not matter; null where none was given"),
    Column("status", pl.String, "how the metric ended"),
    Column("why", pl.String, "the reason where figures are null"),
)
DAILY = Columns(
    "One row per metric, arm and day: the difference at the end of the day.",
    Column("metric", pl.String, "the KPI"),
    Column("variant", pl.String, "the arm"),
    Column("day", pl.String, "the day"),
    Column("n", pl.Int64, "units of the arm until then", unit="units"),
    Column("delta", pl.Float64, "treatment − control"),
    Column("low", pl.Float64, "the low end of the always-valid interval"),
    Column("high", pl.Float64, "the high end of the always-valid interval"),
)
SEGMENTS = Columns(
    "One row per metric, arm and value of a segment.",
    Column("metric", pl.String, "the KPI"),
    Column("variant", pl.String, "the arm"),
    Column("segment", pl.String, "the name of the segment"),
    Column("value", pl.String, "its value"),
    Column("n", pl.Int64, "units of the arm in it", unit="units"),
    Column("delta", pl.Float64, "treatment − control"),
    Column("low", pl.Float64, "the low end of the interval of delta"),
    Column("high", pl.Float64, "the high end of the interval of delta"),
    P_RAW,
    Column("p_value", pl.Float64, "the p-value after the correction"),
    Column("p_differ", pl.Float64, "the p-value of the test whether segments differ"),
)
AGAINST_ITSELF = Columns(
    "One row per metric: random halves of the control.",
    Column("metric", pl.String, "the KPI"),
    Column("splits", pl.Int64, "how often the control was split"),
    Column("rejected", pl.Int64, "splits in which the halves differ significantly"),
    Column("share", pl.Float64, "rejected / splits", ".1%"),
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

    kind: ClassVar[str] = "experiment"
    label: ClassVar[str] = "Experiment"
    document_from: ClassVar[str] = "rankgate.online.experiments.experiment_result:experiment_document"
    charts: ClassVar[Mapping[str, str]] = {
        "experiment": "rankgate.online.charts.experiment_charts:intervals",
        "experiment-days": "rankgate.online.charts.experiment_charts:days",
    }
    order: ClassVar[int] = 64
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "variants": VARIANTS,
        "metrics": METRICS,
        "daily": DAILY,
        "segments": SEGMENTS,
        "against_itself": AGAINST_ITSELF,
    }

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
    def blocking(self) -> tuple[ExperimentFinding, ...]:
        """The faults that forbid all figures."""
        return tuple(finding for finding in self.findings if finding.severity == "block")

    @property
    def status(self) -> int:
        """The exit code: 3 where a fault blocks or a metric has no figure, else 0."""
        return 3 if self.blocking or self.metrics["delta"].null_count() else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The faults, those that block first."""
        return tuple(finding.notice for finding in self.findings)

    def _table(self) -> pl.DataFrame:
        return self.metrics


_SEGMENTS = 40
_LOSS_NOTE = (
    "Expected loss: by how much the metric is worse on average if the arm is launched, where better counts "
    "as 0; in brackets as a share of the control."
)
_UNITS = {"ms": " ms", "millisecond": " ms", "seconds": " s", "days": " days", "pages": " pages"}
_NO_FIGURES_NOTE = "No figures: a fault above forbids them (rankgate online ab --despite gives them)."


def experiment_document(result: Experiment) -> Document:
    """Findings and sample ratio before any figure; then metrics, segments, days."""
    names = result.variants["variant"].to_list()
    treatments = ", ".join(name for name in names if name != result.control)
    period = f", {result.period[0]} to {result.period[1]}" if result.period[0] else ""
    if (zone := result.settings.get("time_zone", "UTC")) != "UTC":
        period += f", days of {zone}"
    charts = []
    if not result.metrics.is_empty():
        charts = [Chart("rankgate.online.charts.experiment_charts:intervals", result)]
        if result.daily["day"].n_unique() > 1:
            charts.append(Chart("rankgate.online.charts.experiment_charts:days", result))
    columns = tuple(result.metrics.columns)
    return made(
        f"{make_printable(treatments)} against {make_printable(result.control)}{period}",
        Warnings(tuple(finding.text for finding in result.findings)),
        _ratio(result),
        Table("arms", _arms(result)),
        _NO_FIGURES_NOTE if result.blocking and result.metrics.is_empty() else "",
        Table("metrics", _metrics(result)),
        *charts,
        _describe_method(result) if not result.metrics.is_empty() else "",
        Table("Bayesian view", _bayesian(result)),
        _LOSS_NOTE if result.metrics["chance_better"].count() else "",
        Table("segments", _segments(result)),
        _describe_segment_tests(result),
        Table("control against itself", _self_comparison(result)),
        Table("days", _days(result), folded=True),
        lead=_verdict_sentences(result),
        rows=PlainRows(columns, list(result.metrics.iter_rows())),
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


def _verdict_sentences(result: Experiment) -> tuple[str, ...]:
    """A sentence for each arm: the metrics in which it is better, worse, or not shown to differ."""
    if result.metrics.is_empty():
        return ("No verdict: a fault of the experiment forbids figures.",) if result.blocking else ()
    sentences = []
    for (arm,), rows in result.metrics.group_by("variant", maintain_order=True):
        parts = []
        for status, text in _OUTCOMES.items():
            names = [
                f"{row['metric']} ({format_share(row['relative'])})"
                for row in rows.filter(pl.col("status") == status).iter_rows(named=True)
            ]
            parts += [text.format(", ".join(names))] if names else []
        sentences.append(
            f"{make_printable(str(arm))} is {'; '.join(parts)}, against {make_printable(result.control)}."
        )
    return tuple(sentences)


def _ratio(result: Experiment) -> str:
    p = result.srm["p_value"]
    codes = {finding.code for finding in result.findings}
    status_text = "not as planned" if "sample-ratio" in codes else "as planned"
    if "shares-changed" in codes:
        status_text += ", and not the same on all days"
    return f"Sample ratio: {status_text} (p = {p:.2g}, {result.srm['method']})."


def _arms(result: Experiment) -> Grid:
    rows = [
        (
            make_printable(row["variant"]),
            f"{row['units']:,}",
            f"{row['planned']:.2%}",
            f"{row['observed']:.2%}",
        )
        for row in result.variants.iter_rows(named=True)
    ]
    return Grid(("arm", f"units\n({result.unit})", "planned", "observed"), tuple(rows))


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


def _kpi_unit(metric: str) -> str:
    from rankgate.online.indicators.kpi_catalogue import KPIS

    return KPIS[metric].unit if metric in KPIS else ""


def _metrics(result: Experiment) -> Grid:
    rows = []
    has_several_arms = result.metrics["variant"].n_unique() > 1
    for row in result.metrics.iter_rows(named=True):
        name = make_printable(row["metric"]) + (
            f" ({make_printable(row['variant'])})" if has_several_arms else ""
        )
        if row["role"] == "guardrail":
            name += f", guardrail {row['margin']:.1%}"
        if row["why"]:
            rows.append((name, *[UNDEFINED] * 7, row["why"]))
            continue
        rows.append(
            (
                name,
                format_figure(row["control"], row["kind"], row["metric"]),
                format_figure(row["treatment"], row["kind"], row["metric"]),
                format_share(row["relative"]),
                _interval(row, result),
                _format_p_value(row["p_raw"]),
                _format_p_value(row["p_value"]),
                _format_mde(row),
                row["status"],
            )
        )
    header = (
        "metric",
        "control",
        "treatment",
        "relative",
        f"{result.settings['level']:.0%} interval",
        "p",
        f"p\n({result.settings['correction']})",
        "detectable",
        "status",
    )
    return Grid(header, tuple(rows), frozenset({0, 8}))


def _interval(row: Mapping[str, Any], result: Experiment) -> str:
    """The relative interval; one end if the other is infinite; the level if not the default."""
    low, high = row["relative_low"], row["relative_high"]
    text = format_share_interval(low, high)
    if low is not None and high is None:
        text = f"> {format_share(low)}"
    elif high is not None and low is None:
        text = f"< {format_share(high)}"
    level = row["level"]
    return text if level is None or level == result.settings["level"] else f"{text} ({level:.0%})"


def _format_p_value(p: float | None) -> str:
    """Format a p-value, with more digits if it is small."""
    if p is not None and 1e-5 <= p < 0.01:
        return f"{p:.5f}"
    return format_p_value(p)


def _format_mde(row: Mapping[str, Any]) -> str:
    if row["mde"] is None or not row["control"]:
        return UNDEFINED
    return f"{row['mde'] / abs(row['control']):.1%}"


def _describe_method(result: Experiment) -> str:
    methods = result.metrics["method"].drop_nulls().unique(maintain_order=True).to_list()
    sentences = f"p and intervals: {'; '.join(methods)}."
    if (relative_by := result.settings.get("relative", "log")) != "fieller":
        sentences += f" Relative intervals ({relative_by}) do not belong to the test that gives p."
    with_relative = result.metrics.drop_nulls("relative")
    if with_relative["relative_low"].null_count() or with_relative["relative_high"].null_count():
        sentences += (
            " If a relative interval has one end or none, the control is not clearly different from 0, and "
            "an interval with two ends would not keep its level."
        )
    correction = result.metrics["correction"].drop_nulls()
    sentences += f" p of metrics that are not guardrails: {correction[0]}." if len(correction) else ""
    explained = result.metrics.drop_nulls("explained")
    for row in explained.iter_rows(named=True):
        sentences += (
            f" The covariate of {row['metric']} explains {row['explained']:.2%} of its variance"
            f" ({row['variant']})."
        )
    sentences += (
        f" Detectable: the smallest difference that this experiment shows with a chance of "
        f"{result.settings['power']:.0%}, as a share of the control."
    )
    return sentences


def _bayesian(result: Experiment) -> Grid:
    rows = [
        (
            make_printable(row["metric"]),
            make_printable(row["variant"]),
            format_probability(row["chance_better"]),
            _format_loss(row),
        )
        for row in result.metrics.iter_rows(named=True)
        if row["chance_better"] is not None
    ]
    prior = f"expected loss\n(prior sd {result.settings['prior']:.0%})"
    return Grid(("metric", "arm", "chance to\nbe better", prior), tuple(rows), frozenset({0, 1}))


def _format_loss(row: Mapping[str, Any]) -> str:
    """The expected loss in the unit of the metric, and as a share of the control."""
    loss, unit = row["expected_loss"], _kpi_unit(row["metric"])
    if loss is None:
        return UNDEFINED
    if row["kind"] == "proportion" or unit == "share":
        text = f"{100 * loss:.2f} points"
    else:
        text = format_figure(loss) + _UNITS.get(unit, "")
    return f"{text} ({loss / abs(row['control']):.1%})" if row["control"] else text


def _segments(result: Experiment) -> Grid:
    rows = [
        (
            make_printable(row["metric"]),
            make_printable(row["variant"]),
            f"{make_printable(row['segment'])}={make_printable(row['value'])}",
            f"{row['n']:,}",
            format_figure(row["delta"], "", row["metric"]),
            _format_p_value(row["p_value"]),
        )
        for row in result.segments.head(_SEGMENTS).iter_rows(named=True)
    ]
    header = ("metric", "arm", "segment", "units", "difference", "p (BH)")
    return Grid(header, tuple(rows), frozenset({0, 1, 2}))


def _describe_segment_tests(result: Experiment) -> str:
    if result.segments.is_empty():
        return ""
    tests = result.segments.drop_nulls("p_differ").unique(
        ["metric", "variant", "segment"], maintain_order=True
    )
    test_texts = [
        f"{row['metric']} by {row['segment']} ({row['variant']}) p = {_format_p_value(row['p_differ'])}"
        for row in tests.iter_rows(named=True)
    ]
    return (
        f"Do segments differ? {'; '.join(test_texts)}. Where they do not, differences between segments are "
        "noise: with 20 segments one of them has p < 0.05 by chance. Segments with fewer than 100 units in "
        "an arm are left out."
    )


def _self_comparison(result: Experiment) -> Grid:
    rows = [
        (make_printable(row["metric"]), f"{row['splits']:,}", f"{row['rejected']:,}", f"{row['share']:.1%}")
        for row in result.against_itself.iter_rows(named=True)
    ]
    expected = f"significant\n({1 - result.settings['level']:.0%} expected)"
    return Grid(("metric", "random halves", expected, "share"), tuple(rows))


def _days(result: Experiment) -> Grid:
    rows = [
        (
            row["day"],
            make_printable(row["metric"]),
            make_printable(row["variant"]),
            f"{row['n']:,}",
            f"{row['delta']:+.4g}",
            f"[{row['low']:+.4g}, {row['high']:+.4g}]",
        )
        for row in result.daily.sort(pl.col("day"), maintain_order=True).iter_rows(named=True)
    ]
    header = ("day", "metric", "arm", "units", "difference", "always-valid interval")
    return Grid(header, tuple(rows), frozenset({0, 1, 2}))
