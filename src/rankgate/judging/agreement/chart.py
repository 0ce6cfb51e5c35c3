"""Chart of the agreement of each pair of raters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.heat import heat
from rankgate.core.present.charts.parts import table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, SIGNED
from rankgate.core.present.charts.words import queries, short, shorts
from rankgate.core.present.numbers import known

if TYPE_CHECKING:
    from rankgate.judging.agreement.agreement import RaterAgreement


def draw(result: RaterAgreement) -> Picture:
    """A matrix of Cohen's kappa.

    Raises:
        UsageError: no two raters graded the same pair.
    """
    pairs = result.found.pairs
    if pairs.is_empty():
        raise UsageError(
            "no two raters graded the same pair; there is no agreement to draw.",
            code="no-common-pairs",
        )
    raters = sorted({*pairs["first"].to_list(), *pairs["second"].to_list()})
    names = dict(zip(raters, shorts(raters, 18), strict=True))
    rows: list[dict[str, Any]] = []
    known = {}
    for row in pairs.iter_rows(named=True):
        known[row["first"], row["second"]] = known[row["second"], row["first"]] = row
    for one in raters:
        for two in raters:
            pair = known.get((one, two))
            rows.append(
                {
                    "row": names[one],
                    "column": names[two],
                    "value": pair["kappa"] if pair else None,
                    "overlap": pair["overlap"] if pair else None,
                }
            )
    return Picture(
        "agreement",
        f"Agreement of {len(raters)} raters in {short(result.found.name)}",
        "Cohen's kappa of each pair of raters on the documents that both graded: 1 is perfect "
        "agreement, 0 is agreement by chance; empty: nothing in common.",
        f"{result.found.counts['overlap']:,} pairs graded twice or more",
        {},
        tuple(rows),
        heat(rows, (-1, 1), SIGNED),
        fluid=False,
    )


_ROW, _WIDTH = 22, 360


def coefficients(result: RaterAgreement) -> Picture:
    """Every coefficient with its interval.

    Raises:
        UsageError: no coefficient has a value.
    """
    rows = [
        {"name": name, "value": each.value, "low": known(each.low), "high": known(each.high)}
        for name, each in result.found.coefficients.items()
        if math.isfinite(each.value)
    ]
    if not rows:
        raise UsageError("no coefficient has a value.", code="nothing-to-draw")
    level = next(iter(result.found.coefficients.values())).level
    drawn = any(row["low"] is not None for row in rows)
    intervals = f"Each with its {level:.0%} interval" if drawn else "Too few queries for intervals"
    return Picture(
        "coefficients",
        f"Coefficients of agreement in {short(result.found.name)}",
        f"{intervals}. 1 is perfect agreement; 0 is what chance gives, but for the raw agreement, "
        "which has no correction for chance.",
        queries(result.found.counts["queries"]),
        {},
        tuple(rows),
        _intervals(rows),
    )


def _intervals(rows: list[dict[str, Any]]) -> Any:
    alt = altair()
    shown = [row | {"words": _words(row)} for row in rows]
    names = [row["name"] for row in rows]
    y = alt.Y(
        "name:N", sort=names, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False)
    )
    base = alt.Chart(table(shown)).encode(y=y)
    least = min(0.0, *(row["low"] or row["value"] for row in rows))
    x = alt.X("value:Q", title="coefficient", scale=alt.Scale(domain=[least, 1], nice=True))
    layers = [
        base.mark_rule(strokeWidth=2, color=BLUE).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=60, opacity=1, color=BLUE).encode(
            x=x, tooltip=["name:N", "value:Q", "low:Q", "high:Q"]
        ),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=_ROW * len(rows))


def _words(row: dict[str, Any]) -> str:
    ends = "" if row["low"] is None else f"  [{row['low']:z.3f}, {row['high']:z.3f}]"
    return f"{row['value']:z.3f}{ends}"
