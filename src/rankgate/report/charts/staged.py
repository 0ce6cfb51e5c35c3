"""The stages of a ranking with the ceilings that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.report.charts.door import altair
from rankgate.report.charts.parts import rule, table
from rankgate.report.charts.picture import Picture
from rankgate.report.charts.style import BLUE, INK, LINE
from rankgate.report.charts.words import queries, short, shorts
from rankgate.report.numbers import decimal

if TYPE_CHECKING:
    from rankgate.services.stages import Pipeline

_ROW, _WIDTH = 34, 420


def draw(told: Pipeline) -> Picture:
    """A bar a stage: what it reaches, and to where a perfect reranker of it would come.

    Raises:
        UsageError: no stage has a value.
    """
    names = shorts(told.stages)
    rows = [
        {**row, "stage": name, "place": i}
        for i, (name, row) in enumerate(
            zip(names, told.ceilings.iter_rows(named=True), strict=True)
        )
        if row["value"] is not None
    ]
    if not rows:
        raise UsageError(f"no stage has a value of {told.target}.")
    best = f"; dashed: the best order of all judged documents, {decimal(told.best)}"
    neck = f" The bottleneck is {short(told.bottleneck.stage)}." if told.bottleneck else ""
    return Picture(
        "stages",
        f"{told.target} by stage, and the ceiling that each leaves",
        f"Bar: the value. Mark: the ceiling, the best that any reranker of its first {told.depth} "
        f"documents could reach{best if told.best is not None else ''}.{neck}",
        queries(told.queries),
        told.convention,
        tuple(rows),
        _chart(rows, told),
    )


def _chart(rows: list[dict[str, Any]], told: Pipeline) -> Any:  # noqa: ANN401 - Altair's
    alt = altair()
    shown = [row | {"words": _words(row)} for row in rows]
    y = alt.Y("stage:N", sort=[row["stage"] for row in rows], title=None,
              axis=alt.Axis(domain=False, ticks=False, grid=False))  # fmt: skip
    base = alt.Chart(table(shown)).encode(y=y)
    x = alt.X("value:Q", title=f"mean {told.target}", scale=alt.Scale(domainMin=0))
    layers = [
        base.mark_bar(height=16, color=LINE).encode(x="ceiling:Q"),
        base.mark_bar(height=16, color=BLUE).encode(
            x=x, tooltip=["stage:N", "kind:N", "value:Q", "ceiling:Q", "realised:Q"]
        ),
        base.mark_tick(color=INK, thickness=2.5, size=22).encode(x="ceiling:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    if told.best is not None:
        layers.insert(0, rule("value", told.best, along="x", dashed=True))
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows))


def _words(row: dict[str, Any]) -> str:
    if row["realised"] is None:
        return decimal(row["value"])
    return f"{decimal(row['value'])} of {decimal(row['ceiling'])}: {row['realised']:.0%} realised"
