"""What is at each rank: how far it is judged, and which grades it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.parts import ChartAxis, in_columns, labelled_lines, panel, table
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import of_grade
from rankgate.core.present.charts.words import queries, shorts
from rankgate.decisions.comparison.ranks import ranks_of

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.ranks import GradesByRank

_STEP, _HEIGHT, _COLUMNS = 16, 180, 2
_FEW = 6  # systems whose shares at single ranks can be distinguished
_STEPS, _TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), 5
_PANELS = (("upto", "judged@k: of the first k"), ("at", "judged at rank k alone"))


def judged(source: GradesByRank | Comparisons) -> Picture:
    """Lines of judged@k and of the share judged at each rank; what is missing to 1 are holes."""
    result = ranks_of(source)
    names = dict(zip(result.systems, shorts(result.systems), strict=True))
    rows = [
        {
            "series": names[row["system"]],
            "rank": row["rank"],
            "at": row["at"],
            "upto": row["upto"],
            "lists": row["lists"],
        }
        for row in result.judged.iter_rows(named=True)
    ]
    x = ChartAxis("rank", "rank k", (1, max(result.depth, 2)), tuple(_ticks(result.depth)))
    panels = [
        labelled_lines(
            rows, x, ChartAxis(field, "share judged", form=".3~p"), size=(320, 280), title=title
        )
        for field, title in (_PANELS if len(names) <= _FEW else _PANELS[:1])
    ]
    return Picture(
        "judged",
        f"Judged share of the first {result.depth} documents",
        "Mean share of documents that have a judgment; the others are unjudged (holes), which "
        "most metrics count as not relevant.",
        queries(result.queries),
        result.convention,
        tuple(rows),
        in_columns(panels),
    )


def grades(source: GradesByRank | Comparisons) -> Picture:
    """Stacked shares of the grades at each rank, a panel a system."""
    result = ranks_of(source)
    rows = [dict(row) for row in result.grades.iter_rows(named=True)]
    shades = shades_of(rows)
    panels = [
        _mix([row for row in rows if row["system"] == name], shown, shades, result.depth)
        for name, shown in zip(result.systems, shorts(result.systems), strict=True)
    ]
    joined = in_columns(panels, _COLUMNS)
    if len(panels) > 1:
        joined = joined.resolve_scale(color="shared")
    return Picture(
        "grades",
        f"Grades of the first {result.depth} documents, rank by rank",
        "Shares of the documents at each rank; the best grade at the bottom.",
        queries(result.queries),
        result.convention,
        tuple(rows),
        joined,
    )


def shades_of(rows: list[dict[str, Any]]) -> dict[str, str]:
    """A colour for each label, the best grade first, unjudged last."""
    labels = {row["label"]: row["grade"] for row in rows}
    top = max((grade for grade in labels.values() if grade is not None), default=0)
    order = sorted(labels, key=lambda name: -1e9 if labels[name] is None else labels[name])
    return {name: of_grade(labels[name], top) for name in reversed(order)}


def _mix(rows: list[dict[str, Any]], name: str, shades: Mapping[str, str], depth: int) -> Any:
    alt = altair()
    order = list(shades)
    shown = [row | {"order": order.index(row["label"])} for row in rows]
    ranks = list(range(1, depth + 1))
    return (
        alt.Chart(table(shown))
        .mark_bar(stroke=None)
        .encode(
            x=alt.X("rank:O", title="rank", scale=alt.Scale(domain=ranks, paddingInner=0.08),
                    axis=alt.Axis(labelAngle=0, values=_ticks(depth), domain=False, ticks=False)),
            y=alt.Y("share:Q", title="share", stack="zero", scale=alt.Scale(domain=[0, 1]),
                    axis=alt.Axis(format=".0%", tickCount=4)),
            color=alt.Color("label:N", title=None, sort=order,
                            scale=alt.Scale(domain=order, range=list(shades.values()))),
            order=alt.Order("order:Q"),
            tooltip=["rank:O", "label:N", "count:Q", "share:Q"],
        )
        .properties(width=max(_STEP * depth, 160), height=_HEIGHT, **panel(name))
    )  # fmt: skip


def _ticks(depth: int) -> list[int]:
    """The first rank and some round ones.

    >>> _ticks(3), _ticks(20), _ticks(100)
    ([1, 2, 3], [1, 5, 10, 15, 20], [1, 20, 40, 60, 80, 100])
    """
    step = next(step for step in _STEPS if depth <= _TICKS * step or step == _STEPS[-1])
    return sorted({1, *range(step, depth + 1, step)})
