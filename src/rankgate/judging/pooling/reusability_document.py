"""Document of reusability: the loss of each run outside the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_number, format_signed
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.pooling.reusability import Reusability

_NOTE = (
    "unique: judged documents that no other run has down to the depth. without: the value when "
    "those judgments are missing, as they would be if the run had never been pooled. tau: the "
    "order of all runs with and without them."
)


def document(result: Reusability) -> Document:
    """One table a metric; CSV has every run and metric."""
    title = (
        f"leaving each run out of the pool of depth {result.depth}, judgments "
        f"{make_printable(result.qrels)}, convention {result.convention['name']} "
        f"({result.convention['hash']})"
    )
    means = {row["metric"]: row for row in result.means.iter_rows(named=True)}
    tables = []
    for (metric,), table in result.table.group_by("metric", maintain_order=True):
        row = means[str(metric)]
        heading = (
            f"{metric}: mean loss {format_signed(row['mean_loss'])}, largest "
            f"{format_signed(row['largest_loss'])}"
            f" ({make_printable(row['run'])})"
        )
        tables.append(Table(heading, _grid(table)))
    rows = PlainRows(tuple(result.table.columns), result.table.rows())
    warnings = Warnings(tuple(notice.text for notice in result.notices))
    return made(title, *tables, warnings, _NOTE, rows=rows)


def _grid(table: pl.DataFrame) -> Grid:
    rows = tuple(
        (
            row["run"],
            str(row["unique"]),
            str(row["unique_relevant"]),
            format_decimal(row["value"]),
            format_decimal(row["without"]),
            format_signed(row["loss"]),
            f"{row['rank']} → {row['rank_without']}",
            format_number(row["tau"], 3),
        )
        for row in table.sort("loss", "run", descending=[True, False]).iter_rows(named=True)
    )
    header = ("run", "unique", "relevant", "value", "without", "loss", "place", "tau")
    return Grid(header, rows)
