"""The ranks that systems may have over data sets, and which of them cannot be told apart, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, SYSTEM
from rankgate.measurement.stats.rank_separation import (
    alike_groups,
    compare_by_queries,
    compare_by_units,
    rank_intervals,
)

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.measurement.stats.rank_separation import SeparatedSystems

NEW_DATA_SETS, NEW_QUERIES = "new data sets", "new queries"

POPULATION = Column(
    "population",
    pl.String,
    "new data sets, of which these are a sample; or new queries, where the data sets stay",
)
INTERVALS = Columns(
    "One row per metric, population and system, the best mean first: the ranks that a system may have; all "
    "of a metric and population hold together.",
    METRIC,
    POPULATION,
    Column("rank", pl.Int64, "1 + the number of systems with a better mean"),
    SYSTEM,
    Column("mean", pl.Float64, "the mean of the data sets, each with the same weight"),
    Column("low", pl.Int64, "1 + the number of systems that are better beyond chance", header="may rank"),
    Column("high", pl.Int64, "the number of systems that are not worse beyond chance"),
)
GROUPS = Columns(
    "One row per metric, population and longest run of systems in rank order of which no two can be told "
    "apart.",
    METRIC,
    POPULATION,
    Column("first", pl.Int64, "the first position of the run in the order of means", header="ranks"),
    Column("last", pl.Int64, "the last position"),
    Column("systems", pl.List(pl.String), "the systems of the run", header="cannot be told apart"),
)
SEPARATIONS = Columns(
    "One row per metric and population: how many systems can be told apart.",
    METRIC,
    POPULATION,
    Column("pairs", pl.Int64, "the pairs of systems", ","),
    Column("separate", pl.Int64, "the pairs that differ beyond chance", ","),
    Column("neighbours", pl.Int64, "the pairs of systems with successive means", ","),
    Column("separate_neighbours", pl.Int64, "those of them that differ beyond chance", ","),
    Column("best", pl.Int64, "the systems that may have rank 1"),
    Column("lowest_p", pl.Float64, "the smallest p-value that the data can give", "p"),
    Column("resamples", pl.Int64, "the resamples behind each p-value", ","),
)
TABLES: Mapping[str, Columns] = {"intervals": INTERVALS, "groups": GROUPS, "separations": SEPARATIONS}

_FEWEST_QUERIES = 10
"""Queries of a data set below which new queries are not spoken of; the study has no smaller ones."""

Rows = dict[str, list[tuple[Any, ...]]]


def separate_systems(
    means: Floats, queries: Sequence[Floats], *, sign: int, seed: int
) -> dict[str, SeparatedSystems]:
    """Test all pairs of systems by one metric, by the population that each test is about.

    Args:
        means: (D, S) means of systems on data sets.
        queries: (n, S) values of the queries of each data set; empty without them.
        sign: -1 for a metric that is better when lower, else 1.
        seed: the seed of the resamples.
    """
    tests = {NEW_DATA_SETS: compare_by_units(sign * means, seed=seed)}
    if queries:
        tests[NEW_QUERIES] = compare_by_queries([sign * values for values in queries], seed=seed)
    return tests


def add_rank_rows(
    rows: Rows,
    metric: str,
    population: str,
    systems: Sequence[str],
    test: SeparatedSystems,
    *,
    sign: int,
    level: float,
) -> None:
    """Add the rows of `INTERVALS`, `GROUPS` and `SEPARATIONS` of one metric and population."""
    size, is_better = len(systems), test.is_better(level)
    low, high = rank_intervals(is_better)
    order = np.argsort(-test.means, kind="stable")
    ranks = 1 + (test.means[:, None] < test.means).sum(axis=1)
    names = [systems[i] for i in order]
    columns = ranks[order], names, sign * test.means[order], low[order], high[order]
    rows["intervals"] += [(metric, population, *row) for row in zip(*columns, strict=True)]
    rows["groups"] += [
        (metric, population, begin + 1, end, names[begin:end])
        for begin, end in alike_groups(order, is_better)
    ]
    neighbours = int(is_better[order[:-1], order[1:]].sum())
    counts = size * (size - 1) // 2, int(is_better.sum()), size - 1, neighbours, int((low == 1).sum())
    rows["separations"].append((metric, population, *counts, test.lowest_p, test.resamples))


def query_values(comparisons: Mapping[str, Comparisons], metric: str) -> list[Floats]:
    """(n, S) values of the queries, or clusters, of each data set; empty unless all have enough of them.

    Queries without a value of a system are left out. Samples of queries, and sums of groups of them, are
    not values of all queries. The columns are the baseline and the candidates in their order.
    """
    data_sets = []
    for comparison in comparisons.values():
        if any(single.sample for single in comparison.comparisons):
            return []
        table = comparison.only.deltas(metric).select("query_id", pl.col("baseline").alias("0"))
        for i, single in enumerate(comparison.comparisons, 1):
            candidate = single.deltas(metric).select("query_id", pl.col("candidate").alias(f"{i}"))
            table = table.join(candidate, on="query_id", maintain_order="left")
        values = _by_cluster(table.drop_nulls(), comparison)
        if len(values) < _FEWEST_QUERIES:
            return []
        data_sets.append(values)
    return data_sets


def _by_cluster(table: pl.DataFrame, comparison: Comparisons) -> Floats:
    from rankgate.data.query_tags import read_clusters
    from rankgate.measurement.stats.weighted_means import QueryClusters

    clusters = read_clusters([comparison.queries])
    values = table.drop("query_id").to_numpy()
    if not clusters:
        return values
    return QueryClusters.from_queries(table["query_id"].to_list(), clusters).values(values)
