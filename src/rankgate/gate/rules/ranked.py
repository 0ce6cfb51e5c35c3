"""Where a document stands in the candidate's list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.gate.declare import Finding

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence


def ranks(evidence: Evidence, query: str) -> dict[str, int] | Finding:
    """Rank by document within the depth that is kept, or why there is none."""
    comparison = evidence.comparison
    lists = comparison.lists.filter(pl.col("query_id") == query)
    own = lists.filter(pl.col("system") == "candidate")
    if lists.is_empty() and query not in comparison.queries["query_id"]:
        return Finding("inconclusive", f"Query {query} is not among those that were compared.",
                       "Run and judge it, or take it from the policy.")  # fmt: skip
    return dict(own.select("doc_id", "rank").iter_rows())
