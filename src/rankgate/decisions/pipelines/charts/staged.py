"""The stages of a ranking with the ceilings that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import in_columns, rule, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, INK, LINE
from rankgate.core.present.charts.words import queries, short, shorts
from rankgate.core.present.numbers import decimal
from rankgate.decisions.comparison.charts.ranked import shades_of

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline

_ROW, _WIDTH = 34, 420
_TIMED = ", and the time that a query takes: a stage begins when its inputs are there"


def draw(result: Pipeline) -> Picture:
    """A bar a stage: what it reaches, and to where a perfect reranker of it would come.

    Raises:
        UsageError: no stage has a value.
    """
    names = shorts(result.stages)
    rows = [
        {**row, "stage": name, "place": i}
        for i, (name, row) in enumerate(
            zip(names, result.ceilings.iter_rows(named=True), strict=True)
        )
        if row["value"] is not None
    ]
    if not rows:
        raise UsageError(f"no stage has a value of {result.target}.", code="nothing-to-draw")
    best = f"; dashed: the best order of all judged documents, {decimal(result.best)}"
    neck = f" The bottleneck is {short(result.bottleneck.stage)}." if result.bottleneck else ""
    mixed = [{**row, "what": "mix"} for row in _mixed(result, names)]
    panels = [_ceilings(rows, result), _labels(mixed, names, result.k)]
    timed = [
        {"what": "latency", **row, "stage": name}
        for name, row in zip(names, result.latency.iter_rows(named=True), strict=False)
    ]
    if timed:
        panels.append(_latency(timed))
    return Picture(
        "stages",
        f"{result.target} by stage, and the ceiling that each leaves",
        f"Bar: the value. Mark: the ceiling, the best that any reranker of its first "
        f"{result.depth} documents could reach{best if result.best is not None else ''}."
        f"{neck} Below: grades of the first {result.k} documents{_TIMED * bool(timed)}.",
        queries(result.queries),
        result.convention,
        (*({"what": "ceiling", **row} for row in rows), *mixed, *timed),
        in_columns(panels, 1),
    )


def _mixed(result: Pipeline, names: list[str]) -> list[dict[str, Any]]:
    shown = dict(zip(result.stages, names, strict=True))
    return [{**row, "stage": shown[row["stage"]]} for row in result.mix.iter_rows(named=True)]


def _ceilings(rows: list[dict[str, Any]], result: Pipeline) -> Any:
    alt = altair()
    shown = [row | {"words": _words(row)} for row in rows]
    base = alt.Chart(table(shown)).encode(y=_stages([row["stage"] for row in rows]))
    x = alt.X("value:Q", title=f"mean {result.target}", scale=alt.Scale(domainMin=0))
    layers = [
        base.mark_bar(height=16, color=LINE).encode(x="ceiling:Q"),
        base.mark_bar(height=16, color=BLUE).encode(
            x=x, tooltip=["stage:N", "kind:N", "value:Q", "ceiling:Q", "realised:Q"]
        ),
        base.mark_tick(color=INK, thickness=2.5, size=22).encode(x="ceiling:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    if result.best is not None:
        layers.insert(0, rule("value", result.best, along="x", dashed=True))
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows))


def _labels(rows: list[dict[str, Any]], stages: list[str], k: int) -> Any:
    """The labels of the first documents, the best first."""
    alt = altair()
    shades = shades_of(rows)
    order = list(shades)
    shown = [row | {"order": order.index(row["label"])} for row in rows if row["count"]]
    return (
        alt.Chart(table(shown))
        .mark_bar(height=16)
        .encode(
            y=_stages(stages),
            x=alt.X("share:Q", title=f"of the first {k} documents", stack="zero",
                    scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format=".0%", tickCount=6)),
            color=alt.Color("label:N", title=None, sort=order,
                            scale=alt.Scale(domain=order, range=list(shades.values()))),
            order=alt.Order("order:Q"),
            tooltip=["stage:N", "label:N", "count:Q", "share:Q"],
        )
        .properties(width=_WIDTH, height=_ROW * len(stages))
    )  # fmt: skip


def _latency(rows: list[dict[str, Any]]) -> Any:
    """From when to when each stage works on a query, on average."""
    alt = altair()
    shown = [
        row | {"words": f"{row['mean']:,.1f} ms; {row['total']:,.1f} ms to here"}
        for row in rows
        if row["mean"] is not None
    ]
    base = alt.Chart(table(shown)).encode(y=_stages([row["stage"] for row in rows]))
    bars = base.mark_bar(height=16, color=BLUE).encode(
        x=alt.X("waits:Q", title="mean milliseconds since the query came"),
        x2="total:Q",
        tooltip=["stage:N", "does:N", "mean:Q", "p50:Q", "p95:Q", "total:Q"],
    )
    words = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N")
    return alt.layer(bars, words).properties(width=_WIDTH, height=_ROW * len(rows))


def _stages(names: list[str]) -> Any:
    alt = altair()
    return alt.Y(
        "stage:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False)
    )


def _words(row: dict[str, Any]) -> str:
    if row["realised"] is None:
        return decimal(row["value"])
    return f"{decimal(row['value'])} of {decimal(row['ceiling'])}: {row['realised']:.0%} realised"
