"""Heat map of the values of all systems of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.charts.words import count_queries
from rankgate.measurement.evaluation.charts.heat import heat_map

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.decisions.comparison.comparison import Comparisons


def draw(results: Comparisons) -> Picture:
    """A panel for each metric, the baseline and every candidate in their order of means.

    Raises:
        UsageError: values of single queries were not kept.
    """
    first_comparison = results.comparisons[0]
    values: dict[str, dict[str, dict[str, float]]] = {
        metric: {} for metric in first_comparison.names
    }
    for comparison in results.comparisons:
        names = comparison.baseline.name, comparison.candidate.name
        columns = ("metric", "query_id", "baseline", "candidate")
        for metric, query, *pair in comparison.queries.select(columns).iter_rows():
            for name, value in zip(names, pair, strict=True):
                values[metric].setdefault(name, {})[query] = value
    counts = {row["n"] for row in first_comparison.metrics.iter_rows(named=True)}
    return heat_map(
        values, first_comparison.lower, count_queries(*counts), first_comparison.convention
    )
