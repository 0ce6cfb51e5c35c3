"""Blind spots: what the metrics saw of a change, and a profile of what they can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import signed
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import UNDEFINED
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    from rankgate.blind_spots.blindspots import Blindness

FORMS = ("text", "json", "markdown")
"""The forms of blind spots, by the name that ``--format`` takes."""


def render(told: Blindness, form: str, width: int = WIDTH) -> str:
    """The result in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    markdown = form == "markdown"
    parts = []
    for heading, grid in grids(told):
        table = as_markdown.table(grid) if markdown else fitted(grid, width)
        gap = "\n\n" if markdown else "\n"
        parts.append(f"{_lines(heading, width)}{gap}{table}")
    parts += [_lines(words, width) for words in sentences(told)]
    return "\n\n".join(parts) + "\n"


def grids(told: Blindness) -> list[tuple[str, Grid]]:
    """What was seen of the change, if there was one; then the profile, twice."""
    tables = []
    if told.candidate is not None:
        heading = (
            f"{printable(told.candidate)} against {printable(told.baseline)}: the first "
            f"{told.depth} documents changed for {told.changed} of {told.queries} queries"
        )
        tables.append((heading, _seen(told)))
    profile = (
        f"if {printable(told.baseline)} changed so (k = {told.k}): share of the lists with other "
        "grades at their ranks for which the metric does not move"
    )
    tables += [
        (profile, _profile(told, "unmoved")),
        ("and by how much it moves, mean over these lists", _profile(told, "delta")),
    ]
    return tables


def sentences(told: Blindness) -> list[str]:
    """What follows from it."""
    parts = []
    if told.suggested:
        parts.append(f"the smallest set that sees what can be seen: {', '.join(told.suggested)}")
    if told.unseen:
        parts.append(f"no metric tried sees: {', '.join(told.unseen)}")
    return parts


def _seen(told: Blindness) -> Grid:
    rows = tuple(
        (row["metric"], str(row["moved"]), _share(row["blind"]), signed(row["delta"]),
         ", ".join(row["examples"]))
        for row in told.seen.iter_rows(named=True)
    )  # fmt: skip
    head = ("metric", "moved\nfor", "blind\nto", "mean\ndelta", "did not move for")
    return Grid(head, rows, frozenset({0, 4}))


def _profile(told: Blindness, figure: str) -> Grid:
    metrics = told.profile["metric"].unique(maintain_order=True).to_list()
    rows: dict[str, list[str]] = {}
    altered: dict[str, int] = {}
    for row in told.profile.iter_rows(named=True):
        word = _share(row[figure]) if figure == "unmoved" else signed(row[figure])
        rows.setdefault(row["change"], []).append(word)
        altered[row["change"]] = row["altered"]
    cells = tuple((name, str(altered[name]), *words) for name, words in rows.items())
    return Grid(("change", "lists", *metrics), cells)


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.0%}"


def _lines(words: str, width: int) -> str:
    return "\n".join(wrapped(words, min(width, 100)))
