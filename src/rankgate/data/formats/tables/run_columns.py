"""Read query latencies and states from extra columns of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import map_columns

_TYPES = {
    "query_id": pl.String,
    "latency_ms": pl.Float64,
    "state": pl.String,
    "system": pl.String,
}


def find_run_columns(names: Sequence[str]) -> dict[str, str]:
    """Map our names of such columns and of the query's to the file's; empty if there is none.

    >>> find_run_columns(["qid", "docid", "score", "latency_ms"])
    {'query_id': 'qid', 'latency_ms': 'latency_ms'}
    """
    extra_columns = {name: name for name in ("latency_ms", "state", "system") if name in names}
    return map_columns(names, ("query_id",)) | extra_columns if extra_columns else {}


def read_query_states(frames: Iterable[pl.DataFrame], label: str) -> pl.DataFrame | None:
    """One row a query: ``query_id``, ``state``, ``latency_ms``, ``error``.

    A column ``state`` with other words than ok, zero, failed and not_run means something else.

    Raises:
        InputError: a latency that is not a number of 0 or more; a query with two of them; a
            column ``system`` with several names, which are several runs.
    """
    from rankgate.data.formats.run_meta import STATES

    unique_frames = [frame.unique(maintain_order=True) for frame in frames]
    if not unique_frames:
        return None
    rows = pl.concat(unique_frames)
    rows = rows.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in _TYPES.items() if name not in rows
    )
    systems = rows["system"].unique(maintain_order=True).drop_nulls().head(3)
    if len(systems) > 1:
        names = ", ".join(map(repr, systems))
        problem = (
            f"several runs by the column system ({names}); read the file into a frame, whose "
            "systems are runs, or give a file for each."
        )
        raise InputError(problem, source=label, code="several-runs")
    if not rows["state"].drop_nulls().is_in(STATES).all():
        rows = rows.with_columns(pl.lit(None, pl.String).alias("state"))
    invalid_rows = rows.filter(~pl.col("latency_ms").is_finite() | (pl.col("latency_ms") < 0))
    if len(invalid_rows):
        query, latency = invalid_rows["query_id"][0], invalid_rows["latency_ms"][0]
        problem = (
            f"query {query!r}: latency_ms {latency!r} is not a number of milliseconds, 0 or more."
        )
        raise InputError(problem, source=label, code="not-a-number")
    unique_rows = rows.drop_nulls("query_id").unique(maintain_order=True)
    values_by_query = unique_rows.group_by("query_id", maintain_order=True).agg(
        pl.col("latency_ms", "state").drop_nulls().unique(maintain_order=True)
    )
    contradictions = values_by_query.filter(
        pl.any_horizontal(pl.col("latency_ms", "state").list.len() > 1)
    )
    if len(contradictions):
        query, *values = contradictions.select("query_id", "latency_ms", "state").row(0)
        both_values = next(value for value in values if len(value) > 1)
        problem = (
            f"query {query!r} has {both_values[0]!r} in one row and {both_values[1]!r} in another; "
            "keep one."
        )
        raise InputError(problem, source=label, code="contradiction")
    first_values = values_by_query.with_columns(pl.col("latency_ms", "state").list.first())
    if first_values["latency_ms"].is_null().all() and first_values["state"].is_null().all():
        return None
    return first_values.select(
        "query_id",
        pl.col("state").fill_null("ok"),
        "latency_ms",
        pl.lit(None, pl.String).alias("error"),
    )
