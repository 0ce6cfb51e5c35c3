"""What runs lose when they are left out of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_csv, as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import number, signed
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import decimal
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.pooling.reusability import Reusability

FORMS = ("text", "json", "csv", "markdown")
"""The forms of losses, by the name that ``--format`` takes."""

_NOTE = (
    "unique: judged documents that no other run has down to the depth. without: the value when "
    "those judgments are missing, as they would be if the run had never been pooled. tau: the "
    "order of all runs with and without them."
)


def render(told: Reusability, form: str, width: int = WIDTH) -> str:
    """The result in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "csv":
        return as_csv.written(told.table.columns, told.table.rows())
    title = (
        f"leaving each run out of the pool of depth {told.depth}, judgments {printable(told.qrels)}"
        f", convention {told.convention['name']} ({told.convention['hash']})"
    )
    parts = ["\n".join(wrapped(title, width))]
    means = {row["metric"]: row for row in told.means.iter_rows(named=True)}
    for (metric,), table in told.table.group_by("metric", maintain_order=True):
        row = means[str(metric)]
        head = (
            f"{metric}: mean loss {signed(row['mean_loss'])}, largest {signed(row['largest_loss'])}"
            f" ({printable(row['run'])})"
        )
        grid = _grid(table)
        shown = as_markdown.table(grid) if form == "markdown" else fitted(grid, width)
        parts.append(f"{head}\n\n{shown}" if form == "markdown" else f"{head}\n{shown}")
    parts.append("\n".join(wrapped(_NOTE, width)))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def grids(told: Reusability) -> list[Grid]:
    """One table a metric."""
    return [_grid(table) for _, table in told.table.group_by("metric", maintain_order=True)]


def _grid(table: pl.DataFrame) -> Grid:
    rows = tuple(
        (row["run"], str(row["unique"]), str(row["unique_relevant"]), decimal(row["value"]),
         decimal(row["without"]), signed(row["loss"]), f"{row['rank']} → {row['rank_without']}",
         number(row["tau"], 3))
        for row in table.sort("loss", "run", descending=[True, False]).iter_rows(named=True)
    )  # fmt: skip
    head = ("run", "unique", "relevant", "value", "without", "loss", "place", "tau")
    return Grid(head, rows)
