"""Render judgments and grades of the first documents, rank by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.decisions.comparison.ranks import GradesByRank


def document(result: GradesByRank) -> Document:
    """Judged share of each list by rank, and its mix of grades."""
    judged_rows = tuple(
        (
            system,
            str(rank),
            f"{lists:,}",
            format_decimal(share_at_rank),
            format_decimal(share_down_to_rank),
        )
        for system, rank, lists, share_at_rank, share_down_to_rank in result.judged.rows()
    )
    grades = tuple(
        (row["system"], str(row["rank"]), row["label"], f"{row['count']:,}", f"{row['share']:.0%}")
        for row in result.grades.iter_rows(named=True)
    )
    header = ("system", "rank", "lists", "judged there", "judged down to it")
    text_columns = frozenset({0})
    table = result.judged
    return made(
        f"the first {result.depth} documents of {len(result.systems)} systems, "
        f"{result.queries:,} queries",
        Chart("rankgate.decisions.comparison.charts.ranked:judged", result),
        Table("judged", Grid(header, judged_rows, text_columns, keys=2)),
        Chart("rankgate.decisions.comparison.charts.ranked:grades", result),
        Table(
            "grades",
            Grid(("system", "rank", "grade", "documents", "share"), grades, frozenset({0, 2})),
            folded=True,
        ),
        rows=PlainRows(tuple(table.columns), table.rows()),
    )
