"""Documents of conventions: the list, one in full, or axis by axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.axes import Axes, AxisDetails
    from rankgate.measurement.evaluation.convention import AxisChoice, ConventionDetails
    from rankgate.measurement.evaluation.conventions import Conventions

_NOT_USUAL = "*"
_TEXT_COLUMNS = frozenset(range(3))


def conventions_document(result: Conventions) -> Document:
    """One row a convention."""
    rows = tuple((convention.name, convention.title) for convention in result.conventions)
    grid = Grid(("convention", "what it reproduces"), rows, _TEXT_COLUMNS)
    return made(
        f"{len(result)} conventions", Table("", grid, prose=True), rows=_rows(result.to_polars())
    )


def convention_document(result: ConventionDetails) -> Document:
    """One convention: source, defects, every choice, its names of metrics."""
    facts = {
        "source": (result.source,) if result.source else (),
        "checked against": (result.versions,) if result.versions else (),
        "defects": result.defects,
    }
    entries = tuple(Entry(label, lines) for label, lines in facts.items() if lines)
    names = Grid(("its own name", "here"), tuple(result.spellings.items()), _TEXT_COLUMNS)
    return made(
        f"{result.name} ({result.hash})",
        Entries(entries),
        _choices("axes", "axis", result.choices),
        _choices("parameters of metrics", "parameter", result.parameters),
        _choices("single metrics", "for a single metric", result.special),
        Table("its own names of metrics", names, prose=True),
        f"{_NOT_USUAL} other than where nothing is said",
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


def _choices(heading: str, header: str, choices: Sequence[AxisChoice]) -> Table:
    rows = tuple(
        (choice.axis + ("" if choice.usual else f" {_NOT_USUAL}"), choice.value, choice.about)
        for choice in choices
    )
    return Table(
        heading, Grid((header, "choice", "what it decides"), rows, _TEXT_COLUMNS), prose=True
    )


def _axis(axis: AxisDetails) -> Table:
    default = axis.default if axis.default == "required" else f"{axis.default} by default"
    scope = "for all metrics or for one" if axis.each and "." not in axis.name else ""
    summary = "; ".join(
        text for text in (axis.about.rstrip("."), axis.takes, default, scope) if text
    )
    rows = tuple(_names_by_choice(axis.chosen).items())
    return Table(f"{axis.name}: {summary}", Grid(("", ""), rows, _TEXT_COLUMNS), prose=True)


def _names_by_choice(names_by_choice: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The conventions by choice; if most share the first choice, it is that of all others."""
    values = {value: ", ".join(names) for value, names in names_by_choice.items()}
    first, *other_choices = names_by_choice
    if not other_choices:
        return {first: "all"}
    half = sum(map(len, names_by_choice.values())) // 2
    return values | ({first: "all others"} if len(names_by_choice[first]) > half else {})
