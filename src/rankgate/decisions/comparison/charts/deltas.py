"""Differences query by query, sorted: who won, who lost, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import (
    concat_panels,
    inline_data,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, RED
from rankgate.core.present.charts.words import (
    count_queries,
    no_interval_reason,
    shorten_name,
    shorten_names,
)
from rankgate.core.present.figures import format_interval, format_signed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_MAX_NAMED = 60  # most queries with ids below their bars
_BAR, _WIDEST, _HEIGHT = 11, 680, 220
_FEW, _WIDE_BAR = 12, 24  # queries, and the width of their bars in a panel with room for more
_MAX_BARS = 680  # most queries with bars at least a point wide

EXPLANATION = (
    "One bar per query, the largest gain of the candidate first: blue gained, orange lost. "
    "Dashed: the mean difference, with its interval in brackets."
)


def draw(results: Comparisons) -> Picture:
    """A panel for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in result.names:
        metric_rows = delta_rows(result, metric)
        rows += metric_rows
        panels.append(_panel(result, metric, metric_rows))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "deltas",
        f"{shorten_name(result.candidate.name)} against {shorten_name(result.baseline.name)}, "
        "query by query",
        EXPLANATION
        + (f" {_MAX_BARS} of the queries are drawn." if max(counts, default=0) > _MAX_BARS else ""),
        count_queries(*counts),
        result.convention,
        tuple(rows),
        concat_panels(panels, 1),
    )


def delta_rows(result: Comparison, metric: str) -> list[dict[str, Any]]:
    """The queries of one metric, the greatest gain first."""
    table = result.deltas(metric).sort("gain", "query_id", descending=[True, False])
    return [
        {
            "metric": metric,
            "place": i,
            "query": row["query_id"],
            "delta": row["delta"],
            "gain": row["gain"],
            "baseline": row["baseline"],
            "candidate": row["candidate"],
        }
        for i, row in enumerate(table.iter_rows(named=True))
    ]


def _panel(result: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    row = result.metrics.row(result.names.index(metric), named=True)
    count = len(rows)
    width = max(min(_BAR * count, _WIDEST), 320)
    layers = [_bars(rows, metric)]
    if row["delta"] is not None:
        layers.append(rule_line("mean", row["delta"], dashed=True))
    interval_text = (
        format_interval(row["low"], row["high"])
        if row["low"] is not None
        else f"({no_interval_reason(row['n'])})"
    )
    title = (
        f"{metric}: mean {format_signed(row['delta'])} {interval_text}; "
        f"{row['wins']} won, {row['ties']} tied, {row['losses']} lost"
    )
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, **panel_title(title))


def _bars(rows: list[dict[str, Any]], metric: str) -> Any:
    alt = load_altair()
    bar_rows = _thin_rows(rows)
    sign = alt.condition("datum.gain >= 0", alt.value(BLUE), alt.value(RED))
    y = alt.Y("delta:Q", title=f"Δ {metric}", axis=signed_axis())
    tooltip = ["query:N", "baseline:Q", "candidate:Q", "delta:Q"]
    if len(rows) <= _MAX_NAMED:
        names = shorten_names([row["query"] for row in rows], 18)
        bar_rows = [row | {"shown": name} for row, name in zip(bar_rows, names, strict=True)]
        x = alt.X(
            "shown:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=-90, labelFontSize=9, domain=False, ticks=False),
            scale=alt.Scale(paddingInner=0.15),
        )
        size = {"size": _WIDE_BAR} if len(rows) < _FEW else {}
        return (
            alt.Chart(inline_data(bar_rows))
            .mark_bar(**size)
            .encode(x=x, y=y, color=sign, tooltip=tooltip)
        )
    position_scale = alt.Scale(domain=[-0.5, len(rows) - 0.5], nice=False)
    x = alt.X(
        "left:Q",
        title=f"{len(rows):,} queries, sorted",
        scale=position_scale,
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    bars = alt.Chart(inline_data(bar_rows)).mark_rect()
    return bars.encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=sign, tooltip=tooltip)


def _thin_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep all rows, or an even selection of the sorted rows if there are more than points."""
    half = len(rows) / (2 * min(len(rows), _MAX_BARS) or 1)
    last_index = len(rows) - 1
    drawn_rows = (
        rows
        if last_index < _MAX_BARS
        else [rows[i * last_index // (_MAX_BARS - 1)] for i in range(_MAX_BARS)]
    )
    room = half * (0.84 if drawn_rows is rows else 1)
    return [row | {"left": row["place"] - room, "right": row["place"] + room} for row in drawn_rows]


def text(results: Comparisons, width: int) -> str:
    """Draw bars of characters: all queries if they fit a screen, else both ends."""
    result = results.only
    texts = [_metric_text(result, metric, width) for metric in result.names]
    return "\n".join(texts)


_ENDS = 15


def _metric_text(result: Comparison, metric: str, width: int) -> str:
    rows = delta_rows(result, metric)
    row = result.metrics.row(result.names.index(metric), named=True)
    heading = (
        f"{metric}: {shorten_name(result.candidate.name)} minus "
        f"{shorten_name(result.baseline.name)}, mean "
        f"{format_signed(row['delta'])} over {row['n']} queries; {row['wins']} won, "
        f"{row['ties']} tied, "
        f"{row['losses']} lost"
    )
    shown_rows = rows if len(rows) <= 2 * _ENDS else [*rows[:_ENDS], *rows[-_ENDS:]]
    names = shorten_names([row["query"] for row in shown_rows], 20)
    label = max((len(name) for name in names), default=0)
    half = max((width - label - 11) // 2, 4)
    max_delta = max((abs(row["delta"]) for row in shown_rows), default=0) or 1
    lines = [
        (
            f"{name:<{label}}  {format_signed(row['delta'])}  {bar(row['gain'] / max_delta, half)}"
        ).rstrip()
        for name, row in zip(names, shown_rows, strict=True)
    ]
    if len(shown_rows) < len(rows):
        lines.insert(_ENDS, f"… {len(rows) - len(shown_rows)} queries between …")
    return "\n".join([heading, "", *lines]) + "\n"


def bar(share: float, half: int) -> str:
    """A bar from the middle to the right or the left.

    >>> bar(0.5, 4), bar(-1, 4), bar(0, 4)
    ('    ██', '░░░░', '    ')
    """
    size = round(abs(share) * half)
    return " " * half + "█" * size if share >= 0 else " " * (half - size) + "░" * size
