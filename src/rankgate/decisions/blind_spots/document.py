"""Render blind spots: what the metrics noticed of a change, and their profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import signed
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.decisions.blind_spots.blindspots import BlindSpots


def document(result: BlindSpots) -> Document:
    """What the metrics saw of the change, the profile, and what follows from it."""
    tables = [Table(heading, grid) for heading, grid in grids(result)]
    head = ("change", "metric", "altered", "unmoved", "delta")
    rows = PlainRows(head, list(result.profile.select(*head).iter_rows()))
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return made("", warnings, *tables, *sentences(result), rows=rows)


def grids(result: BlindSpots) -> list[tuple[str, Grid]]:
    """What was seen of the change, if there was one; then the profile, twice."""
    tables = []
    if result.candidate is not None:
        heading = (
            f"{printable(result.candidate)} against {printable(result.baseline)}: the first "
            f"{result.depth} documents changed for {result.changed} of {result.queries} queries"
        )
        tables.append((heading, _seen(result)))
    profile = (
        f"if {printable(result.baseline)} changed so (k = {result.k}): share of the lists with "
        "other grades at their ranks for which the metric does not move"
    )
    tables += [
        (profile, _profile(result, "unmoved")),
        ("and by how much it moves, mean over these lists", _profile(result, "delta")),
    ]
    return tables


def sentences(result: BlindSpots) -> list[str]:
    """What follows from it."""
    parts = []
    if result.suggested:
        parts.append(f"the smallest set that sees what can be seen: {', '.join(result.suggested)}")
    if result.unseen:
        parts.append(f"no metric tried sees: {', '.join(result.unseen)}")
    return parts


def _seen(result: BlindSpots) -> Grid:
    rows = tuple(
        (
            row["metric"],
            str(row["moved"]),
            _share(row["blind"]),
            signed(row["delta"]),
            ", ".join(row["examples"]),
        )
        for row in result.seen.iter_rows(named=True)
    )
    head = ("metric", "moved\nfor", "blind\nto", "mean\ndelta", "did not move for")
    return Grid(head, rows, frozenset({0, 4}))


def _profile(result: BlindSpots, figure: str) -> Grid:
    metrics = result.profile["metric"].unique(maintain_order=True).to_list()
    rows: dict[str, list[str]] = {}
    altered: dict[str, int] = {}
    for row in result.profile.iter_rows(named=True):
        word = _share(row[figure]) if figure == "unmoved" else signed(row[figure])
        rows.setdefault(row["change"], []).append(word)
        altered[row["change"]] = row["altered"]
    cells = tuple((name, str(altered[name]), *words) for name, words in rows.items())
    return Grid(("change", "lists", *metrics), cells)


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.0%}"
