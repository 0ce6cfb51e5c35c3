"""Compare systems on slices of the queries, with simultaneous p-values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.clusters import read_clusters
from rankgate.decisions.comparison.comparison import METRICS
from rankgate.decisions.comparison.paired import compute_figures
from rankgate.measurement.evaluation.slices import sort_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import PairedFigures
    from rankgate.decisions.comparison.values import PairedValues

    Floats = NDArray[np.float64]


def figures_by_slice(
    baseline: ScoredRun,
    values: PairedValues,
    tags: Sequence[str],
    test: Test,
    table_of: Callable[..., pl.DataFrame],
    design: Design | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Figures of each value of each tag, corrected by BH over a tag's values; interactions.

    Raises:
        UsageError: a tag that no query has.
    """
    from rankgate.measurement.stats.corrections import correct

    value_tables, rows = [], []
    clusters = read_clusters([baseline.tagged])
    for tag in tags:
        if tag not in baseline.tags:
            tag_names = ", ".join(baseline.tags) or "none; give some with --tags FILE"
            raise UsageError(
                f"no tag is called {tag!r}; queries have {tag_names}.", code="unknown-tag"
            )
        value_of_query = dict(baseline.tagged.select("query_id", tag).iter_rows())
        slice_of_query = np.array(
            [value_of_query.get(query) or "" for query in values.query_ids], dtype=object
        )
        groups = sort_values(list(set(slice_of_query)))
        slice_figures = [
            _slice_figures(
                _select_queries(values, slice_of_query == slice_value),
                test,
                design,
                (tag, str(slice_value)),
                clusters,
            )
            for slice_value in groups
        ]
        p = correct(np.stack([slice_result.p_raw for slice_result in slice_figures]), "bh")
        for name, slice_result, p_values in zip(groups, slice_figures, p, strict=True):
            table = table_of(values.metrics, slice_result, p_values, test, "bh")
            value_tables.append(
                table.select(pl.lit(tag).alias("tag"), pl.lit(name or "(none)").alias("value"), "*")
            )
        if design is None:
            rows += _interactions(tag, values.in_units(clusters), slice_of_query, groups)
    schema = {"tag": pl.String, "value": pl.String, **METRICS}
    interaction_schema = {"tag": pl.String, "metric": pl.String, "p_value": pl.Float64}
    empty = pl.DataFrame(schema=schema)
    return pl.concat([empty, *value_tables]), pl.DataFrame(rows, schema=interaction_schema)


def _select_queries(values: PairedValues, rows: NDArray[np.bool_]) -> PairedValues:
    """Select the values of some queries."""
    return replace(
        values,
        query_ids=[
            query for query, is_in_slice in zip(values.query_ids, rows, strict=True) if is_in_slice
        ],
        baseline=values.baseline[rows],
        candidate=values.candidate[rows],
    )


def _slice_figures(
    values: PairedValues,
    test: Test,
    design: Design | None,
    slice_: tuple[str, str],
    clusters: Mapping[str, str],
) -> PairedFigures:
    if design is None:
        return compute_figures(values.in_units(clusters), test)
    return design.figures(values, test, slice_)


def _interactions(
    tag: str, values: PairedValues, slice_of_query: NDArray[Any], groups: list[str]
) -> list[dict[str, Any]]:
    """Test if differences depend on the value of a tag, by one-way analysis of variance."""
    from rankgate.measurement.stats.groups import one_way

    rows = []
    for j, metric in enumerate(values.metrics):
        delta = values.candidate[:, j] - values.baseline[:, j]
        deltas_by_slice = [
            delta[(slice_of_query == slice_value) & ~np.isnan(delta)] for slice_value in groups
        ]
        rows.append({"tag": tag, "metric": metric, "p_value": one_way(deltas_by_slice)})
    return rows


def max_t(pairs: Sequence[PairedValues], test: Test) -> list[Floats]:
    """Max-T over metrics and candidates, under the same flips: (M,) p-values a candidate."""
    from rankgate.measurement.stats.resampling.randomization import randomization

    query_ids = sorted({query for pair in pairs for query in pair.query_ids})
    row_of_query = {query: i for i, query in enumerate(query_ids)}
    table = np.zeros((len(query_ids), sum(len(pair.metrics) for pair in pairs)))
    first_column = 0
    for pair in pairs:
        delta = pair.candidate - pair.baseline
        rows = [row_of_query[query] for query in pair.query_ids]
        table[rows, first_column : first_column + len(pair.metrics)] = np.where(
            np.isnan(delta), 0.0, delta
        )
        first_column += len(pair.metrics)
    result = randomization(table, samples=test.resamples, seed=test.seed)
    return np.split(result.p_max, len(pairs))
