"""Charts by rank: the judged share, and the shares of the grades."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import (
    ChartAxis,
    concat_panels,
    inline_data,
    labelled_lines,
    panel_title,
)
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import grade_colour
from rankgate.core.present.charts.words import count_queries, shorten_names
from rankgate.decisions.comparison.ranks import grades_by_rank

if TYPE_CHECKING:
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.ranks import GradesByRank

_STEP, _HEIGHT, _COLUMNS = 16, 180, 2
_MAX_SYSTEMS = 6  # systems whose shares at single ranks can be distinguished
_STEPS, _TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), 5
_PANELS = (("upto", "judged@k: of the first k"), ("at", "judged at rank k alone"))


def judged(source: GradesByRank | Comparisons) -> Picture:
    """Lines of judged@k and of the judged share at each rank; the rest up to 1 are holes."""
    result = grades_by_rank(source)
    names = dict(zip(result.systems, shorten_names(result.systems), strict=True))
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
    rank_axis = ChartAxis("rank", "rank k", (1, max(result.depth, 2)), tuple(_ticks(result.depth)))
    panels = [
        labelled_lines(
            rows,
            rank_axis,
            ChartAxis(field, "share judged", form=".3~p"),
            size=(320, 280),
            title=title,
        )
        for field, title in (_PANELS if len(names) <= _MAX_SYSTEMS else _PANELS[:1])
    ]
    return Picture(
        "judged",
        f"Judged share of the first {result.depth} documents",
        "Mean share of documents that have a judgment; the others are unjudged (holes), which "
        "most metrics count as not relevant.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        concat_panels(panels),
    )


def grades(source: GradesByRank | Comparisons) -> Picture:
    """Stacked shares of the grades at each rank, a panel a system."""
    result = grades_by_rank(source)
    rows = [dict(row) for row in result.grades.iter_rows(named=True)]
    shades = shades_of(rows)
    panels = [
        _grade_panel(
            [row for row in rows if row["system"] == name], short_name, shades, result.depth
        )
        for name, short_name in zip(result.systems, shorten_names(result.systems), strict=True)
    ]
    joined = concat_panels(panels, _COLUMNS)
    if len(panels) > 1:
        joined = joined.resolve_scale(color="shared")
    return Picture(
        "grades",
        f"Grades of the first {result.depth} documents, rank by rank",
        "Shares of the documents at each rank; the best grade at the bottom.",
        count_queries(result.queries),
        result.convention,
        tuple(rows),
        joined,
    )


def shades_of(rows: list[dict[str, Any]]) -> dict[str, str]:
    """A colour for each label, the best grade first, unjudged last."""
    labels = {row["label"]: row["grade"] for row in rows}
    top_grade = max((grade for grade in labels.values() if grade is not None), default=0)
    sorted_labels = sorted(labels, key=lambda name: -1e9 if labels[name] is None else labels[name])
    return {name: grade_colour(labels[name], top_grade) for name in reversed(sorted_labels)}


def _grade_panel(
    rows: list[dict[str, Any]], name: str, shades: Mapping[str, str], depth: int
) -> Any:
    alt = load_altair()
    label_order = list(shades)
    ordered_rows = [row | {"order": label_order.index(row["label"])} for row in rows]
    ranks = list(range(1, depth + 1))
    return (
        alt.Chart(inline_data(ordered_rows))
        .mark_bar(stroke=None)
        .encode(
            x=alt.X(
                "rank:O",
                title="rank",
                scale=alt.Scale(domain=ranks, paddingInner=0.08),
                axis=alt.Axis(labelAngle=0, values=_ticks(depth), domain=False, ticks=False),
            ),
            y=alt.Y(
                "share:Q",
                title="share",
                stack="zero",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format=".0%", tickCount=4),
            ),
            color=alt.Color(
                "label:N",
                title=None,
                sort=label_order,
                scale=alt.Scale(domain=label_order, range=list(shades.values())),
            ),
            order=alt.Order("order:Q"),
            tooltip=["rank:O", "label:N", "count:Q", "share:Q"],
        )
        .properties(width=max(_STEP * depth, 160), height=_HEIGHT, **panel_title(name))
    )


def _ticks(depth: int) -> list[int]:
    """The first rank and some round ones.

    >>> _ticks(3), _ticks(20), _ticks(100)
    ([1, 2, 3], [1, 5, 10, 15, 20], [1, 20, 40, 60, 80, 100])
    """
    step = next(step for step in _STEPS if depth <= _TICKS * step or step == _STEPS[-1])
    return sorted({1, *range(step, depth + 1, step)})
