"""Charts of click models, off-policy estimates, a replay and interleaving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import concat_panels, inline_data, load_altair, panel_title
from rankgate.core.present.charts.chart_style import BLUE, GREY, INK
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.online.clicks.click_judgments import ClickJudgments
    from rankgate.online.interleaving.preference import Preference, Sensitivity
    from rankgate.online.off_policy.counterfactual_replay import CounterfactualReplay
    from rankgate.online.off_policy.off_policy_estimate import OffPolicyEstimate


_SIZE = {"width": 300, "height": 240}
_ROW_HEIGHT = 24  # points a model


def models(result: ClickJudgments) -> Picture:
    """Models by how well they predict held-out clicks, and the perplexity of the best by rank."""
    if result.models.is_empty():
        raise UsageError("no models were compared.", code="nothing-to-draw")
    rows = result.models.select("model", "log_likelihood", "perplexity").to_dicts()
    alt = load_altair()
    order = [row["model"] for row in rows]
    colour = alt.condition(alt.datum.model == result.model, alt.value(BLUE), alt.value(GREY))
    bars = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=60)
        .encode(
            y=alt.Y("model:N", sort=order, title=None),
            x=alt.X("log_likelihood:Q", title="log-likelihood a search", scale=alt.Scale(zero=False)),
            color=colour,
            tooltip=["model:N", "log_likelihood:Q", "perplexity:Q"],
        )
    )
    rank_rows = result.by_rank.filter(
        pl.col("model") == (result.model if result.model in order else order[0])
    ).to_dicts()
    lines = (
        alt.Chart(inline_data(rank_rows))
        .mark_line(color=BLUE, point={"color": BLUE})
        .encode(
            x=alt.X("rank:O", title="rank"),
            y=alt.Y("perplexity:Q", title="perplexity", scale=alt.Scale(zero=False)),
            tooltip=["rank:O", "perplexity:Q"],
        )
    )
    size = {**_SIZE, "height": max(_ROW_HEIGHT * len(rows), 80)}
    panels = [
        bars.properties(**size, **panel_title("held-out searches")),
        lines.properties(**_SIZE, **panel_title(f"{rank_rows[0]['model']} by rank" if rank_rows else "")),
    ]
    return Picture(
        "click-models",
        "Which click model predicts best",
        "Further right is a better prediction of clicks in searches that the model has not seen. A "
        "perplexity of 1 is perfect, 2 is no better than a coin.",
        count_noun(result.searches, "search"),
        {"name": "click models", "hash": ""},
        (*rows, *rank_rows),
        concat_panels(panels, 2),
    )


def curves(result: ClickJudgments) -> Picture:
    """Parameters that all documents share by rank, with intervals."""
    rows = result.curves.to_dicts()
    if not rows:
        raise UsageError("the model has no shared parameters.", code="nothing-to-draw")
    alt = load_altair()
    names = result.curves["name"].unique(maintain_order=True).to_list()
    panels = []
    for name in names:
        base = alt.Chart(inline_data([row for row in rows if row["name"] == name])).encode(
            x=alt.X("place:Q", title="rank", axis=alt.Axis(tickMinStep=1))
        )
        y = alt.Y("low:Q", title=name, scale=alt.Scale(zero=True))
        band = base.mark_area(color=BLUE, opacity=0.2).encode(y=y, y2="high:Q")
        line = base.mark_line(color=BLUE, point={"color": BLUE}).encode(
            y="value:Q", tooltip=["place:Q", "value:Q", "low:Q", "high:Q"]
        )
        panels.append((band + line).properties(**_SIZE, **panel_title(name)))
    return Picture(
        "click-curves",
        f"Overlap of documents in {result.model}",
        "Parameters by rank with 95 % intervals (bootstrap over sessions). Examination is how often a rank "
        "is looked at, relative to the first.",
        count_noun(result.searches, "search"),
        {"name": "click models", "hash": ""},
        tuple(rows),
        concat_panels(panels, 2),
    )


def _interval_marks(
    rows: Sequence[Mapping[str, Any]], x: Any, y: Any, colour: Any, tooltip: Sequence[str]
) -> tuple[Any, Any]:
    """Intervals from low to high, and a point at the value, which the tooltip has second."""
    chart = load_altair().Chart(inline_data(rows))
    intervals = chart.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=y, color=colour)
    points = chart.mark_point(filled=True, size=70).encode(
        x=tooltip[1], y=y, color=colour, tooltip=list(tooltip)
    )
    return intervals, points


_WIDTH = 420
_ESTIMATE_ROW = 30  # points an estimator


def estimates(result: OffPolicyEstimate) -> Picture:
    """Every estimate with its interval, and the reward of the log."""
    with_interval = result.estimates.filter(pl.col("low").is_not_null())
    if with_interval.is_empty():
        raise UsageError("the log allows no estimate.", code="nothing-to-draw")
    rows = with_interval.select("estimator", "value", "low", "high").to_dicts()
    alt = load_altair()
    y = alt.Y("estimator:N", sort=None, title=None)
    colour = alt.condition(alt.datum.estimator == result.estimator, alt.value(BLUE), alt.value(GREY))
    x = alt.X("low:Q", title="reward", scale=alt.Scale(zero=False))
    tooltip = ["estimator:N", "value:Q", "low:Q", "high:Q"]
    intervals, points = _interval_marks(rows, x, y, colour, tooltip)
    line = alt.Chart(inline_data([{"logged": result.logged}])).mark_rule(color=INK, strokeDash=[2, 2])
    chart = (line.encode(x="logged:Q") + intervals + points).properties(
        width=_WIDTH, height=_ESTIMATE_ROW * len(rows)
    )
    return Picture(
        "off-policy",
        f"What {result.target} would have earned",
        "The dashed line is the reward of the logged policy; blue is the reported estimate. Intervals are "
        f"{result.level:.0%}.",
        f"{count_noun(result.units, 'logged decision')}, effective size {result.ess:,.0f}",
        {"name": "off-policy", "hash": ""},
        tuple(rows),
        chart,
    )


_REPLAY_ROW = 36  # points a measure


def measures(result: CounterfactualReplay) -> Picture:
    """The difference to the logged lists, relative to them, with its interval."""
    rows = [
        {
            "measure": row["measure"],
            "delta": row["delta"] / row["logged"],
            "low": row["delta_low"] / row["logged"],
            "high": row["delta_high"] / row["logged"],
        }
        for row in result.measures.iter_rows(named=True)
        if row["logged"]
    ]
    if not rows:
        raise UsageError("the log allows no estimate.", code="nothing-to-draw")
    alt = load_altair()
    y = alt.Y("measure:N", sort=None, title=None)
    clear = (alt.datum.low > 0) | (alt.datum.high < 0)
    colour = alt.condition(clear, alt.value(BLUE), alt.value(GREY))
    x = alt.X("low:Q", title="candidate less logged", axis=alt.Axis(format="+.0%"))
    tooltip = ["measure:N", "delta:Q", "low:Q", "high:Q"]
    intervals, points = _interval_marks(rows, x, y, colour, tooltip)
    zero = alt.Chart(inline_data([{"x": 0}])).mark_rule(color=INK, strokeDash=[2, 2]).encode(x="x:Q")
    return Picture(
        "replay",
        f"What users would do with {result.candidate}",
        "Right of 0 the candidate would earn more than the lists that were shown. Intervals are "
        f"{result.level:.0%}; grey ones show no difference.",
        f"{count_noun(result.searches, 'search')}, {result.support:.0%} of the candidate ever shown",
        {"name": "replay", "hash": ""},
        tuple(rows),
        (zero + intervals + points).properties(width=_WIDTH, height=_REPLAY_ROW * len(rows)),
    )


_PREFERENCE_ROW = 34  # points a pair or test


def preferences(result: Preference) -> Picture:
    """The preference of each pair with its interval: of wins, or of credits."""
    signs = result.test == "sign"
    value, low, high = ("preference", "low", "high") if signs else ("credit", "credit_low", "credit_high")
    with_interval = result.pairs.filter(pl.col(low).is_not_null())
    if with_interval.is_empty():
        raise UsageError("no pair has clicks enough for an interval.", code="nothing-to-draw")
    rows = [
        {
            "pair": f"{row['other']} against {row['one']}",
            "value": row[value],
            "low": row[low],
            "high": row[high],
            "preferred": row["preferred"] or "none",
        }
        for row in with_interval.iter_rows(named=True)
    ]
    alt = load_altair()
    y = alt.Y("pair:N", sort=None, title=None, axis=alt.Axis(labelLimit=260))
    colour = alt.condition(alt.datum.preferred == "none", alt.value(GREY), alt.value(BLUE))
    axis = alt.Axis(format="+.0%") if signs else alt.Axis()
    x = alt.X("low:Q", title="preference" if signs else "difference of credits", axis=axis)
    tooltip = ["pair:N", "value:Q", "low:Q", "high:Q", "preferred:N"]
    intervals, points = _interval_marks(rows, x, y, colour, tooltip)
    return Picture(
        "preference",
        "Which system users prefer",
        f"Right of 0 users prefer the first named system. Intervals are {result.level:.0%}; grey ones show "
        "no preference.",
        f"{result.clicked:,} {result.unit}s with clicks, {result.method}",
        {"name": "interleaving", "hash": ""},
        tuple(rows),
        _with_zero_line(intervals + points, len(rows)),
    )


def sensitivities(result: Sensitivity) -> Picture:
    """The searches that each test needs, on a logarithmic axis."""
    with_effect = result.tests.filter(pl.col("needed").is_not_null()).sort("needed")
    if with_effect.is_empty():
        raise UsageError("no test shows an effect.", code="nothing-to-draw")
    rows = with_effect.select("test", "design", "needed").to_dicts()
    alt = load_altair()
    points = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=80)
        .encode(
            x=alt.X("needed:Q", title="searches needed", scale=alt.Scale(type="log")),
            y=alt.Y("test:N", sort=[row["test"] for row in rows], title=None),
            color=alt.condition(alt.datum.design == "A/B", alt.value(GREY), alt.value(BLUE)),
            tooltip=["test:N", "design:N", "needed:Q"],
        )
    )
    return Picture(
        "sensitivity",
        "How many searches tests need",
        "Blue points are interleaving, grey ones KPIs of an A/B test; further left is better. For a power of "
        "80 % at 5 %.",
        f"{count_noun(result.searches, 'simulated search')}, {result.user} users",
        {"name": "interleaving", "hash": ""},
        tuple(rows),
        points.properties(width=_WIDTH, height=_PREFERENCE_ROW * len(rows)),
    )


def _with_zero_line(layers: object, rows: int) -> Any:
    alt = load_altair()
    zero = alt.Chart(inline_data([{"x": 0}])).mark_rule(color=INK, strokeDash=[2, 2]).encode(x="x:Q")
    return (zero + layers).properties(width=_WIDTH, height=_PREFERENCE_ROW * rows)
