"""Shared parts of charts: tables, rules and labelled lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.backend import altair
from rankgate.core.present.charts.style import GREY, INK, SYSTEMS, colour
from rankgate.core.present.charts.words import shorts, spread

if TYPE_CHECKING:
    Rows = Sequence[Mapping[str, Any]]

_LINE = 13  # points that a label takes
_TOLD_APART = len(SYSTEMS) - 1  # series with a colour of their own; the others are thin
_DOTTED = 20  # points a line that still are apart
_AWAY = 12  # of the labels from the lines' ends


@dataclass(frozen=True)
class ChartAxis:
    """One axis of a chart.

    Attributes:
        field: the column.
        title: what it is called.
        domain: its ends; None is found from the data.
        ticks: where it is marked; empty is as it falls.
        log: whether it is logarithmic.
        form: of its numbers, as d3 writes it.
        bare: whether it is not drawn.
    """

    field: str
    title: str
    domain: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()
    log: bool = False
    form: str = ""
    bare: bool = False


def table(rows: Rows) -> Any:
    """Rows as a chart's data, whole and inline."""
    return altair().Data(values=[dict(row) for row in rows])


def labelled_lines(
    rows: Rows,
    x: ChartAxis,
    y: ChartAxis,
    *,
    size: tuple[int, int] = (480, 300),
    title: str = "",
    listed: bool = False,
) -> Any:
    """A line for each ``series``, named at its right end.

    Args:
        rows: ``series`` and the two columns; ordered along each line. The first series get
            colours and thick lines.
        x: the axis along the lines.
        y: the other; without a domain it is that of the data.
        size: of the panel, in points.
        title: above it.
        listed: names are a list in the order of the rows, for lines that end at one point.
    """
    alt = altair()
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    width, height = size[0], max(size[1], _LINE * len(names))
    colours = [colour(i) for i in range(len(names))]
    low, high = y.domain or _domain([row[y.field] for row in rows])
    base = alt.Chart(table(rows)).encode(
        x=alt.X(f"{x.field}:Q", title=x.title, axis=_ticked(x), scale=_scale(x)),
        y=alt.Y(
            f"{y.field}:Q",
            title=cut(y.title, low),
            scale=alt.Scale(domain=[low, high], nice=False),
            axis=_counted(y),
        ),
        color=alt.Color(
            "series:N", scale=alt.Scale(domain=names, range=colours), legend=None, sort=names
        ),
        tooltip=["series:N", f"{x.field}:Q", f"{y.field}:Q"],
    )
    thin = alt.condition(
        {"test": {"field": "series", "oneOf": names[_TOLD_APART:]}}, alt.value(1), alt.value(2)
    )
    layers = [base.mark_line().encode(strokeWidth=thin)]
    if len(rows) <= _DOTTED * len(names):
        layers.append(base.mark_point(filled=True, size=26, opacity=1))
    ends = _ends(rows, y.field, (low, high), height)
    if listed:
        gap = _LINE * (high - low) / height
        ends = [
            {
                "series": name,
                "label": label,
                "at": high - gap * (i + 0.5),
                "own": high - gap * (i + 0.5),
            }
            for i, (name, label) in enumerate(zip(names, shorts(names), strict=True))
        ]
    return alt.layer(*layers, *_labels(ends, names, colours, width)).properties(
        width=width, height=height, **panel(title)
    )


def _ends(rows: Rows, field: str, domain: tuple[float, float], height: int) -> list[dict[str, Any]]:
    """Where each line ends and where its name is; of equal ends the higher line's above."""
    values: dict[str, list[float]] = {}
    for row in rows:
        values.setdefault(str(row["series"]), []).append(float(row[field]))
    last = {name: own[-1] for name, own in values.items()}
    names = sorted(values, key=lambda name: (last[name], sum(values[name]) / len(values[name])))
    low, high = domain
    gap = _LINE * (high - low) / height
    moved = spread([last[name] for name in names], gap, low, high)
    return [
        {"series": name, "own": last[name], "label": label, "at": at}
        for name, label, at in zip(names, shorts(names), moved, strict=True)
    ]


def _labels(ends: Rows, names: Sequence[str], colours: Sequence[str], width: int) -> list[Any]:
    alt = altair()
    shades = alt.Color(
        "series:N",
        scale=alt.Scale(domain=list(names), range=list(colours)),
        legend=None,
        sort=list(names),
    )
    base = alt.Chart(table(ends))
    leader = base.mark_rule(strokeWidth=1, opacity=0.6).encode(
        x=alt.value(width),
        x2=alt.value(width + _AWAY - 3),
        y=alt.Y("own:Q"),
        y2="at:Q",
        color=shades,
    )
    words = base.mark_text(align="left", baseline="middle", fontSize=11).encode(
        x=alt.value(width + _AWAY), y=alt.Y("at:Q"), text="label:N", color=shades
    )
    return [leader, words]


def panel(title: str) -> dict[str, Any]:
    """The heading of one panel of several, as a property; empty is none."""
    if not title:
        return {}
    words = altair().TitleParams(
        text=title, fontSize=13, anchor="start", frame="group", offset=6, color=INK
    )
    return {"title": words}


def cut(title: str, low: float) -> str:
    """The title of an axis, which says where it begins if that is not 0.

    >>> cut("mean AP", 0.21), cut("mean AP", 0)
    ('mean AP (axis starts at 0.21)', 'mean AP')
    """
    return f"{title} (axis starts at {low:.2g})" if low > 0 and title else title


def rule(field: str, value: float, *, along: str = "y", dashed: bool = False) -> Any:
    """A line across a panel at a value of one axis."""
    alt = altair()
    dash = [4, 3] if dashed else [1, 0]
    mark = alt.Chart(table([{field: value}])).mark_rule(color=GREY, strokeDash=dash)
    return mark.encode(**{along: f"{field}:Q"})


def signed_axis() -> Any:
    """Ticks of differences, with their signs."""
    words = "datum.value == 0 ? '0' : format(datum.value, '+.2~f')"
    return altair().Axis(labelExpr=words, tickCount=6)


def in_columns(panels: Sequence[Any], columns: int = 2, spacing: int = 28) -> Any:
    """Panels next to and below each other, each with its own scales.

    One panel is put in a frame too: the picture's words take the place of its own heading.
    """
    joined = altair().concat(*panels, columns=columns, spacing=spacing)
    return joined.resolve_scale(x="independent", y="independent", color="independent")


def unmarked() -> Any:
    """An axis that is not seen; one that is None cannot be shared by layers."""
    return altair().Axis(labels=False, ticks=False, domain=False, grid=False, title=None)


def _counted(axis: ChartAxis) -> Any:
    if axis.bare:
        return unmarked()
    return altair().Axis(tickCount=6, **({"format": axis.form} if axis.form else {}))


def _ticked(axis: ChartAxis) -> Any:
    alt = altair()
    if axis.bare:
        return unmarked()
    given: dict[str, Any] = {"grid": False}
    if axis.ticks:
        given |= {"values": list(axis.ticks), "labelOverlap": "greedy"}
    if axis.form:
        given["format"] = axis.form
    return alt.Axis(**given)


def _scale(axis: ChartAxis) -> Any:
    alt = altair()
    given: dict[str, Any] = {"nice": False, "zero": False}
    if axis.log:
        given = {"type": "log", "nice": False}
    if axis.domain:
        given["domain"] = list(axis.domain)
    return alt.Scale(**given)


def _domain(values: Sequence[float]) -> tuple[float, float]:
    """From the least value to the greatest with a little room, which shares do not leave."""
    low, high = min(values), max(values)
    room = (high - low) * 0.06 or 0.05
    ends = low - room, high + room
    if low >= 0:
        ends = max(ends[0], 0.0), ends[1]
    if high <= 1:
        ends = ends[0], min(ends[1], 1.0)
    return ends
