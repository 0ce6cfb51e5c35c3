"""Chart of ``holes``: how unjudged documents could change a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data, rule_line, signed_axis
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY, INK
from rankgate.core.present.charts.words import count_queries, shorten_name
from rankgate.core.present.figures import format_signed

if TYPE_CHECKING:
    from rankgate.decisions.unjudged.holes import HoleAnalysis

_ROW, _WIDTH = 34, 420
_FIGURES = ("metric", "n", "delta", "worst", "best", "expected", "low", "high", "flip")


def draw(result: HoleAnalysis) -> Picture:
    """A line for each metric: as measured, as estimated, and the two ends.

    Raises:
        UsageError: no query has a value on both sides.
    """
    rows = [
        {name: row[name] for name in _FIGURES}
        for row in result.metrics.iter_rows(named=True)
        if row["n"]
    ]
    if not rows:
        raise UsageError(
            "no query has a value on both sides; there is no difference to draw.",
            code="nothing-to-draw",
        )
    return Picture(
        "holes",
        f"What unjudged documents could change: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        f"Mean differences. Thin line: the range that grades of the unjudged documents among the "
        f"first {result.depth} can give. Thick line: 95% interval of the estimate; ring: the "
        "estimate. Tick: the measured difference. Flip: the probability that judging these "
        "documents changes what the interval says.",
        count_queries(*(row["n"] for row in rows)),
        result.convention,
        tuple(rows),
        _chart(rows),
    )


def _chart(rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    labelled_rows = [row | {"words": _label(row)} for row in rows]
    y = alt.Y(
        "metric:N",
        sort=[row["metric"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=8),
    )
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    x = alt.X("worst:Q", title="mean difference", axis=signed_axis())
    layers = [
        rule_line("worst", 0, along="x"),
        base.mark_rule(color=GREY, strokeWidth=1.5).encode(x=x, x2="best:Q"),
        base.mark_rule(color=BLUE, strokeWidth=7, opacity=0.55).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=70, strokeWidth=2, color=BLUE, opacity=1).encode(
            x="expected:Q",
            tooltip=[f"{name}:{'N' if name == 'metric' else 'Q'}" for name in _FIGURES],
        ),
        base.mark_tick(color=INK, thickness=2.5, size=20).encode(x="delta:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=max(_ROW * len(rows), 50))


def _label(row: dict[str, Any]) -> str:
    flip = "" if row["flip"] is None else f"  flip {row['flip']:.0%}"
    return f"{format_signed(row['delta'])}{flip}"
