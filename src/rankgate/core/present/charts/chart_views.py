"""Charts that a result class declares over its frames and facts, as `layout` declares its tables.

A `ChartView` has texts and panels. A `Panel` draws marks over rows; a `HeatMap` draws cells. Texts are
templates of `rankgate.core.present.layout` over the result's attributes; they also have ``drawn``: its
length is the number of drawn rows, ``drawn[column]`` has the distinct values of a column. Texts of a
panel have the values of its first row by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgate.core.present.charts.chart_style import BLUE, GREY, INK, SHARES

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.layout import Sentence

    Text = str | Sequence[str | Sentence] | Callable[[Any], str]
    Colour = str | tuple[Any, ...]  # a colour, or tests with colours and the last colour

Rows = Sequence[Mapping[str, Any]]
"""The rows of a panel."""

_NO_STYLE: Mapping[str, Any] = MappingProxyType({})


class Axis(NamedTuple):
    """One axis of a panel.

    Attributes:
        column: the column of its positions.
        title: a template; empty without a title.
        scale: number, log, time, rank (whole numbers in even steps) or names.
        form: the format of its numbers in d3's syntax, or ``signed``; a template.
        domain: both ends of its range; None takes them from the data.
        ticks: the positions of its marks; empty for the default.
        zero: True if it begins at 0 where it has no domain.
        bare: True if the axis is not drawn.
        grid: True if its marks have lines across the panel.
    """

    column: str
    title: str = ""
    scale: str = "number"
    form: str = ""
    domain: tuple[float, float] | None = None
    ticks: tuple[float, ...] = ()
    zero: bool = True
    bare: bool = False
    grid: bool = True


class Mark(NamedTuple):
    """What a panel draws for each row.

    Attributes:
        kind: one of `rankgate.core.present.charts.draw_chart.MARKS`: interval, point, line, band, bar, …
        value: the column of the value; of ``words`` a template over the row, or several, of which the
            first without an undefined value is taken, or a function of the row.
        end: the column of the other end, for an interval, a band or a bar; of ``words`` the column of
            their position, without which they stand at the right of a row of names.
        colour: as `Panel` takes it; empty for that of the panel.
        style: properties of Vega-Lite's mark that differ from those of the kind.
        rows: a function from the panel's rows and the result to the rows of this mark.
        channels: channels of Vega-Lite in addition to those that follow from the columns, or instead of
            them; None leaves one out.
    """

    kind: str
    value: str | tuple[str, ...] | Callable[[Mapping[str, Any]], str] = ""
    end: str = ""
    colour: Colour = ""
    style: Mapping[str, Any] = _NO_STYLE
    rows: Callable[[Rows, Any], Rows] | None = None
    channels: Mapping[str, Mapping[str, Any] | None] = _NO_STYLE


class PointNames(NamedTuple):
    """Names next to the points of a panel, without overlap, in the order of the rows.

    Attributes:
        text: the name of a row; empty for a point without one.
        most: the largest number of names; None for any.
        outside: the largest distance that names may extend beyond the right edge, in points.
        all_named: True if names without room stand on the right, each with a line to its point.
        colour, rows: as `Mark` takes them.
    """

    text: Callable[[Mapping[str, Any]], str]
    most: int | None = None
    outside: float = 0
    all_named: bool = False
    colour: Colour = INK
    rows: Callable[[Rows, Any], Rows] | None = None


class Reference(NamedTuple):
    """A line across the panel at a value of its value axis.

    Attributes:
        value: a number, the attribute that has it, or a function of the result; None draws no line.
        dashed: True if it is dashed.
    """

    value: float | str | Callable[[Any], float | None] = 0.0
    dashed: bool = False


ZERO = Reference()

BAND = (Mark("band", "low", "high"), Mark("points", "value"))
"""Values joined by lines, and their intervals as a band."""


def interval(value: str) -> tuple[Mark, Mark]:
    """A value as a point, and its interval as a line."""
    return Mark("interval", "low", "high"), Mark("point", value)


def highlight(test: str | tuple[str, object], colour: str = BLUE, otherwise: str = GREY) -> Colour:
    """A colour where a test is true, and another one for the rest.

    Args:
        test: an expression of Vega over ``datum``; or a column and its value, which can be a template.
        colour: where it is true.
        otherwise: where it is not.
    """
    return ((test, colour), otherwise)


class Panel(NamedTuple):
    """Marks over the rows of a frame.

    Attributes:
        source: the attribute that holds the frame; or a function of the result that returns it, or rows.
        x, y: the axes. One with names or times has the positions, the other one the values of the marks.
        marks: the marks, reference lines and names, from back to front.
        columns: the columns of the frame, or expressions; all by default.
        row_filter: the condition of the rows that are drawn.
        facet: the columns whose values have a panel each.
        most: the largest number of panels, or of series in one panel; 0 for any.
        title: a template, or a function of the result and the panel's rows.
        series: the column whose values have a colour each, the same in all panels.
        by_grade: True if the colours of series are those of their ``grade``.
        names: where the names of series stand: ``legend``, ``ends`` of lines, a ``list`` or ``none``.
        legend: the title of the legend.
        colour: a colour, or tests with colours as `highlight` makes them; without series blue.
        width: its width in points.
        height: its height in points; of names the height of a row.
        tooltip: further columns of the tooltip.
        short: further columns of names that are cut to fit.
    """

    source: str | Callable[[Any], Any]
    x: Axis | Callable[[Any, Rows], Axis]
    y: Axis | Callable[[Any, Rows], Axis]
    marks: tuple[Mark | Reference | PointNames, ...] = ()
    columns: tuple[str | pl.Expr, ...] = ()
    row_filter: pl.Expr | None = None
    facet: tuple[str, ...] = ()
    most: int = 0
    title: str | Callable[[Any, Rows], str] = ""
    series: str = ""
    by_grade: bool = False
    names: str = "legend"
    legend: str = ""
    colour: Colour = ""
    width: int = 300
    height: int = 150
    tooltip: tuple[str, ...] = ()
    short: tuple[str, ...] = ()

    @property
    def has_legend(self) -> bool:
        """True if a legend names its series."""
        return bool(self.series) and self.names == "legend"


class HeatMap(NamedTuple):
    """Cells with numbers, or fine cells without.

    Attributes:
        source: as `Panel` takes it, with ``row``, ``column`` and ``value``.
        columns: as `Panel` takes them.
        domain: the values of the first colour and the last.
        shades: the colours.
        form: ``%`` for shares, or a format such as ``.4f``; else two decimals.
        longest: the largest number of letters in names of rows and columns; 0 for any.
        title: its title, where it is one of several.
        across: the label of fine columns; empty for cells with numbers.
        drawn: a function from the rows to those that are drawn; all by default.
    """

    source: str | Callable[[Any], Any]
    columns: tuple[str | pl.Expr, ...] = ()
    domain: tuple[float, float] = (0, 1)
    shades: Sequence[str] = SHARES
    form: str = ""
    longest: int = 0
    title: str = ""
    across: str = ""
    drawn: Callable[[Rows], Rows] = tuple

    @property
    def has_legend(self) -> bool:
        """False: its cells have numbers."""
        return False


class ChartView(NamedTuple):
    """A chart of a result.

    Attributes:
        title: its title.
        about: instructions for reading it; sentences.
        n: the basis of the figures.
        panels: a panel or several, or a function of the result that returns them.
        convention: the text that replaces the convention of results without one; None leaves it out.
        empty: the error where there are no rows.
        across: the number of panels in a row.
        fluid: True if panels can be made narrower because no name in them has a fixed position; or a
            function of the result.
        of: a function of the result and the options that returns the value with frames and facts.
    """

    title: Text
    about: Text
    n: Text
    panels: Sequence[Panel | HeatMap] | Callable[[Any], Sequence[Panel | HeatMap]]
    convention: str | None = ""
    empty: str = "there are no values to draw."
    across: int = 2
    fluid: bool | Callable[[Any], bool] = True
    of: Callable[..., Any] | None = None
