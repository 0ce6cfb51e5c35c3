"""An experiment as a document: checks first, then arms, metrics, segments and days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import p_value, probability, share, shares
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.online.experiments.experiment import Experiment

_SEGMENTS = 40
_NONE = "No figures: a fault above forbids them (rankgate online ab --despite gives them)."


def document(result: Experiment) -> Document:
    """Findings and sample ratio before any figure; then metrics, segments, days."""
    names = result.variants["variant"].to_list()
    others = ", ".join(name for name in names if name != result.control)
    period = f", {result.period[0]} to {result.period[1]}" if result.period[0] else ""
    if (zone := result.settings.get("time_zone", "UTC")) != "UTC":
        period += f", days of {zone}"
    blocked = bool(result.blocking)
    charts = []
    if not result.metrics.is_empty():
        charts = [Chart("rankgate.online.experiments.charts:intervals", result)]
        if result.daily["day"].n_unique() > 1:
            charts.append(Chart("rankgate.online.experiments.charts:days", result))
    head = tuple(result.metrics.columns)
    return made(
        f"{printable(others)} against {printable(result.control)}{period}",
        Warnings(tuple(each.text for each in result.findings)),
        _ratio(result),
        Table("arms", _arms(result)),
        _NONE if blocked else "",
        Table("metrics", _metrics(result)),
        *charts,
        _method(result) if not result.metrics.is_empty() else "",
        Table("Bayesian view", _bayesian(result)),
        Table("segments", _segments(result)),
        _differ(result),
        Table("control against itself", _itself(result)),
        Table("days", _days(result), folded=True),
        rows=PlainRows(head, list(result.metrics.iter_rows())),
    )  # fmt: skip


def _ratio(result: Experiment) -> str:
    p = result.srm["p_value"]
    mismatch = any(finding.code == "sample-ratio" for finding in result.findings)
    words = "not as planned" if mismatch else "as planned"
    return f"Sample ratio: {words} (p = {p:.2g}, {result.srm['method']})."


def _arms(result: Experiment) -> Grid:
    rows = [
        (printable(row["variant"]), f"{row['units']:,}", f"{row['planned']:.2%}",
         f"{row['observed']:.2%}")
        for row in result.variants.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(("arm", f"units\n({result.unit})", "planned", "observed"), tuple(rows))


def figure(value: float | None, kind: str = "", metric: str = "") -> str:
    """A value of a metric: proportions and shares in per cent.

    >>> figure(0.1902, "proportion"), figure(52.4563), figure(None)
    ('19.02%', '52.46', '–')
    """
    if value is None:
        return UNDEFINED
    if kind == "proportion" or _unit(metric) == "share":
        return f"{value:.2%}"
    return f"{value:,.2f}" if abs(value) >= 10 else f"{value:.4f}"


def _unit(metric: str) -> str:
    from rankgate.online.indicators.catalogue import KPIS

    return KPIS[metric].unit if metric in KPIS else ""


def _metrics(result: Experiment) -> Grid:
    rows = []
    several = result.metrics["variant"].n_unique() > 1
    for row in result.metrics.iter_rows(named=True):
        name = printable(row["metric"]) + (f" ({printable(row['variant'])})" if several else "")
        if row["role"] == "guardrail":
            name += f", guardrail {row['margin']:.1%}"
        if row["why"]:
            rows.append((name, *[UNDEFINED] * 7, row["why"]))
            continue
        rows.append((
            name, figure(row["control"], row["kind"], row["metric"]),
            figure(row["treatment"], row["kind"], row["metric"]),
            share(row["relative"]), _interval(row, result),
            _small(row["p_raw"]), _small(row["p_value"]), _mde(row), row["status"],
        ))  # fmt: skip
    head = ("metric", "control", "treatment", "relative", f"{_level(result)} interval", "p",
            f"p\n({result.settings['correction']})", "detectable", "status")  # fmt: skip
    return Grid(head, tuple(rows), frozenset({0, 8}))


def _interval(row: Mapping[str, Any], result: Experiment) -> str:
    """The relative interval; one end where the other is infinite; the level if it is another."""
    low, high = row["relative_low"], row["relative_high"]
    text = shares(low, high)
    if low is not None and high is None:
        text = f"> {share(low)}"
    elif high is not None and low is None:
        text = f"< {share(high)}"
    own = row["level"]
    return text if own is None or own == result.settings["level"] else f"{text} ({own:.0%})"


def _small(p: float | None) -> str:
    """A p-value, with more digits where it is small."""
    if p is not None and 1e-5 <= p < 0.01:
        return f"{p:.5f}"
    return p_value(p)


def _mde(row: Mapping[str, Any]) -> str:
    if row["mde"] is None or not row["control"]:
        return UNDEFINED
    return f"{row['mde'] / abs(row['control']):.1%}"


def _level(result: Experiment) -> str:
    return f"{result.settings['level']:.0%}"


def _method(result: Experiment) -> str:
    methods = result.metrics["method"].drop_nulls().unique(maintain_order=True).to_list()
    words = f"p and intervals: {'; '.join(methods)}."
    if (by := result.settings.get("relative", "log")) != "fieller":
        words += f" Relative intervals ({by}) are not of the test that p is of."
    measured = result.metrics.drop_nulls("relative")
    if measured["relative_low"].null_count() or measured["relative_high"].null_count():
        words += (
            " Where a relative interval has one end or none, the control is not clearly different "
            "from 0, and no interval with two ends keeps its level."
        )
    correction = result.metrics["correction"].drop_nulls()
    words += f" p of metrics that are no guardrails: {correction[0]}." if len(correction) else ""
    explained = result.metrics.drop_nulls("explained")
    for row in explained.iter_rows(named=True):
        words += (
            f" The covariate of {row['metric']} explains {row['explained']:.2%} of its variance"
            f" ({row['variant']})."
        )
    words += (
        f" Detectable: the smallest difference that this experiment shows with a chance of "
        f"{result.settings['power']:.0%}, as a share of the control."
    )
    return words


def _bayesian(result: Experiment) -> Grid:
    rows = [
        (printable(row["metric"]), printable(row["variant"]), probability(row["chance_better"]),
         figure(row["expected_loss"], row["kind"], row["metric"]))
        for row in result.metrics.iter_rows(named=True)
        if row["chance_better"] is not None
    ]  # fmt: skip
    prior = f"expected loss\n(prior sd {result.settings['prior']:.0%})"
    return Grid(("metric", "arm", "chance to\nbe better", prior), tuple(rows), frozenset({0, 1}))


def _segments(result: Experiment) -> Grid:
    rows = [
        (printable(row["metric"]), printable(row["variant"]),
         f"{printable(row['segment'])}={printable(row['value'])}", f"{row['n']:,}",
         figure(row["delta"], "", row["metric"]), _small(row["p_value"]))
        for row in result.segments.head(_SEGMENTS).iter_rows(named=True)
    ]  # fmt: skip
    head = ("metric", "arm", "segment", "units", "difference", "p (BH)")
    return Grid(head, tuple(rows), frozenset({0, 1, 2}))


def _differ(result: Experiment) -> str:
    if result.segments.is_empty():
        return ""
    tests = result.segments.drop_nulls("p_differ").unique(
        ["metric", "variant", "segment"], maintain_order=True
    )
    words = [
        f"{row['metric']} by {row['segment']} ({row['variant']}) p = {_small(row['p_differ'])}"
        for row in tests.iter_rows(named=True)
    ]
    return (
        f"Do segments differ? {'; '.join(words)}. Where they do not, differences between segments "
        "are noise: with 20 segments one of them has p < 0.05 by chance. Segments with fewer than "
        "100 units in an arm are left out."
    )


def _itself(result: Experiment) -> Grid:
    rows = [
        (
            printable(row["metric"]),
            f"{row['splits']:,}",
            f"{row['rejected']:,}",
            f"{row['share']:.1%}",
        )
        for row in result.against_itself.iter_rows(named=True)
    ]
    expected = f"significant\n({1 - result.settings['level']:.0%} expected)"
    return Grid(("metric", "random halves", expected, "share"), tuple(rows))


def _days(result: Experiment) -> Grid:
    rows = [
        (row["day"], printable(row["metric"]), printable(row["variant"]), f"{row['n']:,}",
         f"{row['delta']:+.4g}", f"[{row['low']:+.4g}, {row['high']:+.4g}]")
        for row in result.daily.sort(pl.col("day"), maintain_order=True).iter_rows(named=True)
    ]  # fmt: skip
    head = ("day", "metric", "arm", "units", "difference", "always-valid interval")
    return Grid(head, tuple(rows), frozenset({0, 1, 2}))
