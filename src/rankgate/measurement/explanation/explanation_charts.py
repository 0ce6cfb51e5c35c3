"""Charts of ``explain`` and ``reconcile``.

The chart of ``explain`` shows the contribution of each document, the chart of ``reconcile`` one
metric under every convention.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.chart_style import BLUE, INK, RED
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Mark, Panel, Reference, highlight
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.layout import with_values
from rankgate.core.present.number_formats import count_noun, format_decimal, format_grade
from rankgate.measurement.explanation.explanation_documents import digits_for

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.measurement.explanation.explanation_results import Explanation, Reconciliation


_MOST_RANKS = 30


def _ranks(result: Explanation) -> Rows:
    """The document of the run and the ideal contribution at each rank; empty if nothing contributes."""
    ideal = {row.rank: row.contribution for row in result.ideal}
    row_by_rank = {row.rank: row for row in result.rows}
    contributing_ranks = [rank for rank, adds in ideal.items() if adds]
    contributing_ranks += [rank for rank, row in row_by_rank.items() if row.contribution]
    last = min(max(contributing_ranks, default=0), _MOST_RANKS)
    rows: list[dict[str, Any]] = []
    for rank in sorted(rank for rank in {*row_by_rank, *ideal} if rank <= last):
        row = row_by_rank.get(rank)
        missing = "…" if rank <= result.retrieved else "(nothing retrieved)"
        rows.append(
            {
                "rank": rank,
                "document": row.doc_id if row else None,
                "grade": row.grade if row else None,
                "contribution": row.contribution if row else None,
                "ideal": ideal.get(rank),
                "label": f"{rank}. {shorten_name(row.doc_id, 28) if row else missing}",
            }
        )
    return rows


def _gain_text(row: Mapping[str, Any]) -> str:
    if row["document"] is None:
        return ""
    adds = row["contribution"]
    return f"grade {format_grade(row['grade'])}{f'  {adds:+z.4f}' if adds else ''}"


def _sum_name(result: Explanation) -> str:
    name = result.summed.name if result.summed else ""
    return "the sum" if name == "sum" else name


def _gains_about(result: Explanation) -> str:
    target = _sum_name(result)
    adds = (
        f"to {target}, which is divided by {result.norm.name}" if target and result.norm else "to the value"
    )
    hidden_count = result.retrieved - max((row["rank"] for row in _ranks(result)), default=0)
    hidden = count_noun(hidden_count, "further document is", "further documents are")
    return (
        f"Each bar is the contribution of the document at the rank {adds}; the mark is the contribution in "
        f"the ideal list at that rank. Grade – is unjudged.{f' {hidden} not drawn.' * (hidden_count > 0)}"
    )


GAINS = ChartView(
    "{metric} = {value:decimal} for query {query_id:short} of {run:short}",
    _gains_about,
    "1 of {queries:n query}, with mean {mean:decimal}",
    (
        Panel(
            _ranks,
            Axis("contribution", "adds to {target}"),
            Axis("label", scale="names"),
            (
                ZERO,
                Mark("bar", "contribution", colour=highlight("datum.contribution >= 0", BLUE, RED)),
                Mark("tick", "ideal", colour=INK, style={"thickness": 2, "size": 16}),
                Mark("words", _gain_text),
            ),
            width=380,
            height=20,
            tooltip=("rank", "document", "grade"),
        ),
    ),
    empty="{metric} of query {query_id}: no document adds anything.",
    of=lambda result: with_values(result, target=_sum_name(result) if result.norm else result.metric),
)


def _numbers(result: Reconciliation) -> Rows:
    """The numbers from the largest, with the conventions that give each."""
    groups = [group for group in result.groups if group.value is not None]
    values = [group.value for group in groups]
    texts, digits = [format_decimal(value) for value in values], digits_for(values)
    return [
        {
            "value": group.value,
            "conventions": ", ".join(group.conventions),
            "count": len(group.conventions),
            "queries": sorted(set(group.queries)),
            "most": group is groups[0],
            "number": text if texts.count(text) == 1 else f"{group.value:.{digits}f}",
            "common": groups[0].value,
        }
        for group, text in sorted(zip(groups, texts, strict=True), key=lambda pair: -(pair[0].value or 0.0))
    ]


def _value_axis(_result: object, rows: Rows) -> Axis:
    low, high = rows[-1]["value"], rows[0]["value"]
    margin = (high - low) * 0.08 or 0.02
    return Axis("value", "mean {metric}", domain=(low - margin, high + margin))


_MOST_LETTERS = 64


def _first_names(row: Mapping[str, Any]) -> str:
    """The first conventions that fit, and the number of those left out."""
    names: str = row["conventions"]
    if len(names) <= _MOST_LETTERS:
        return names
    first_names = names[:_MOST_LETTERS].rpartition(", ")[0]
    return f"{first_names} + {names.count(',') - first_names.count(',')} more"


def _numbers_about(result: Reconciliation) -> str:
    refused = ", ".join(refusal.convention for refusal in result.refusals)
    caption = "Each line is one number with the conventions that give it; blue: what most give."
    return f"{caption} Without a number: {refused}." if refused else caption


def _convention_counts(result: Reconciliation) -> str:
    rows = _numbers(result)
    counts = sorted({count for row in rows for count in row["queries"]})
    return f"{' or '.join(map(str, counts))} queries · {sum(row['count'] for row in rows)} conventions"


RECONCILED = ChartView(
    "{metric} of {run:short}: one run, {drawn:n number}",
    _numbers_about,
    _convention_counts,
    (
        Panel(
            _numbers,
            _value_axis,
            Axis("number", scale="names"),
            (
                Reference(lambda result: _numbers(result)[0]["common"], dashed=True),
                Mark("interval", "value", "common"),
                Mark("point", "value"),
                Mark("words", _first_names),
            ),
            colour=highlight("datum.most", BLUE, RED),
            width=420,
            height=24,
            tooltip=("conventions",),
        ),
    ),
    convention=None,
    empty="no convention gives {metric} a number here.",
)
