"""Documents of saved baselines: contents, noise and looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import UNDEFINED, format_decimal

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
        return made(title, Table("", _baseline_grid(result)), warnings, rows=rows)
    (baseline,) = result.baselines
    means = tuple(
        (metric, format_decimal(mean), format_decimal(baseline.noise.get(metric)))
        for metric, mean in baseline.means.items()
    )
    title = (
        f"{baseline.name}: run {baseline.run['name']}, {baseline.queries} queries, convention "
        f"{baseline.convention['name']}, judgments {baseline.qrels['sha256'][:12]}"
    )
    return made(
        title,
        f"in {baseline.file}",
        Table("", Grid(("metric", "mean", "noise"), means)),
        _look_table(baseline),
        warnings,
        rows=rows,
    )


def _baseline_grid(result: SavedBaselines) -> Grid:
    rows = tuple(
        (
            baseline.name,
            baseline.run["name"],
            str(baseline.queries),
            baseline.convention["name"],
            baseline.qrels["sha256"][:12],
            str(len(baseline.looks)),
        )
        for baseline in result.baselines
    )
    header = ("name", "run", "queries", "convention", "judgments", "looks")
    return Grid(header, rows, frozenset({0, 1, 3, 4}))


def _look_table(baseline: BaselineSummary) -> Table:
    rows = tuple(
        tuple(look.get(name) or UNDEFINED for name in ("at", "candidate", "verdict"))
        for look in baseline.looks[-_LOOKS:]
    )
    count = len(baseline.looks)
    heading = "1 look" if count == 1 else f"{count} looks, the last {len(rows)}"
    return Table(heading, Grid(("at", "candidate", "verdict"), rows, frozenset(range(3))))
