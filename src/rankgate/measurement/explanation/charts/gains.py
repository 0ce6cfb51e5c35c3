"""Chart of ``explain``: the contribution of each document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, INK, LINE, RED
from rankgate.core.present.charts.words import short
from rankgate.core.present.numbers import decimal, grade

if TYPE_CHECKING:
    from rankgate.measurement.explanation.explanation import Explanation

_MOST, _ROW, _WIDTH = 30, 20, 380


def draw(result: Explanation) -> Picture:
    """The list from the top: a bar for what a document adds, a mark for the ideal list's.

    Raises:
        UsageError: the run has nothing for the query, or no document adds anything.
    """
    rows = _rows(result)
    if not any(row["contribution"] for row in rows) and not any(row["ideal"] for row in rows):
        raise UsageError(
            f"{result.metric} of query {result.query_id}: no document adds anything.",
            code="nothing-to-draw",
        )
    sum_, norm = (each.name if each else "" for each in (result.summed, result.norm))
    sum_ = "the sum" if sum_ == "sum" else sum_
    adds = f"to {sum_}, which is divided by {norm}" if sum_ and norm else "to the value"
    value = decimal(result.value)
    about = (
        f"Each bar is what the document at the rank adds {adds}; the mark is what the ideal list "
        "has at that rank. Grade – is unjudged."
    )
    left = result.retrieved - max((row["rank"] for row in rows), default=0)
    return Picture(
        "explain",
        f"{result.metric} = {value} for query {short(result.query_id)} of {short(result.run)}",
        about + (f" {left} further documents are not drawn." if left > 0 else ""),
        f"1 of {result.queries:,} queries, whose mean is {decimal(result.mean)}",
        result.convention,
        tuple(rows),
        _chart(rows, result.retrieved, sum_ if norm else result.metric),
    )


def _rows(result: Explanation) -> list[dict[str, Any]]:
    """Rank by rank: the document of the run, and what the ideal list has there."""
    ideal = {row.rank: row.contribution for row in result.ideal}
    own = {row.rank: row for row in result.rows}
    adding = [rank for rank, adds in ideal.items() if adds]
    adding += [rank for rank, row in own.items() if row.contribution]
    last = min(max(adding, default=0), _MOST)
    rows = []
    for rank in sorted({*own, *ideal}):
        if rank > last:
            break
        row = own.get(rank)
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
    alt = altair()
    shown = [
        row
        | {
            "label": f"{row['rank']}. {_document(row, retrieved)}",
            "words": _words(row),
            "bar": row["contribution"] or 0.0,
        }
        for row in rows
    ]
    y = alt.Y(
        "label:N",
        sort=[row["label"] for row in shown],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False),
    )
    sign = alt.condition("datum.bar >= 0", alt.value(BLUE), alt.value(RED))
    base = alt.Chart(table(shown)).encode(y=y)
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
    words = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N")
    zero = alt.Chart(table([{"bar": 0}])).mark_rule(color=LINE).encode(x="bar:Q")
    return alt.layer(zero, bars, marks, words).properties(
        width=_WIDTH, height=max(_ROW * len(rows), 40)
    )


def _document(row: dict[str, Any], retrieved: int) -> str:
    if row["document"] is not None:
        return short(row["document"], 28)
    return "…" if row["rank"] <= retrieved else "(nothing retrieved)"


def _words(row: dict[str, Any]) -> str:
    if row["document"] is None:
        return ""
    adds = row["contribution"]
    return f"grade {grade(row['grade'])}{f'  {adds:+z.4f}' if adds else ''}"
