"""Means over slices of the queries: each turn of conversations, each intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data.inputs import TagsLike
    from rankgate.data.sample import Sample
    from rankgate.data.scores import Scores

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
    runs: Sequence[Scores],
    tags: TagsLike | None,
    slices: Sequence[str],
    sample: Sample | None = None,
) -> pl.DataFrame | None:
    """The means of each value of some tags, in the order of values; None where none are asked for.

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
    known = [name for name in table.columns if name != "query_id"]
    parts = [pl.DataFrame(schema=SCHEMA)]
    for tag in slices:
        if tag not in known:
            problem = f"no tag is called {tag!r}; queries have {', '.join(known) or 'none'}."
            raise UsageError(problem, code="unknown-tag")
        own = table.select("query_id", pl.col(tag).fill_null("(none)").alias("value"))
        for run in runs:
            found = run.table.drop("why").rename({"value": "mean"}).join(own, on="query_id")
            mean, n = pl.col("mean"), pl.col("mean").count().cast(pl.Int64).alias("n")
            if sample is None:
                means = found.group_by("value", "metric").agg(n, mean.mean())
            else:
                judged = found.filter(mean.is_not_null())["query_id"].unique().to_list()
                weights = sample.weights(judged, part=True)[0]
                weight = pl.col("query_id").replace_strict(
                    judged, [1.0] * len(judged) if weights is None else weights, default=None,
                    return_dtype=pl.Float64,
                )  # fmt: skip
                counts = pl.when(mean.is_not_null()).then(weight)
                share = (mean * counts).sum() / counts.sum()
                means = found.group_by("value", "metric").agg(n, share.alias("mean"))
            named = means.with_columns(pl.lit(tag).alias("tag"), pl.lit(run.run).alias("run"))
            parts.append(named.select(list(SCHEMA)))
    whole = pl.concat(parts)
    order = {value: place for place, value in enumerate(in_order(whole["value"].unique()))}
    by = pl.col("value").replace_strict(order, return_dtype=pl.Int64)
    return whole.sort(pl.col("tag"), by, maintain_order=True)


def in_order(values: Sequence[str] | pl.Series) -> list[str]:
    """Values of a tag: numbers by their size, then words."""
    return sorted(values, key=lambda each: (0, float(each), each) if _number(each) else
                  (1, 0.0, each))  # fmt: skip


def _number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdecimal()
