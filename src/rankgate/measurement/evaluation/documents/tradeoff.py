"""Document of a trade-off: means and the Pareto front."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.tradeoff import Tradeoff


def document(result: Tradeoff) -> Document:
    """A row for each system; the front: no other is as good at everything and better at some."""
    rows = tuple(
        (name, *map(format_decimal, means.values()), "front" if name in result.front else "")
        for name, means in result.means.items()
    )
    metrics = (f"{metric} {'↑' if higher else '↓'}" for metric, higher in result.higher.items())
    table = result.to_polars()
    return made(
        f"{len(result)} systems by {len(result.higher)} metrics",
        Chart("rankgate.measurement.evaluation.charts.tradeoff:pareto", result),
        Table("", Grid(("system", *metrics, ""), rows)),
        f"front: {', '.join(result.front)}",
        f"without all means, left out: {', '.join(result.left_out)}" if result.left_out else "",
        rows=PlainRows(tuple(table.columns), table.rows()),
    )
