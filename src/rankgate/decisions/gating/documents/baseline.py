"""Documents of saved baselines: contents, noise and looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from rankgate.decisions.gating.saved.baselines import BaselineSummary, SavedBaselines

_LOOKS = 10


def document(result: SavedBaselines) -> Document:
    """One baseline in full, several with a row each."""
    table = result.to_polars()
    rows = PlainRows(tuple(table.columns), table.rows())
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    if len(result) != 1:
        title = f"{len(result)} saved baselines" if len(result) else "no baseline is saved here"
        return made(title, Table("", _listed(result)), warnings, rows=rows)
    (one,) = result.baselines
    means = tuple(
        (metric, decimal(mean), decimal(one.noise.get(metric)))
        for metric, mean in one.means.items()
    )
    title = (
        f"{one.name}: run {one.run['name']}, {one.queries} queries, convention "
        f"{one.convention['name']}, judgments {one.qrels['sha256'][:12]}"
    )
    return made(
        title,
        f"in {one.file}",
        Table("", Grid(("metric", "mean", "noise"), means)),
        _looks(one),
        warnings,
        rows=rows,
    )


def _listed(result: SavedBaselines) -> Grid:
    rows = tuple(
        (
            each.name,
            each.run["name"],
            str(each.queries),
            each.convention["name"],
            each.qrels["sha256"][:12],
            str(len(each.looks)),
        )
        for each in result.baselines
    )
    head = ("name", "run", "queries", "convention", "judgments", "looks")
    return Grid(head, rows, frozenset({0, 1, 3, 4}))


def _looks(one: BaselineSummary) -> Table:
    rows = tuple(
        tuple(look.get(name) or UNDEFINED for name in ("at", "candidate", "verdict"))
        for look in one.looks[-_LOOKS:]
    )
    count = len(one.looks)
    heading = "1 look" if count == 1 else f"{count} looks, the last {len(rows)}"
    return Table(heading, Grid(("at", "candidate", "verdict"), rows, frozenset(range(3))))
