"""Differences query by query, sorted: who won, who lost, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.report.charts.door import altair
from rankgate.report.charts.parts import in_columns, note, panel, rule, table
from rankgate.report.charts.picture import Picture
from rankgate.report.charts.style import BLUE, RED
from rankgate.report.charts.words import short, shorts
from rankgate.report.figures import interval, signed

if TYPE_CHECKING:
    from rankgate.data.comparison import Comparison

_NAMED = 60  # queries whose ids can be read below their bars
_BAR, _WIDEST, _HEIGHT = 11, 680, 220
_FINE = 700  # queries whose bars are still a point wide

HOW = (
    "One bar a query, the best for the candidate first: blue gained, orange lost. "
    "Dashed: the mean difference."
)


def draw(told: Comparison) -> Picture:
    """A panel for each metric of a comparison."""
    rows: list[dict[str, Any]] = []
    panels = []
    for metric in told.names:
        own = rows_of(told, metric)
        rows += own
        panels.append(_panel(told, metric, own))
    counts = sorted({row["n"] for row in told.metrics.iter_rows(named=True)})
    return Picture(
        "deltas",
        f"{short(told.candidate.name)} against {short(told.baseline.name)}, query by query",
        HOW,
        f"{' or '.join(map(str, counts))} queries",
        told.convention,
        tuple(rows),
        in_columns(panels, 1),
    )


def rows_of(told: Comparison, metric: str) -> list[dict[str, Any]]:
    """The queries of one metric, the greatest gain first."""
    table = told.deltas(metric).sort("delta", "query_id", descending=[True, False])
    return [
        {"metric": metric, "place": i, "query": row["query_id"], "delta": row["delta"],
         "baseline": row["baseline"], "candidate": row["candidate"]}
        for i, row in enumerate(table.iter_rows(named=True))
    ]  # fmt: skip


def _panel(told: Comparison, metric: str, rows: list[dict[str, Any]]) -> Any:  # noqa: ANN401
    alt = altair()
    row = told.metrics.row(told.names.index(metric), named=True)
    count = len(rows)
    width = max(min(_BAR * count, _WIDEST), 320)
    layers = [_bars(rows, metric)]
    if row["delta"] is not None:
        layers.append(rule("mean", row["delta"], dashed=True))
    ties = f", {row['ties']} tied" if row["ties"] else ""
    layers += [
        note(f"▲ {row['wins']} won{ties}", (width - 2, 2), BLUE, align="right"),
        note(f"▼ {row['losses']} lost", (4, _HEIGHT - 2), RED, baseline="bottom"),
    ]
    ends = interval(row["low"], row["high"])
    title = f"{metric}: mean {signed(row['delta'])}, {told.level:.0%} interval {ends}"
    return alt.layer(*layers).properties(width=width, height=_HEIGHT, **panel(title))


def _bars(rows: list[dict[str, Any]], metric: str) -> Any:  # noqa: ANN401 - Altair's
    alt = altair()
    names = shorts([row["query"] for row in rows], 18)
    shown = [
        row | {"shown": name, "left": row["place"] - 0.42, "right": row["place"] + 0.42}
        for row, name in zip(rows, names, strict=True)
    ]
    sign = alt.condition("datum.delta >= 0", alt.value(BLUE), alt.value(RED))
    y = alt.Y("delta:Q", title=f"Δ {metric}", axis=alt.Axis(format="+.2~f", tickCount=6))
    tips = ["query:N", "baseline:Q", "candidate:Q", "delta:Q"]
    base = alt.Chart(table(shown))
    if len(rows) <= _NAMED:
        x = alt.X(
            "shown:N", sort=names, title=None,
            axis=alt.Axis(labelAngle=-90, labelFontSize=9, domain=False, ticks=False),
            scale=alt.Scale(paddingInner=0.15),
        )  # fmt: skip
        return base.mark_bar().encode(x=x, y=y, color=sign, tooltip=tips)
    ends = alt.Scale(domain=[-0.5, len(rows) - 0.5], nice=False)
    x = alt.X("left:Q", title=f"{len(rows)} queries, sorted", scale=ends,
              axis=alt.Axis(labels=False, ticks=False, grid=False))  # fmt: skip
    if len(rows) <= _FINE:
        return base.mark_bar().encode(x=x, x2="right:Q", y=y, color=sign, tooltip=tips)
    gains, losses = (
        base.mark_area(interpolate="step", color=shade)
        .transform_calculate(part=f"{pick}(datum.delta, 0)")
        .encode(x=x, y=alt.Y("part:Q", title=f"Δ {metric}"))
        for pick, shade in (("max", BLUE), ("min", RED))
    )
    return alt.layer(gains, losses)


def text(told: Comparison, width: int) -> str:
    """Bars of characters: every query where they fit a screen, else the two ends."""
    parts = [_text(told, metric, width) for metric in told.names]
    return "\n".join(parts)


_ENDS = 15


def _text(told: Comparison, metric: str, width: int) -> str:
    rows = rows_of(told, metric)
    row = told.metrics.row(told.names.index(metric), named=True)
    head = (
        f"{metric}: {short(told.candidate.name)} minus {short(told.baseline.name)}, mean "
        f"{signed(row['delta'])} over {row['n']} queries; {row['wins']} won, {row['ties']} tied, "
        f"{row['losses']} lost"
    )
    shown = rows if len(rows) <= 2 * _ENDS else [*rows[:_ENDS], *rows[-_ENDS:]]
    names = shorts([row["query"] for row in shown], 20)
    label = max((len(name) for name in names), default=0)
    half = max((width - label - 11) // 2, 4)
    top = max((abs(row["delta"]) for row in shown), default=0) or 1
    lines = [
        f"{name:<{label}}  {signed(row['delta'])}  {bar(row['delta'] / top, half)}".rstrip()
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
