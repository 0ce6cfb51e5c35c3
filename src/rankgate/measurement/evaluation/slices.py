"""Means over slices of the queries: each turn of conversations, each intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data.inputs import TagsLike
    from rankgate.data.sample import Sample
    from rankgate.data.scores import RunScores

SCHEMA: dict[str, Any] = {
    "tag": pl.String,
    "value": pl.String,
    "run": pl.String,
    "metric": pl.String,
    "n": pl.Int64,
    "mean": pl.Float64,
}
"""A row for each value of a tag, run and metric: how many queries have a value, and their mean."""


def slice_means(
    runs: Sequence[RunScores],
    tags: TagsLike | None,
    slices: Sequence[str],
    sample: Sample | None = None,
) -> pl.DataFrame | None:
    """The means for each value of some tags, in the order of values; None without tags.

    With a sample they are those of the queries of a slice that could be drawn.

    Raises:
        InputError: tags that cannot be read; a sample that lacks a judged query.
        UsageError: a tag that no query has; slices without tags.
    """
    if not slices:
        return None

    if tags is None:
        problem = "slices need tags; give them with --tags FILE or ids:PATTERN."
        raise UsageError(problem, code="missing-input")
    from rankgate.data.formats.tags import matching_tags  # few evaluations have slices

    table = matching_tags(tags, runs[0].query_ids.alias("query_id"), slices)
    tag_columns = [name for name in table.columns if name != "query_id"]
    parts = [pl.DataFrame(schema=SCHEMA)]
    for tag in slices:
        if tag not in tag_columns:
            problem = f"no tag is called {tag!r}; queries have {', '.join(tag_columns) or 'none'}."
            raise UsageError(problem, code="unknown-tag")
        tag_values = table.select("query_id", pl.col(tag).fill_null("(none)").alias("value"))
        for run in runs:
            values = run.table.drop("why").rename({"value": "mean"})
            joined = values.join(tag_values, on="query_id", maintain_order="left")
            mean, n = pl.col("mean"), pl.col("mean").count().cast(pl.Int64).alias("n")
            if sample is None:
                means = joined.group_by("value", "metric", maintain_order=True).agg(n, mean.mean())
            else:
                judged = joined.filter(mean.is_not_null())["query_id"].unique().to_list()
                weights = sample.weights(judged, part=True)[0]
                weight = pl.col("query_id").replace_strict(
                    judged,
                    [1.0] * len(judged) if weights is None else weights,
                    default=None,
                    return_dtype=pl.Float64,
                )
                counts = pl.when(mean.is_not_null()).then(weight)
                share = (mean * counts).sum() / counts.sum()
                means = joined.group_by("value", "metric", maintain_order=True).agg(
                    n, share.alias("mean")
                )
            labelled = means.with_columns(pl.lit(tag).alias("tag"), pl.lit(run.run).alias("run"))
            parts.append(labelled.select(list(SCHEMA)))
    all_means = pl.concat(parts)
    order = {
        value: position for position, value in enumerate(sort_values(all_means["value"].unique()))
    }
    value_order = pl.col("value").replace_strict(order, return_dtype=pl.Int64)
    return all_means.sort(pl.col("tag"), value_order, maintain_order=True)


def sort_values(values: Sequence[str] | pl.Series) -> list[str]:
    """Sort values of a tag: numbers by their size, then words."""
    return sorted(
        values, key=lambda value: (0, float(value), value) if _number(value) else (1, 0.0, value)
    )


def _number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdecimal()
