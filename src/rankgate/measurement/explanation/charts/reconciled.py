"""Chart of ``reconcile``: one metric under every convention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import inline_data, rule_line
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, RED
from rankgate.core.present.charts.words import shorten_name
from rankgate.core.present.numbers import format_decimal
from rankgate.measurement.explanation.documents.reconciliation import digits_for

if TYPE_CHECKING:
    from rankgate.measurement.explanation.reconciliation import Reconciliation

_ROW, _WIDTH, _NAMES = 24, 420, 64


def draw(result: Reconciliation) -> Picture:
    """Draw a line for each number that conventions give.

    Raises:
        UsageError: no convention gives a number.
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
        raise UsageError(
            f"no convention gives {result.metric} a number here.", code="nothing-to-draw"
        )
    counts = sorted({count for row in rows for count in row["queries"]})
    refused = ", ".join(refusal.convention for refusal in result.refusals)
    caption = "Each line is one number with the conventions that give it; blue: what most give."
    return Picture(
        "reconcile",
        f"{result.metric} of {shorten_name(result.run)}: one run, {len(rows)} numbers",
        f"{caption} Without a number: {refused}." if refused else caption,
        f"{' or '.join(map(str, counts))} queries · "
        f"{sum(row['count'] for row in rows)} conventions",
        {},
        tuple(rows),
        _chart(rows, result.metric),
    )


def _chart(rows: list[dict[str, Any]], metric: str) -> Any:
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
        "value:Q",
        title=f"mean {metric}",
        scale=alt.Scale(domain=[low - margin, high + margin], nice=False),
    )
    y = alt.Y("line:O", axis=None)
    shade = alt.condition("datum.most", alt.value(BLUE), alt.value(RED))
    base = alt.Chart(inline_data(chart_rows)).encode(y=y)
    stems = base.mark_rule(strokeWidth=2).encode(x=x, x2=alt.datum(common_value), color=shade)
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=x, color=shade, tooltip=["value:Q", "conventions:N"]
    )
    numbers = base.mark_text(align="right").encode(x=alt.value(-10), text="number:N")
    names = base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="names:N")
    return alt.layer(
        rule_line("value", common_value, along="x", dashed=True), stems, points, numbers, names
    ).properties(width=_WIDTH, height=max(_ROW * len(rows), 40))


def _numbers(rows: list[dict[str, Any]]) -> list[str]:
    """Four decimals; or, for numbers that these make equal, as many as distinguish them."""
    result = [format_decimal(row["value"]) for row in rows]
    digits = digits_for([row["value"] for row in rows])
    return [
        word if result.count(word) == 1 else f"{row['value']:.{digits}f}"
        for word, row in zip(result, rows, strict=True)
    ]


def _cut_names(names: str) -> str:
    """The first names that fit, and the number of the others."""
    if len(names) <= _NAMES:
        return names
    first_names = names[:_NAMES].rpartition(", ")[0]
    return f"{first_names} + {names.count(',') - first_names.count(',')} more"
