"""Differences query by query, sorted: who won, who lost, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import in_columns, panel, rule, signed_axis, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, RED
from rankgate.core.present.charts.words import no_interval, queries, short, shorts
from rankgate.core.present.figures import interval, signed

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_NAMED = 60  # queries whose ids can be read below their bars
_BAR, _WIDEST, _HEIGHT = 11, 680, 220
_FEW, _WIDE_BAR = 12, 24  # queries, and the width of their bars in a panel with room for more
_FINE = 680  # queries whose bars are still a point wide

HOW = (
    "One bar per query, the largest gain of the candidate first: blue gained, orange lost. "
    "Dashed: the mean difference, with its interval in brackets."
)


def draw(results: Comparisons) -> Picture:
    """A panel for each metric, for the first candidate."""
    result = results.only
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in result.names:
        own = rows_of(result, metric)
        rows += own
        panels.append(_panel(result, metric, own))
    counts = sorted({row["n"] for row in result.metrics.iter_rows(named=True)})
    return Picture(
        "deltas",
        f"{short(result.candidate.name)} against {short(result.baseline.name)}, query by query",
        HOW + (f" {_FINE} of the queries are drawn." if max(counts, default=0) > _FINE else ""),
        queries(*counts),
        result.convention,
        tuple(rows),
        in_columns(panels, 1),
    )


def rows_of(result: Comparison, metric: str) -> list[dict[str, Any]]:
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
    alt = altair()
    row = result.metrics.row(result.names.index(metric), named=True)
    count = len(rows)
    width = max(min(_BAR * count, _WIDEST), 320)
    layers = [_bars(rows, metric)]
    if row["delta"] is not None:
        layers.append(rule("mean", row["delta"], dashed=True))
    ends = (
        interval(row["low"], row["high"])
        if row["low"] is not None
        else f"({no_interval(row['n'])})"
    )
    title = (
        f"{metric}: mean {signed(row['delta'])} {ends}; "
        f"{row['wins']} won, {row['ties']} tied, {row['losses']} lost"
    )
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, **panel(title))


def _bars(rows: list[dict[str, Any]], metric: str) -> Any:
    alt = altair()
    shown = _thinned(rows)
    sign = alt.condition("datum.gain >= 0", alt.value(BLUE), alt.value(RED))
    y = alt.Y("delta:Q", title=f"Δ {metric}", axis=signed_axis())
    tips = ["query:N", "baseline:Q", "candidate:Q", "delta:Q"]
    if len(rows) <= _NAMED:
        names = shorts([row["query"] for row in rows], 18)
        shown = [row | {"shown": name} for row, name in zip(shown, names, strict=True)]
        x = alt.X(
            "shown:N",
            sort=names,
            title=None,
            axis=alt.Axis(labelAngle=-90, labelFontSize=9, domain=False, ticks=False),
            scale=alt.Scale(paddingInner=0.15),
        )
        size = {"size": _WIDE_BAR} if len(rows) < _FEW else {}
        return alt.Chart(table(shown)).mark_bar(**size).encode(x=x, y=y, color=sign, tooltip=tips)
    ends = alt.Scale(domain=[-0.5, len(rows) - 0.5], nice=False)
    x = alt.X(
        "left:Q",
        title=f"{len(rows):,} queries, sorted",
        scale=ends,
        axis=alt.Axis(labels=False, ticks=False, grid=False),
    )
    bars = alt.Chart(table(shown)).mark_rect()
    return bars.encode(x=x, x2="right:Q", y=y, y2=alt.datum(0), color=sign, tooltip=tips)


def _thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every query, or as many evenly among the sorted ones as there are points to draw them."""
    half = len(rows) / (2 * min(len(rows), _FINE) or 1)
    last = len(rows) - 1
    kept = rows if last < _FINE else [rows[i * last // (_FINE - 1)] for i in range(_FINE)]
    room = half * (0.84 if kept is rows else 1)
    return [row | {"left": row["place"] - room, "right": row["place"] + room} for row in kept]


def text(results: Comparisons, width: int) -> str:
    """Bars of characters: every query where they fit a screen, else the two ends."""
    result = results.only
    parts = [_text(result, metric, width) for metric in result.names]
    return "\n".join(parts)


_ENDS = 15


def _text(result: Comparison, metric: str, width: int) -> str:
    rows = rows_of(result, metric)
    row = result.metrics.row(result.names.index(metric), named=True)
    head = (
        f"{metric}: {short(result.candidate.name)} minus {short(result.baseline.name)}, mean "
        f"{signed(row['delta'])} over {row['n']} queries; {row['wins']} won, {row['ties']} tied, "
        f"{row['losses']} lost"
    )
    shown = rows if len(rows) <= 2 * _ENDS else [*rows[:_ENDS], *rows[-_ENDS:]]
    names = shorts([row["query"] for row in shown], 20)
    label = max((len(name) for name in names), default=0)
    half = max((width - label - 11) // 2, 4)
    top = max((abs(row["delta"]) for row in shown), default=0) or 1
    lines = [
        f"{name:<{label}}  {signed(row['delta'])}  {bar(row['gain'] / top, half)}".rstrip()
        for name, row in zip(names, shown, strict=True)
    ]
    if len(shown) < len(rows):
        lines.insert(_ENDS, f"… {len(rows) - len(shown)} queries between …")
    return "\n".join([head, "", *lines]) + "\n"


def bar(share: float, half: int) -> str:
    """A bar from the middle to the right or the left.

    >>> bar(0.5, 4), bar(-1, 4), bar(0, 4)
    ('    ██', '░░░░', '    ')
    """
    size = round(abs(share) * half)
    return " " * half + "█" * size if share >= 0 else " " * (half - size) + "░" * size
