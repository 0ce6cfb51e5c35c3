"""Charts of a comparison by system and rank: intervals, heat map, power, shares of grades.

The module holds the intervals of many differences below each other, the heat map of the values
of all systems of a comparison, the chart of power (detectable difference by number of
queries), and the charts by rank: the judged share, and the shares of the grades.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_parts import (
    ChartAxis,
    concat_panels,
    inline_data,
    labelled_lines,
    load_altair,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.chart_style import (
    BLUE,
    GREY,
    PAPER,
    RED,
    grade_colour,
    no_interval_reason,
    shorten_names,
    system_colour,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import (
    count_noun,
    count_queries,
    format_correction,
    format_interval,
    format_p_value,
    format_signed,
)
from rankgate.decisions.comparison.comparison_power import power_curves
from rankgate.decisions.comparison.comparison_tables import grades_by_rank
from rankgate.measurement.evaluation.value_charts import heat_map

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_parts import Rows
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.comparison_tables import GradesByRank


_ROW, _WIDTH, _AWAY = 22, 360, 10


def draw_forest(result: Comparisons) -> Picture:
    """A panel for each metric, a line for each candidate, the best first."""
    first_comparison = result.comparisons[0]
    alpha = round(1 - first_comparison.level, 10)
    rows = _rows(result)
    panels = [
        _panel(
            [row for row in rows if row["metric"] == metric], metric, first_comparison.baseline.name, alpha
        )
        for metric in first_comparison.names
    ]
    counts = sorted({row["n"] for row in rows})
    has_no_correction = first_comparison.correction.startswith("none")
    correction_note = "" if has_no_correction else ", not corrected"
    caption = (
        f"Mean difference from {shorten_name(first_comparison.baseline.name)} with its "
        f"{first_comparison.level:.0%} interval ({first_comparison.interval}{correction_note}), and p of the "
        f"{first_comparison.test} test, {format_correction(first_comparison.correction)}. Blue: better, "
        f"orange: worse, where p is below {alpha:g}."
    )
    candidate_count = len(result.comparisons)
    title = (
        f"{count_noun(candidate_count, 'system')} against {shorten_name(first_comparison.baseline.name)}"
        if candidate_count > 1
        else f"{shorten_name(first_comparison.candidate.name)} against "
        f"{shorten_name(first_comparison.baseline.name)}"
    )
    source = count_queries(*counts)
    return Picture(
        "forest", title, caption, source, first_comparison.convention, tuple(rows), concat_panels(panels, 1)
    )


def _rows(result: Comparisons) -> list[dict[str, Any]]:
    names = shorten_names([comparison.candidate.name for comparison in result.comparisons])
    columns = ("metric", "n", "delta", "gain", "low", "high", "p_value")
    return [
        {"system": name, **{column: row[column] for column in columns}}
        for name, comparison in zip(names, result.comparisons, strict=True)
        for row in comparison.metrics.iter_rows(named=True)
        if row["delta"] is not None
    ]


def _label(row: dict[str, Any]) -> str:
    """The figures, with the reason if there is no interval."""
    if row["low"] is None:
        return f"{format_signed(row['delta'])}  {no_interval_reason(row['n'])}"
    interval_text = format_interval(row["low"], row["high"], 3)
    return f"{format_signed(row['delta'])}  {interval_text}  p {format_p_value(row['p_value'])}"


def _panel(rows: list[dict[str, Any]], metric: str, baseline: str, alpha: float) -> Any:
    alt = load_altair()
    rows = sorted(rows, key=lambda row: (-row["gain"], row["system"]))
    labelled_rows = [row | {"words": _label(row)} for row in rows]
    is_significant = f"isValid(datum.p_value) && datum.p_value < {alpha:g}"
    shade = alt.Color(
        condition=[
            {"test": f"{is_significant} && datum.gain > 0", "value": BLUE},
            {"test": f"{is_significant} && datum.gain < 0", "value": RED},
        ],
        value=GREY,
    )
    y = alt.Y(
        "system:N",
        sort=[row["system"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title=f"Δ {metric} from {shorten_name(baseline)}", axis=signed_axis()),
        x2="high:Q",
        color=shade,
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x="delta:Q", color=shade)
    labels = base.mark_text(align="left").encode(x=alt.value(_WIDTH + _AWAY), text="words:N")
    return alt.layer(rule_line("delta", 0, along="x"), bars, points, labels).properties(
        width=_WIDTH, height=max(_ROW * len(rows), 40), **panel_title(metric)
    )


def draw_system_heat(results: Comparisons) -> Picture:
    """A panel for each metric, the baseline and every candidate in their order of means.

    Raises:
        UsageError: values of single queries were not kept.
    """
    first_comparison = results.comparisons[0]
    values: dict[str, dict[str, dict[str, float]]] = {metric: {} for metric in first_comparison.names}
    for comparison in results.comparisons:
        names = comparison.baseline.name, comparison.candidate.name
        columns = ("metric", "query_id", "baseline", "candidate")
        for metric, query, *pair in comparison.queries.select(columns).iter_rows():
            for name, value in zip(names, pair, strict=True):
                values[metric].setdefault(name, {})[query] = value
    counts = {row["n"] for row in first_comparison.metrics.iter_rows(named=True)}
    return heat_map(values, first_comparison.lower, count_queries(*counts), first_comparison.convention)


def draw_power(results: Comparisons) -> Picture:
    """A curve a metric: the detectable difference; a ring for what was measured."""
    result = power_curves(results.only)
    rows = [
        {"series": row["metric"], "n": row["n"], "detectable": row["detectable"]}
        for row in result.curves.iter_rows(named=True)
    ]
    measured_rows = [
        {"series": row["metric"], "n": row["n"], "detectable": abs(row["delta"])}
        for row in result.measured.iter_rows(named=True)
    ]
    counts = sorted({row["n"] for row in rows})
    ticks = tuple(n for n in counts if str(n).rstrip("0") in {"1", "2", "5"})
    query_axis = ChartAxis("n", "queries", (counts[0], counts[-1]), ticks, log=True)
    high = max(row["detectable"] for row in (*rows, *measured_rows)) * 1.04
    difference_axis = ChartAxis("detectable", "detectable difference", (0, high), form=".2f")
    return Picture(
        "power",
        f"Detectable difference by queries: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        f"The smallest true difference that a number of queries detects with a power of {result.power:.0%} "
        f"at level {1 - result.level:.2g}. Ring: the measured difference; above the line it is large enough "
        "to be detected.",
        f"{count_queries(*(row['n'] for row in measured_rows))} measured",
        result.convention,
        (*rows, *({**row, "series": f"{row['series']} measured"} for row in measured_rows)),
        _chart(rows, measured_rows, query_axis, difference_axis),
    )


def _chart(rows: Rows, measured_rows: Rows, query_axis: ChartAxis, difference_axis: ChartAxis) -> Any:
    alt = load_altair()
    names = list(dict.fromkeys(row["series"] for row in rows))
    shades = alt.Scale(domain=names, range=[system_colour(i) for i in range(len(names))])
    rings = (
        alt.Chart(inline_data(measured_rows))
        .mark_point(size=120, strokeWidth=2.5, fill=PAPER, opacity=1)
        .encode(
            x="n:Q",
            y="detectable:Q",
            stroke=alt.Stroke("series:N", scale=shades, legend=None),
            tooltip=["series:N", "n:Q", "detectable:Q"],
        )
    )
    return alt.layer(labelled_lines(rows, query_axis, difference_axis), rings).properties(
        width=480, height=300
    )


_STEP, _HEIGHT, _COLUMNS = 16, 180, 2
_MAX_SYSTEMS = 6  # systems with shares at single ranks that can be distinguished
_STEPS, _TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), 5
_PANELS = (("upto", "judged@k: of the first k"), ("at", "judged at rank k alone"))


def judged(source: GradesByRank | Comparisons) -> Picture:
    """Lines of judged@k and of the judged share at each rank; the rest up to 1 are holes."""
    result = grades_by_rank(source)
    names = dict(zip(result.systems, shorten_names(result.systems), strict=True))
    rows = [
        {
            "series": names[row["system"]],
            "rank": row["rank"],
            "at": row["at"],
            "upto": row["upto"],
            "lists": row["lists"],
        }
        for row in result.judged.iter_rows(named=True)
    ]
    rank_axis = ChartAxis("rank", "rank k", (1, max(result.depth, 2)), tuple(_ticks(result.depth)))
    panels = [
        labelled_lines(
            rows, rank_axis, ChartAxis(field, "share judged", form=".3~p"), size=(320, 280), title=title
        )
        for field, title in (_PANELS if len(names) <= _MAX_SYSTEMS else _PANELS[:1])
    ]
    return Picture(
        "judged",
        f"Judged share of the first {count_noun(result.depth, 'document')}",
        "Mean share of judged documents; the others are unjudged (holes), and most metrics count them as not "
        "relevant.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        concat_panels(panels),
    )


def grades(source: GradesByRank | Comparisons) -> Picture:
    """Stacked shares of the grades at each rank, a panel a system."""
    result = grades_by_rank(source)
    rows = [dict(row) for row in result.grades.iter_rows(named=True)]
    shades = shades_of(rows)
    panels = [
        _grade_panel([row for row in rows if row["system"] == name], short_name, shades, result.depth)
        for name, short_name in zip(result.systems, shorten_names(result.systems), strict=True)
    ]
    joined = concat_panels(panels, _COLUMNS)
    if len(panels) > 1:
        joined = joined.resolve_scale(color="shared")
    return Picture(
        "grades",
        f"Grades of the first {count_noun(result.depth, 'document')}, rank by rank",
        "Shares of the documents at each rank; the best grade at the bottom.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        joined,
    )


def shades_of(rows: list[dict[str, Any]]) -> dict[str, str]:
    """A colour for each label, the best grade first, unjudged last."""
    labels = {row["label"]: row["grade"] for row in rows}
    top_grade = max((grade for grade in labels.values() if grade is not None), default=0)
    sorted_labels = sorted(labels, key=lambda name: -1e9 if labels[name] is None else labels[name])
    return {name: grade_colour(labels[name], top_grade) for name in reversed(sorted_labels)}


def share_axis(channel: Any, title: str, *, ticks: int) -> Any:
    """The axis of bars of shares that add up to 1."""
    alt = load_altair()
    return channel(
        "share:Q",
        title=title,
        stack="zero",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=ticks),
    )


def label_colour(shades: Mapping[str, str]) -> Any:
    """The colour of a bar by its label, as `shades_of` gives it."""
    alt = load_altair()
    labels = list(shades)
    scale = alt.Scale(domain=labels, range=list(shades.values()))
    return alt.Color("label:N", title=None, sort=labels, scale=scale)


def _grade_panel(rows: list[dict[str, Any]], name: str, shades: Mapping[str, str], depth: int) -> Any:
    alt = load_altair()
    label_order = list(shades)
    ordered_rows = [row | {"order": label_order.index(row["label"])} for row in rows]
    ranks = list(range(1, depth + 1))
    return (
        alt.Chart(inline_data(ordered_rows))
        .mark_bar(stroke=None)
        .encode(
            x=alt.X(
                "rank:O",
                title="rank",
                scale=alt.Scale(domain=ranks, paddingInner=0.08),
                axis=alt.Axis(labelAngle=0, values=_ticks(depth), domain=False, ticks=False),
            ),
            y=share_axis(alt.Y, "share", ticks=4),
            color=label_colour(shades),
            order=alt.Order("order:Q"),
            tooltip=["rank:O", "label:N", "count:Q", "share:Q"],
        )
        .properties(width=max(_STEP * depth, 160), height=_HEIGHT, **panel_title(name))
    )


def _ticks(depth: int) -> list[int]:
    """The first rank and some round ones.

    >>> _ticks(3), _ticks(20), _ticks(100)
    ([1, 2, 3], [1, 5, 10, 15, 20], [1, 20, 40, 60, 80, 100])
    """
    step = next(step for step in _STEPS if depth <= _TICKS * step or step == _STEPS[-1])
    return sorted({1, *range(step, depth + 1, step)})
