"""The stages of a ranking with the ceilings that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import concat_panels, inline_data, load_altair, rule_line
from rankgate.core.present.charts.chart_style import BLUE, INK, LINE, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries, format_decimal
from rankgate.decisions.comparison.system_charts import label_colour, shades_of, share_axis

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.decisions.pipelines.stages import Pipeline


_ROW, _WIDTH = 34, 420
_LATENCY_NOTE = ", and the time that a query takes: a stage begins when its inputs are there"


def draw_stages(result: Pipeline) -> Picture:
    """Draw a bar for each stage: its value, and its ceiling with a perfect reranker.

    Raises:
        UsageError: no stage has a value.
    """
    names = shorten_names(result.stages)
    rows = [
        {**row, "stage": name, "place": i}
        for i, (name, row) in enumerate(zip(names, result.ceilings.iter_rows(named=True), strict=True))
        if row["value"] is not None
    ]
    if not rows:
        raise UsageError(f"no stage has a value of {result.target}.", code="nothing-to-draw")
    best = f"; dashed: the best order of all judged documents, {format_decimal(result.best)}"
    bottleneck_sentence = (
        f" The bottleneck is {shorten_name(result.bottleneck.stage)}." if result.bottleneck else ""
    )
    mixed = [{**row, "what": "mix"} for row in _mix_rows(result, names)]
    panels = [_ceiling_chart(rows, result), _label_chart(mixed, names, result.k)]
    latency_rows = [
        {"what": "latency", **row, "stage": name}
        for name, row in zip(names, result.latency.iter_rows(named=True), strict=False)
    ]
    if latency_rows:
        panels.append(_latency_chart(latency_rows))
    return Picture(
        "stages",
        f"{result.target} by stage, and the ceiling that each leaves",
        "Bar: the value. Mark: the ceiling, the best that any reranker of its first "
        f"{count_noun(result.depth, 'document')} could "
        f"reach{best if result.best is not None else ''}.{bottleneck_sentence} Below: grades of the first "
        f"{count_noun(result.k, 'document')}{_LATENCY_NOTE * bool(latency_rows)}.",
        count_queries(result.queries),
        result.convention,
        (*({"what": "ceiling", **row} for row in rows), *mixed, *latency_rows),
        concat_panels(panels, 1),
    )


def _mix_rows(result: Pipeline, names: list[str]) -> list[dict[str, Json]]:
    display_names = dict(zip(result.stages, names, strict=True))
    return [{**row, "stage": display_names[row["stage"]]} for row in result.mix.iter_rows(named=True)]


def _ceiling_chart(rows: list[dict[str, Any]], result: Pipeline) -> Any:
    alt = load_altair()
    labelled_rows = [row | {"words": _bar_text(row)} for row in rows]
    base = alt.Chart(inline_data(labelled_rows)).encode(y=_stage_axis([row["stage"] for row in rows]))
    value_axis = alt.X("value:Q", title=f"mean {result.target}", scale=alt.Scale(domainMin=0))
    layers = [
        base.mark_bar(height=16, color=LINE).encode(x="ceiling:Q"),
        base.mark_bar(height=16, color=BLUE).encode(
            x=value_axis, tooltip=["stage:N", "kind:N", "value:Q", "ceiling:Q", "realised:Q"]
        ),
        base.mark_tick(color=INK, thickness=2.5, size=22).encode(x="ceiling:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    if result.best is not None:
        layers.insert(0, rule_line("value", result.best, along="x", dashed=True))
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows))


def _label_chart(rows: list[dict[str, Any]], stages: list[str], k: int) -> Any:
    """The labels of the first documents, the best first."""
    alt = load_altair()
    shades = shades_of(rows)
    order = list(shades)
    ordered_rows = [row | {"order": order.index(row["label"])} for row in rows if row["count"]]
    return (
        alt.Chart(inline_data(ordered_rows))
        .mark_bar(height=16)
        .encode(
            y=_stage_axis(stages),
            x=share_axis(alt.X, f"of the first {count_noun(k, 'document')}", ticks=6),
            color=label_colour(shades),
            order=alt.Order("order:Q"),
            tooltip=["stage:N", "label:N", "count:Q", "share:Q"],
        )
        .properties(width=_WIDTH, height=_ROW * len(stages))
    )


def _latency_chart(rows: list[dict[str, Any]]) -> Any:
    """The mean start and end of each stage's work on a query."""
    alt = load_altair()
    timed_rows = [
        row | {"words": f"{row['mean']:,.1f} ms; {row['total']:,.1f} ms to here"}
        for row in rows
        if row["mean"] is not None
    ]
    base = alt.Chart(inline_data(timed_rows)).encode(y=_stage_axis([row["stage"] for row in rows]))
    bars = base.mark_bar(height=16, color=BLUE).encode(
        x=alt.X("waits:Q", title="mean milliseconds since the query came"),
        x2="total:Q",
        tooltip=["stage:N", "does:N", "mean:Q", "p50:Q", "p95:Q", "total:Q"],
    )
    texts = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N")
    return alt.layer(bars, texts).properties(width=_WIDTH, height=_ROW * len(rows))


def _stage_axis(names: list[str]) -> Any:
    alt = load_altair()
    return alt.Y("stage:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False))


def _bar_text(row: dict[str, Any]) -> str:
    if row["realised"] is None:
        return format_decimal(row["value"])
    value, ceiling = format_decimal(row["value"]), format_decimal(row["ceiling"])
    return f"{value} of {ceiling}: {row['realised']:.0%} realised"
