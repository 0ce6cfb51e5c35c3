"""Chart of power: detectable difference by number of queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import ChartAxis, inline_data, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import PAPER, system_colour
from rankgate.core.present.charts.words import count_queries, shorten_name
from rankgate.decisions.comparison.planned import power_curves

if TYPE_CHECKING:
    from rankgate.core.present.charts.parts import Rows
    from rankgate.decisions.comparison.comparison import Comparisons


def draw(results: Comparisons) -> Picture:
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
        f"The smallest true difference that a number of queries detects with a power of "
        f"{result.power:.0%} at level {1 - result.level:.2g}. Ring: the measured difference; "
        "above the line it is large enough to be detected.",
        f"{count_queries(*(row['n'] for row in measured_rows))} measured",
        result.convention,
        (*rows, *({**row, "series": f"{row['series']} measured"} for row in measured_rows)),
        _chart(rows, measured_rows, query_axis, difference_axis),
    )


def _chart(
    rows: Rows, measured_rows: Rows, query_axis: ChartAxis, difference_axis: ChartAxis
) -> Any:
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
