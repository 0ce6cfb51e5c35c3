"""Documents of conventions: the list, the details of one, and the axes with their choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import Document, Entries, Entry, Grid, PlainRows, Table
from rankgate.core.present.document_model import make_document as made

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.convention_details import (
        Axes,
        AxisChoice,
        AxisDetails,
        ConventionDetails,
        Conventions,
    )


_NOT_USUAL = "*"


_CONVENTION_TEXT_COLUMNS = frozenset(range(3))


def conventions_document(result: Conventions) -> Document:
    """One row per convention."""
    rows = tuple((convention.name, convention.title) for convention in result.conventions)
    grid = Grid(("convention", "what it reproduces"), rows, _CONVENTION_TEXT_COLUMNS)
    return made(f"{len(result)} conventions", Table("", grid, prose=True), rows=_rows(result.to_polars()))


def convention_document(result: ConventionDetails) -> Document:
    """One convention: source, defects, every choice, its names of metrics."""
    facts = {
        "source": (result.source,) if result.source else (),
        "checked against": (result.versions,) if result.versions else (),
        "defects": result.defects,
    }
    entries = tuple(Entry(label, lines) for label, lines in facts.items() if lines)
    names = Grid(("its own name", "here"), tuple(result.spellings.items()), _CONVENTION_TEXT_COLUMNS)
    return made(
        f"{result.name} ({result.hash})",
        Entries(entries),
        _choices("axes", "axis", result.choices),
        _choices("parameters of metrics", "parameter", result.parameters),
        _choices("single metrics", "for a single metric", result.special),
        Table("its own names of metrics", names, prose=True),
        f"{_NOT_USUAL} other than the default",
        lead=(result.title,),
        rows=_rows(result.to_polars()),
    )


def axes(result: Axes) -> Document:
    """Every axis with the choice of each convention."""
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
        heading, Grid((header, "choice", "what it decides"), rows, _CONVENTION_TEXT_COLUMNS), prose=True
    )


def _axis(axis: AxisDetails) -> Table:
    default = axis.default if axis.default == "required" else f"{axis.default} by default"
    scope = "for all metrics or for one" if axis.each and "." not in axis.name else ""
    summary = "; ".join(text for text in (axis.about.rstrip("."), axis.takes, default, scope) if text)
    rows = tuple(_names_by_choice(axis.chosen).items())
    return Table(f"{axis.name}: {summary}", Grid(("", ""), rows, _CONVENTION_TEXT_COLUMNS), prose=True)


def _names_by_choice(names_by_choice: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The conventions by choice; if most have the first choice, it is shown for "all others"."""
    values = {value: ", ".join(names) for value, names in names_by_choice.items()}
    first, *other_choices = names_by_choice
    if not other_choices:
        return {first: "all"}
    half = sum(map(len, names_by_choice.values())) // 2
    return values | ({first: "all others"} if len(names_by_choice[first]) > half else {})
