"""Documents of conventions: the list, one in full, or axis by axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.axes import Axes, AxisDetails
    from rankgate.measurement.evaluation.convention import AxisChoice, ConventionDetails
    from rankgate.measurement.evaluation.conventions import Conventions

_OTHER = "*"
_WORDS = frozenset(range(3))


def listed(result: Conventions) -> Document:
    """One row a convention."""
    rows = tuple((each.name, each.title) for each in result.conventions)
    grid = Grid(("convention", "what it reproduces"), rows, _WORDS)
    return made(
        f"{len(result)} conventions", Table("", grid, prose=True), rows=_rows(result.to_polars())
    )


def details(result: ConventionDetails) -> Document:
    """One convention: source, defects, every choice, its names of metrics."""
    words = {
        "source": (result.source,) if result.source else (),
        "checked against": (result.versions,) if result.versions else (),
        "defects": result.defects,
    }
    entries = tuple(Entry(label, lines) for label, lines in words.items() if lines)
    names = Grid(("its own name", "here"), tuple(result.spellings.items()), _WORDS)
    return made(
        f"{result.name} ({result.hash})",
        Entries(entries),
        _choices("axes", "axis", result.choices),
        _choices("parameters of metrics", "parameter", result.parameters),
        _choices("single metrics", "for a single metric", result.special),
        Table("its own names of metrics", names, prose=True),
        f"{_OTHER} other than where nothing is said",
        lead=(result.title,),
        rows=_rows(result.to_polars()),
    )


def axes(result: Axes) -> Document:
    """Every axis with what each convention chooses."""
    return made(
        f"{len(result)} axes of conventions",
        *map(_axis, result.axes),
        rows=PlainRows(
            ("axis", "choice", "conventions"),
            [(axis, choice, ", ".join(names)) for axis, choice, names in result.to_polars().rows()],
        ),
    )


def _rows(table: pl.DataFrame) -> PlainRows:
    return PlainRows(tuple(table.columns), table.cast(pl.String).rows())


def _choices(heading: str, head: str, choices: Sequence[AxisChoice]) -> Table:
    rows = tuple(
        (each.axis + ("" if each.usual else f" {_OTHER}"), each.value, each.about)
        for each in choices
    )
    return Table(heading, Grid((head, "choice", "what it decides"), rows, _WORDS), prose=True)


def _axis(axis: AxisDetails) -> Table:
    default = axis.default if axis.default == "required" else f"{axis.default} by default"
    where = "for all metrics or for one" if axis.each and "." not in axis.name else ""
    words = "; ".join(part for part in (axis.about.rstrip("."), axis.takes, default, where) if part)
    rows = tuple(_named(axis.chosen).items())
    return Table(f"{axis.name}: {words}", Grid(("", ""), rows, _WORDS), prose=True)


def _named(chosen: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Who chooses what; the first and most usual choice of many is that of all others."""
    values = {value: ", ".join(names) for value, names in chosen.items()}
    first, *others = chosen
    if not others:
        return {first: "all"}
    many = sum(map(len, chosen.values())) // 2
    return values | ({first: "all others"} if len(chosen[first]) > many else {})
