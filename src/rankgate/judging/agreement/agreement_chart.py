"""The chart of the agreement between each pair of raters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_layers import heat_map
from rankgate.core.present.charts.chart_parts import inline_data, load_altair
from rankgate.core.present.charts.chart_style import BLUE, SIGNED, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import count_noun, count_queries, finite_or_none

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.judging.agreement.agree import RaterAgreement


def draw_agreement(result: RaterAgreement) -> Picture:
    """Draw a matrix of Cohen's kappa.

    Raises:
        UsageError: no pair was graded by two raters.
    """
    pairs = result.found.pairs
    if pairs.is_empty():
        raise UsageError(
            "the raters have no pair in common, so there is no agreement to draw.", code="no-common-pairs"
        )
    raters = sorted({*pairs["first"].to_list(), *pairs["second"].to_list()})
    names = dict(zip(raters, shorten_names(raters, 18), strict=True))
    rows: list[dict[str, Json]] = []
    known = {}
    for row in pairs.iter_rows(named=True):
        known[row["first"], row["second"]] = known[row["second"], row["first"]] = row
    for first_rater in raters:
        for second_rater in raters:
            pair = known.get((first_rater, second_rater))
            rows.append(
                {
                    "row": names[first_rater],
                    "column": names[second_rater],
                    "value": pair["kappa"] if pair else None,
                    "overlap": pair["overlap"] if pair else None,
                }
            )
    return Picture(
        "agreement",
        f"Agreement of {count_noun(len(raters), 'rater')} in {shorten_name(result.found.name)}",
        "Cohen's kappa of each pair of raters on the documents that both graded: 1 is perfect agreement, 0 "
        "is agreement by chance; empty: nothing in common.",
        f"{count_noun(result.found.counts['overlap'], 'pair')} graded twice or more",
        {},
        tuple(rows),
        heat_map(rows, (-1, 1), SIGNED),
        fluid=False,
    )


_ROW, _WIDTH = 22, 360


def coefficients(result: RaterAgreement) -> Picture:
    """Draw every coefficient with its interval.

    Raises:
        UsageError: no coefficient has a value.
    """
    rows = [
        {
            "name": name,
            "value": coefficient.value,
            "low": finite_or_none(coefficient.low),
            "high": finite_or_none(coefficient.high),
        }
        for name, coefficient in result.found.coefficients.items()
        if math.isfinite(coefficient.value)
    ]
    if not rows:
        raise UsageError("no coefficient has a value.", code="nothing-to-draw")
    level = next(iter(result.found.coefficients.values())).level
    has_intervals = any(row["low"] is not None for row in rows)
    intervals = f"Each with its {level:.0%} interval" if has_intervals else "Too few queries for intervals"
    return Picture(
        "coefficients",
        f"Coefficients of agreement in {shorten_name(result.found.name)}",
        f"{intervals}. 1 is perfect agreement; 0 is agreement by chance, except for the raw agreement, which "
        f"has no correction for chance.",
        count_queries(result.found.counts["queries"]),
        {},
        tuple(rows),
        _interval_chart(rows),
    )


def _interval_chart(rows: list[dict[str, Any]]) -> Any:
    alt = load_altair()
    labelled_rows = [row | {"words": _interval_label(row)} for row in rows]
    names = [row["name"] for row in rows]
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False))
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    lowest = min(0.0, *(row["low"] or row["value"] for row in rows))
    x = alt.X("value:Q", title="coefficient", scale=alt.Scale(domain=[lowest, 1], nice=True))
    layers = [
        base.mark_rule(strokeWidth=2, color=BLUE).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, color=BLUE).encode(
            x=x, tooltip=["name:N", "value:Q", "low:Q", "high:Q"]
        ),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows))


def _interval_label(row: dict[str, Json]) -> str:
    interval_text = "" if row["low"] is None else f"  [{row['low']:z.3f}, {row['high']:z.3f}]"
    return f"{row['value']:z.3f}{interval_text}"
