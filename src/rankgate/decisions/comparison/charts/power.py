"""Chart of power: detectable difference by number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import ChartAxis, labelled_lines, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import PAPER, colour
from rankgate.core.present.charts.words import queries, short
from rankgate.decisions.comparison.planned import planned

if TYPE_CHECKING:
    from rankgate.core.present.charts.parts import Rows
    from rankgate.decisions.comparison.comparison import Comparisons


def draw(results: Comparisons) -> Picture:
    """A curve a metric: the detectable difference; a ring for what was measured."""
    result = planned(results.only)
    rows = [
        {"series": row["metric"], "n": row["n"], "detectable": row["detectable"]}
        for row in result.curves.iter_rows(named=True)
    ]
    measured = [
        {"series": row["metric"], "n": row["n"], "detectable": abs(row["delta"])}
        for row in result.measured.iter_rows(named=True)
    ]
    counts = sorted({row["n"] for row in rows})
    ticks = tuple(n for n in counts if str(n).rstrip("0") in {"1", "2", "5"})
    x = ChartAxis("n", "queries", (counts[0], counts[-1]), ticks, log=True)
    high = max(row["detectable"] for row in (*rows, *measured)) * 1.04
    y = ChartAxis("detectable", "detectable difference", (0, high), form=".2f")
    return Picture(
        "power",
        f"Detectable difference by queries: {short(result.candidate)} against "
        f"{short(result.baseline)}",
        f"The smallest true difference that a number of queries detects with a power of "
        f"{result.power:.0%} at level {1 - result.level:.2g}. Ring: the measured difference; "
        "above the line it is large enough to be detected.",
        f"{queries(*(row['n'] for row in measured))} measured",
        result.convention,
        (*rows, *({**row, "series": f"{row['series']} measured"} for row in measured)),
        _chart(rows, measured, x, y),
    )


def _chart(rows: Rows, measured: Rows, x: ChartAxis, y: ChartAxis) -> Any:
    alt = altair()
    names = list(dict.fromkeys(row["series"] for row in rows))
    shades = alt.Scale(domain=names, range=[colour(i) for i in range(len(names))])
    rings = (
        alt.Chart(table(measured))
        .mark_point(size=120, strokeWidth=2.5, fill=PAPER, opacity=1)
        .encode(
            x="n:Q",
            y="detectable:Q",
            stroke=alt.Stroke("series:N", scale=shades, legend=None),
            tooltip=["series:N", "n:Q", "detectable:Q"],
        )
    )
    return alt.layer(labelled_lines(rows, x, y), rings).properties(width=480, height=300)
