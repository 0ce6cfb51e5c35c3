"""Charts of ``explain`` and ``reconcile``.

The chart of ``explain`` shows the contribution of each document, the chart of ``reconcile`` one
metric under every convention.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import inline_data, load_altair, rule_line
from rankgate.core.present.charts.chart_style import BLUE, INK, LINE, RED
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, format_decimal, format_grade
from rankgate.measurement.explanation.explanation_documents import digits_for

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.measurement.explanation.explanation_results import Explanation, Reconciliation


_MOST, _GAIN_ROW, _GAIN_WIDTH = 30, 20, 380


def draw_gains(result: Explanation) -> Picture:
    """Draw the list from the top, with a bar per contribution and a mark per ideal contribution.

    Raises:
        UsageError: the run has no documents for the query, or no document contributes.
    """
    rows = _rows(result)
    if not any(row["contribution"] for row in rows) and not any(row["ideal"] for row in rows):
        raise UsageError(
            f"{result.metric} of query {result.query_id}: no document adds anything.", code="nothing-to-draw"
        )
    sum_, norm = (total.name if total else "" for total in (result.summed, result.norm))
    sum_ = "the sum" if sum_ == "sum" else sum_
    adds = f"to {sum_}, which is divided by {norm}" if sum_ and norm else "to the value"
    value = format_decimal(result.value)
    caption = (
        f"Each bar is the contribution of the document at the rank {adds}; the mark is the contribution in "
        "the ideal list at that rank. Grade – is unjudged."
    )
    hidden_count = result.retrieved - max((row["rank"] for row in rows), default=0)
    return Picture(
        "explain",
        f"{result.metric} = {value} for query {shorten_name(result.query_id)} of {shorten_name(result.run)}",
        caption
        + (
            f" {count_noun(hidden_count, 'further document is', 'further documents are')} not drawn."
            if hidden_count > 0
            else ""
        ),
        f"1 of {count_noun(result.queries, 'query')}, with mean {format_decimal(result.mean)}",
        result.convention,
        tuple(rows),
        _gains_chart(rows, result.retrieved, sum_ if norm else result.metric),
    )


def _rows(result: Explanation) -> list[dict[str, Any]]:
    """The document of the run and the ideal contribution at each rank."""
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


def _gains_chart(rows: list[dict[str, Json]], retrieved: int, target: str) -> Any:
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
    labels = base.mark_text(align="left").encode(x=alt.value(_GAIN_WIDTH + 10), text="words:N")
    zero = alt.Chart(inline_data([{"bar": 0}])).mark_rule(color=LINE).encode(x="bar:Q")
    return alt.layer(zero, bars, marks, labels).properties(
        width=_GAIN_WIDTH, height=max(_GAIN_ROW * len(rows), 40)
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


_CONVENTION_ROW, _CONVENTION_WIDTH, _NAMES = 24, 420, 64


def draw_reconciled(result: Reconciliation) -> Picture:
    """Draw a line for each number that conventions compute.

    Raises:
        UsageError: no convention computes a number.
    """
    rows: list[dict[str, Any]] = [
        {
            "value": group.value,
            "conventions": ", ".join(group.conventions),
            "count": len(group.conventions),
            "queries": sorted(set(group.queries)),
            "most": i == 0,
        }
        for i, group in enumerate(result.groups)
        if group.value is not None
    ]
    if not rows:
        raise UsageError(f"no convention gives {result.metric} a number here.", code="nothing-to-draw")
    counts = sorted({count for row in rows for count in row["queries"]})
    refused = ", ".join(refusal.convention for refusal in result.refusals)
    caption = "Each line is one number with the conventions that give it; blue: what most give."
    return Picture(
        "reconcile",
        f"{result.metric} of {shorten_name(result.run)}: one run, {count_noun(len(rows), 'number')}",
        f"{caption} Without a number: {refused}." if refused else caption,
        f"{' or '.join(map(str, counts))} queries · {sum(row['count'] for row in rows)} conventions",
        {},
        tuple(rows),
        _conventions_chart(rows, result.metric),
    )


def _conventions_chart(rows: list[dict[str, Any]], metric: str) -> Any:
    alt = load_altair()
    sorted_rows = sorted(rows, key=lambda row: -row["value"])
    chart_rows = [
        row | {"line": i, "number": number, "names": _cut_names(row["conventions"])}
        for i, (row, number) in enumerate(zip(sorted_rows, _numbers(sorted_rows), strict=True))
    ]
    common_value = rows[0]["value"]
    low, high = sorted_rows[-1]["value"], sorted_rows[0]["value"]
    margin = (high - low) * 0.08 or 0.02
    x = alt.X(
        "value:Q", title=f"mean {metric}", scale=alt.Scale(domain=[low - margin, high + margin], nice=False)
    )
    y = alt.Y("line:O", axis=None)
    shade = alt.condition("datum.most", alt.value(BLUE), alt.value(RED))
    base = alt.Chart(inline_data(chart_rows)).encode(y=y)
    stems = base.mark_rule(strokeWidth=2).encode(x=x, x2=alt.datum(common_value), color=shade)
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x, color=shade, tooltip=["value:Q", "conventions:N"]
    )
    numbers = base.mark_text(align="right").encode(x=alt.value(-10), text="number:N")
    names = base.mark_text(align="left").encode(x=alt.value(_CONVENTION_WIDTH + 10), text="names:N")
    return alt.layer(
        rule_line("value", common_value, along="x", dashed=True), stems, points, numbers, names
    ).properties(width=_CONVENTION_WIDTH, height=max(_CONVENTION_ROW * len(rows), 40))


def _numbers(rows: list[dict[str, Any]]) -> list[str]:
    """Format numbers with four decimals, or with as many as distinguish them."""
    result = [format_decimal(row["value"]) for row in rows]
    digits = digits_for([row["value"] for row in rows])
    return [
        word if result.count(word) == 1 else f"{row['value']:.{digits}f}"
        for word, row in zip(result, rows, strict=True)
    ]


def _cut_names(names: str) -> str:
    """The first names that fit, and the number of names left out."""
    if len(names) <= _NAMES:
        return names
    first_names = names[:_NAMES].rpartition(", ")[0]
    return f"{first_names} + {names.count(',') - first_names.count(',')} more"
