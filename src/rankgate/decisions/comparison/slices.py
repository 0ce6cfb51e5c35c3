"""Compare systems on slices of the queries, with simultaneous p-values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data.clusters import clusters_of
from rankgate.decisions.comparison.comparison import METRICS
from rankgate.decisions.comparison.paired import figures
from rankgate.measurement.evaluation.slices import in_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import Figures
    from rankgate.decisions.comparison.values import PairedValues

    Floats = NDArray[np.float64]


def sliced(
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

    parts, rows = [], []
    clusters = clusters_of([baseline.tagged])
    for tag in tags:
        if tag not in baseline.tags:
            known = ", ".join(baseline.tags) or "none; give some with --tags FILE"
            raise UsageError(f"no tag is called {tag!r}; queries have {known}.", code="unknown-tag")
        own = dict(baseline.tagged.select("query_id", tag).iter_rows())
        belongs = np.array([own.get(query) or "" for query in values.query_ids], dtype=object)
        groups = in_order(list(set(belongs)))
        items = [
            _figures(_part(values, belongs == each), test, design, (tag, str(each)), clusters)
            for each in groups
        ]
        p = correct(np.stack([each.p_raw for each in items]), "bh")
        for name, each, corrected in zip(groups, items, p, strict=True):
            table = table_of(values.metrics, each, corrected, test, "bh")
            parts.append(
                table.select(pl.lit(tag).alias("tag"), pl.lit(name or "(none)").alias("value"), "*")
            )
        if design is None:
            rows += _interactions(tag, values.in_units(clusters), belongs, groups)
    schema = {"tag": pl.String, "value": pl.String, **METRICS}
    added = {"tag": pl.String, "metric": pl.String, "p_value": pl.Float64}
    empty = pl.DataFrame(schema=schema)
    return pl.concat([empty, *parts]), pl.DataFrame(rows, schema=added)


def _part(values: PairedValues, rows: NDArray[np.bool_]) -> PairedValues:
    """The values of some queries."""
    return replace(
        values,
        query_ids=[query for query, there in zip(values.query_ids, rows, strict=True) if there],
        baseline=values.baseline[rows],
        candidate=values.candidate[rows],
    )


def _figures(
    values: PairedValues, test: Test, design: Design | None, slice_: tuple[str, str],
    clusters: Mapping[str, str],
) -> Figures:  # fmt: skip
    if design is None:
        return figures(values.in_units(clusters), test)
    return design.figures(values, test, slice_)


def _interactions(
    tag: str, values: PairedValues, belongs: NDArray[Any], groups: list[str]
) -> list[dict[str, Any]]:
    """Do the values of a tag differ in their differences? One-way analysis of variance."""
    from rankgate.measurement.stats.groups import one_way

    rows = []
    for j, metric in enumerate(values.metrics):
        delta = values.candidate[:, j] - values.baseline[:, j]
        some = [delta[(belongs == each) & ~np.isnan(delta)] for each in groups]
        rows.append({"tag": tag, "metric": metric, "p_value": one_way(some)})
    return rows


def max_t(pairs: Sequence[PairedValues], test: Test) -> list[Floats]:
    """Max-T over metrics and candidates, under the same flips: (M,) p-values a candidate."""
    from rankgate.measurement.stats.resampling.randomization import randomization

    every = sorted({query for pair in pairs for query in pair.query_ids})
    place = {query: i for i, query in enumerate(every)}
    table = np.zeros((len(every), sum(len(pair.metrics) for pair in pairs)))
    begin = 0
    for pair in pairs:
        delta = pair.candidate - pair.baseline
        rows = [place[query] for query in pair.query_ids]
        table[rows, begin : begin + len(pair.metrics)] = np.where(np.isnan(delta), 0.0, delta)
        begin += len(pair.metrics)
    result = randomization(table, samples=test.resamples, seed=test.seed)
    return np.split(result.p_max, len(pairs))
