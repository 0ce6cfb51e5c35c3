"""Chart of ``explain``: the contribution of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, INK, LINE, RED
from rankgate.core.present.charts.words import shorten_name
from rankgate.core.present.numbers import format_decimal, format_grade

if TYPE_CHECKING:
    from rankgate.measurement.explanation.explanation import Explanation

_MOST, _ROW, _WIDTH = 30, 20, 380


def draw(result: Explanation) -> Picture:
    """Draw the list from the top: a bar for what a document adds, a mark for the ideal list's.

    Raises:
        UsageError: the run has nothing for the query, or no document adds anything.
    """
    rows = _rows(result)
    if not any(row["contribution"] for row in rows) and not any(row["ideal"] for row in rows):
        raise UsageError(
            f"{result.metric} of query {result.query_id}: no document adds anything.",
            code="nothing-to-draw",
        )
    sum_, norm = (total.name if total else "" for total in (result.summed, result.norm))
    sum_ = "the sum" if sum_ == "sum" else sum_
    adds = f"to {sum_}, which is divided by {norm}" if sum_ and norm else "to the value"
    value = format_decimal(result.value)
    caption = (
        f"Each bar is what the document at the rank adds {adds}; the mark is what the ideal list "
        "has at that rank. Grade – is unjudged."
    )
    hidden_count = result.retrieved - max((row["rank"] for row in rows), default=0)
    return Picture(
        "explain",
        f"{result.metric} = {value} for query {shorten_name(result.query_id)} of "
        f"{shorten_name(result.run)}",
        caption + (f" {hidden_count} further documents are not drawn." if hidden_count > 0 else ""),
        f"1 of {result.queries:,} queries, whose mean is {format_decimal(result.mean)}",
        result.convention,
        tuple(rows),
        _chart(rows, result.retrieved, sum_ if norm else result.metric),
    )


def _rows(result: Explanation) -> list[dict[str, Any]]:
    """The document of the run and the ideal contribution, rank by rank."""
    ideal = {row.rank: row.contribution for row in result.ideal}
    row_by_rank = {row.rank: row for row in result.rows}
    contributing_ranks = [rank for rank, adds in ideal.items() if adds]
    contributing_ranks += [rank for rank, row in row_by_rank.items() if row.contribution]
    last = min(max(contributing_ranks, default=0), _MOST)
    rows = []
    for rank in sorted({*row_by_rank, *ideal}):
        if rank > last:
            break
        row = row_by_rank.get(rank)
        rows.append(
            {
                "rank": rank,
                "document": row.doc_id if row else None,
                "grade": row.grade if row else None,
                "contribution": row.contribution if row else None,
                "ideal": ideal.get(rank),
            }
        )
    return rows


def _chart(rows: list[dict[str, Any]], retrieved: int, target: str) -> Any:
    alt = load_altair()
    chart_rows = [
        row
        | {
            "label": f"{row['rank']}. {_document(row, retrieved)}",
            "words": _row_label(row),
            "bar": row["contribution"] or 0.0,
        }
        for row in rows
    ]
    y = alt.Y(
        "label:N",
        sort=[row["label"] for row in chart_rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    sign = alt.condition("datum.bar >= 0", alt.value(BLUE), alt.value(RED))
    base = alt.Chart(inline_data(chart_rows)).encode(y=y)
    bars = base.mark_bar(height={"band": 0.7}).encode(
        x=alt.X("bar:Q", title=f"adds to {target}"),
        color=sign,
        tooltip=["rank:O", "document:N", "grade:Q", "contribution:Q", "ideal:Q"],
    )
    marks = (
        base.transform_filter("isValid(datum.ideal)")
        .mark_tick(color=INK, thickness=2, size=16)
        .encode(x="ideal:Q")
    )
    labels = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N")
    zero = alt.Chart(inline_data([{"bar": 0}])).mark_rule(color=LINE).encode(x="bar:Q")
    return alt.layer(zero, bars, marks, labels).properties(
        width=_WIDTH, height=max(_ROW * len(rows), 40)
    )


def _document(row: dict[str, Any], retrieved: int) -> str:
    if row["document"] is not None:
        return shorten_name(row["document"], 28)
    return "…" if row["rank"] <= retrieved else "(nothing retrieved)"


def _row_label(row: dict[str, Any]) -> str:
    if row["document"] is None:
        return ""
    adds = row["contribution"]
    return f"grade {format_grade(row['grade'])}{f'  {adds:+z.4f}' if adds else ''}"
