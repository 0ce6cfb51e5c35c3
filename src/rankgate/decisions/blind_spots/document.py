"""Render blind spots: what the metrics noticed of a change, and their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_signed
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.decisions.blind_spots.blindspots import BlindSpots


def document(result: BlindSpots) -> Document:
    """Metrics and the change, the profile, and conclusions."""
    tables = [Table(heading, grid) for heading, grid in grids(result)]
    columns = ("change", "metric", "altered", "unmoved", "delta")
    rows = PlainRows(columns, list(result.profile.select(*columns).iter_rows()))
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return made("", warnings, *tables, *sentences(result), rows=rows)


def grids(result: BlindSpots) -> list[tuple[str, Grid]]:
    """The table of the change, if there is a candidate; then the profile by share and by delta."""
    tables = []
    if result.candidate is not None:
        heading = (
            f"{make_printable(result.candidate)} against {make_printable(result.baseline)}: the "
            "first "
            f"{result.depth} documents changed for {result.changed} of {result.queries} queries"
        )
        tables.append((heading, _seen_grid(result)))
    profile = (
        f"if {make_printable(result.baseline)} changed so (k = {result.k}): share of the lists "
        "with other grades at their ranks for which the metric does not move"
    )
    tables += [
        (profile, _profile_grid(result, "unmoved")),
        ("and by how much it moves, mean over these lists", _profile_grid(result, "delta")),
    ]
    return tables


def sentences(result: BlindSpots) -> list[str]:
    """Conclusions: the smallest sufficient set of metrics, and unseen changes."""
    sentences_found = []
    if result.suggested:
        sentences_found.append(
            f"the smallest set that sees what can be seen: {', '.join(result.suggested)}"
        )
    if result.unseen:
        sentences_found.append(f"no metric tried sees: {', '.join(result.unseen)}")
    return sentences_found


def _seen_grid(result: BlindSpots) -> Grid:
    rows = tuple(
        (
            row["metric"],
            str(row["moved"]),
            _share(row["blind"]),
            format_signed(row["delta"]),
            ", ".join(row["examples"]),
        )
        for row in result.seen.iter_rows(named=True)
    )
    header = ("metric", "moved\nfor", "blind\nto", "mean\ndelta", "did not move for")
    return Grid(header, rows, frozenset({0, 4}))


def _profile_grid(result: BlindSpots, figure: str) -> Grid:
    metrics = result.profile["metric"].unique(maintain_order=True).to_list()
    rows: dict[str, list[str]] = {}
    altered_counts: dict[str, int] = {}
    for row in result.profile.iter_rows(named=True):
        cell_text = _share(row[figure]) if figure == "unmoved" else format_signed(row[figure])
        rows.setdefault(row["change"], []).append(cell_text)
        altered_counts[row["change"]] = row["altered"]
    cells = tuple(
        (name, str(altered_counts[name]), *cells_of_row) for name, cells_of_row in rows.items()
    )
    return Grid(("change", "lists", *metrics), cells)


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.0%}"
