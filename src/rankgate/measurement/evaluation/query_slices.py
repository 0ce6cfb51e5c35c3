"""Means over slices of the queries, and counts of the queries of a run by state.

Slices are, for example, each turn of conversations or each intent. The states of queries come
from the snapshot of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC, RUN, TAG
from rankgate.core.present.number_formats import count_noun
from rankgate.data.table_rows import in_row_order

if TYPE_CHECKING:
    from rankgate.data.input_types import TagsLike
    from rankgate.data.query_sample import Sample
    from rankgate.data.run_scores import RunScores


SCHEMA = Columns(
    "One row per value of a tag, run and metric.",
    TAG,
    Column("value", pl.String, "the value of the tag that the queries have"),
    RUN,
    METRIC,
    Column("n", pl.Int64, "queries with a value", unit="queries"),
    Column("mean", pl.Float64, "the mean of their values"),
)


def refuse_without_tags(tags: TagsLike | None, slices: Sequence[str]) -> None:
    """Check that slices have tags.

    Raises:
        UsageError: tags are missing.
    """
    if slices and tags is None:
        problem = "slices need tags; give them with --tags FILE or ids:PATTERN."
        raise UsageError(problem, code="missing-input")


def slice_means(
    runs: Sequence[RunScores],
    tags: TagsLike | None,
    slices: Sequence[str],
    sample: Sample | None = None,
    id_rules: str | None = None,
) -> pl.DataFrame | None:
    """The means for each value of some tags, in the order of values; None if there are no tags.

    With a sample, the means estimate those of the slice in the population.

    Raises:
        InputError: tags cannot be read, or the sample lacks a judged query.
        UsageError: no query has a tag, or slices are requested without tags.
    """
    refuse_without_tags(tags, slices)
    if not slices or tags is None:
        return None
    from rankgate.data.query_tags import matching_tags  # few evaluations have slices

    table = matching_tags(tags, runs[0].query_ids.alias("query_id"), slices, id_rules)
    tag_columns = [name for name in table.columns if name != "query_id"]
    parts = [pl.DataFrame(schema=SCHEMA)]
    for tag in slices:
        if tag not in tag_columns:
            problem = f"unknown tag {tag!r}; queries have {', '.join(tag_columns) or 'none'}."
            raise UsageError(problem, code="unknown-tag")
        tag_values = table.select("query_id", pl.col(tag).fill_null("(none)").alias("value"))
        for run in runs:
            values = run.table.drop("why").rename({"value": "mean"})
            joined = values.join(tag_values, on="query_id", maintain_order="left")
            mean, n = pl.col("mean"), pl.col("mean").count().cast(pl.Int64).alias("n")
            if sample is None:
                means = joined.group_by("value", "metric", maintain_order=True).agg(
                    n, in_row_order(mean).mean()
                )
            else:
                judged = joined.filter(mean.is_not_null())["query_id"].unique(maintain_order=True).to_list()
                weights = sample.weights(judged, part=True)[0]
                weight = pl.col("query_id").replace_strict(
                    judged,
                    [1.0] * len(judged) if weights is None else weights,
                    default=None,
                    return_dtype=pl.Float64,
                )
                counts = pl.when(mean.is_not_null()).then(weight)
                share = in_row_order(mean * counts).sum() / in_row_order(counts).sum()
                means = joined.group_by("value", "metric", maintain_order=True).agg(n, share.alias("mean"))
            labelled = means.with_columns(pl.lit(tag).alias("tag"), pl.lit(run.run).alias("run"))
            parts.append(labelled.select(list(SCHEMA)))
    all_means = pl.concat(parts)
    order = {value: position for position, value in enumerate(sort_values(all_means["value"].unique()))}
    value_order = pl.col("value").replace_strict(order, return_dtype=pl.Int64)
    return all_means.sort(pl.col("tag"), value_order, maintain_order=True)


def sort_values(values: Sequence[str] | pl.Series) -> list[str]:
    """Sort values of a tag: numbers by size, then texts."""
    return sorted(values, key=lambda value: (0, float(value), value) if _number(value) else (1, 0.0, value))


def _number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdecimal()


_STATE_TEXTS = {"failed": "failed", "not_run": "were not asked"}


def with_states(
    scores: RunScores, queries: pl.DataFrame | None, judged: Sequence[str] | pl.Series
) -> RunScores:
    """The scores with the number of judged queries in each state, including left-out queries.

    Args:
        scores: the scores of a run.
        queries: the run's data on queries, with ``state`` where it is known.
        judged: the ids of judged queries.
    """
    if queries is None or "state" not in queries.columns:
        return scores
    from rankgate.data.formats.run_companions import STATES

    judged_ids = pl.Series(judged, dtype=pl.String)
    judged_queries = queries.filter(pl.col("query_id").is_in(judged_ids.implode()))
    count_by_state = dict(judged_queries.group_by("state").len().iter_rows())
    states = {state: count_by_state.get(state, 0) for state in STATES}
    return replace(scores, counts=replace(scores.counts, states=states))


def unanswered_sentence(name: str, states: Mapping[str, int]) -> str:
    """A sentence about queries without an answer; empty if every query has one."""
    total = sum(states.values())
    parts = [
        f"{states[state]:,} of {count_noun(total, 'query')} {state_text}"
        for state, state_text in _STATE_TEXTS.items()
        if states.get(state)
    ]
    if not parts:
        return ""
    return f"{name}: {' and '.join(parts)}: without an answer, their values do not show ranks"
