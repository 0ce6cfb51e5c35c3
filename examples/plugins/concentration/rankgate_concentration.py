"""A report block: how few queries make most of a difference.

A difference that comes from three queries of a hundred says little about the next hundred.
"""

from rankgate import Comparisons
from rankgate.extend import Grid, ReportBlock, Table

_SHARE = 0.8


def blocks(result: Comparisons) -> tuple[str | Table, ...]:
    """A table with a row for each metric: queries that gain, that lose, and that make 80%."""
    rows = []
    for (metric,), queries in result.queries.group_by("metric", maintain_order=True):
        gains = queries["gain"].drop_nulls()
        sizes = gains.abs().sort(descending=True)
        total = sizes.sum()
        few = int((sizes.cum_sum() < _SHARE * total).sum()) + 1 if total else 0
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        rows.append((str(metric), f"{better:,}", f"{worse:,}", f"{few:,} of {len(gains):,}"))
    head = ("metric", "queries\nbetter", "queries\nworse", "queries that\nmake 80%")
    return (
        "How many queries make 80% of all changes, gains and losses together.",
        Table("", Grid(head, tuple(rows), frozenset({0}))),
    )


CONCENTRATION = ReportBlock(
    "concentration", ("comparison",), blocks, title="Where the difference comes from"
)
