"""The first documents of a pool as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.judging.pooling.pool import Pool

_SHOWN = 20


def grid(told: Pool, count: int = _SHOWN) -> Grid:
    """Query, document, why and batch of the first documents."""
    rows = tuple(
        (query, document, why, str(batch))
        for query, document, why, batch in told.table.head(count)
        .select("query_id", "doc_id", "why", "batch")
        .iter_rows()
    )
    return Grid(("query", "document", "why", "batch"), rows, frozenset({0, 1, 2}))
