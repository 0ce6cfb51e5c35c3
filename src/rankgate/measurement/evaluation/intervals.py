"""Means with their confidence intervals, of all queries and of slices of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.frames import make_frame
from rankgate.data.parts import Need, Supply

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import TagsLike
    from rankgate.data.scores import RunScores

LEVEL = 0.95

INTERVALS: dict[str, Any] = {
    "tag": pl.String,
    "value": pl.String,
    "run": pl.String,
    "metric": pl.String,
    "n": pl.Int64,
    "mean": pl.Float64,
    "sd": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
}
"""A row for each run and metric, and for each value of a tag (null: all queries).

The mean is over n queries with standard deviation sd; low and high are the ends of Student's
interval. Metrics that are no plain mean of values have no n, sd and ends.
"""

_ROUNDING = 1e-9
_SAMPLE_SUPPLY = Supply(
    frozenset({"values"}),
    "the queries are a sample of others, with weights",
    "take the means and intervals in `weighted`",
)


def interval_of_mean(n: int, mean: float, sd: float, level: float = LEVEL) -> tuple[Any, ...]:
    """The last columns of `INTERVALS`, with mean ± t(n - 1) · sd / √n."""
    from scipy.special import stdtrit

    half_width = float(stdtrit(n - 1, (1 + level) / 2)) * sd / n**0.5 if n > 1 else np.nan
    return n, mean, sd, mean - half_width, mean + half_width, level


def no_plain_mean(mean: float, level: float = LEVEL) -> tuple[Any, ...]:
    """The last columns of `INTERVALS` for a number that is no mean of values."""
    return None, mean, None, None, None, level


def table_of(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """A table with the columns of `INTERVALS`; undefined numbers are null."""
    return make_frame(rows, INTERVALS).fill_nan(None)


def intervals_of(
    runs: Sequence[RunScores],
    metrics: Sequence[str],
    slices: pl.DataFrame | None = None,
    tags: TagsLike | None = None,
    sample: object = None,
) -> pl.DataFrame:
    """The intervals of runs that have values of single queries.

    Args:
        runs: with values.
        metrics: their labels.
        slices: the means of slices, by `slices.SCHEMA`, where there are some.
        tags: of the queries, where there are slices.
        sample: how the queries were drawn, where it is stated.

    Raises:
        UsageError: it is stated.
    """
    if sample is not None:
        raise _SAMPLE_SUPPLY.error("`intervals`", Need("intervals"))
    rows: list[tuple[Any, ...]] = []
    for run in runs:
        for label in metrics:
            values = run.values.get(label, np.zeros(0))
            rows.append(
                (None, None, run.run, label, *_interval_of_values(values, run.means[label]))
            )
    if slices is not None and tags is not None:
        rows += _slice_rows(runs, slices, tags)
    return table_of(rows)


def _interval_of_values(values: NDArray[np.float64], mean: float) -> tuple[Any, ...]:
    """The last columns of `INTERVALS` for one run and metric."""
    defined = values[~np.isnan(values)]
    if not len(defined) or abs(defined.mean() - mean) > _ROUNDING:
        return no_plain_mean(mean)
    return interval_of_mean(
        len(defined), mean, float(defined.std(ddof=1)) if len(defined) > 1 else np.nan
    )


def _slice_rows(
    runs: Sequence[RunScores], slices: pl.DataFrame, tags: TagsLike
) -> list[tuple[Any, ...]]:
    """Rows for the values of tags, in the order of the scores' slices."""
    from rankgate.data.formats.tags import matching_tags

    names = slices["tag"].unique(maintain_order=True).to_list()
    table = matching_tags(tags, runs[0].query_ids.alias("query_id"), names)
    groups: dict[tuple[Any, ...], Any] = {}
    for tag in names:
        tagged = table.select("query_id", pl.col(tag).fill_null("(none)").alias("tag_value"))
        for run in runs:
            joined = run.table.join(tagged, on="query_id", maintain_order="left")
            parts = joined.partition_by("tag_value", "metric", as_dict=True)
            groups |= {
                (tag, key[0], run.run, key[1]): group["value"] for key, group in parts.items()
            }
    return [
        (
            *key,
            *_interval_of_values(groups[key].cast(pl.Float64).fill_null(np.nan).to_numpy(), mean),
        )
        for *key_columns, mean in slices.select("tag", "value", "run", "metric", "mean").iter_rows()
        if (key := tuple(key_columns)) in groups
    ]
