"""Read query latencies and states from extra columns of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import named

_TYPES = {
    "query_id": pl.String, "latency_ms": pl.Float64, "state": pl.String, "system": pl.String,
}  # fmt: skip


def kept(names: Sequence[str]) -> dict[str, str]:
    """Our name of each such column and of the query's, and theirs; empty if there is none.

    >>> kept(["qid", "docid", "score", "latency_ms"])
    {'query_id': 'qid', 'latency_ms': 'latency_ms'}
    """
    values = {name: name for name in ("latency_ms", "state", "system") if name in names}
    return named(names, ("query_id",)) | values if values else {}


def queries_of(frames: Iterable[pl.DataFrame], label: str) -> pl.DataFrame | None:
    """One row a query: ``query_id``, ``state``, ``latency_ms``, ``error``.

    A column ``state`` with other words than ok, zero, failed and not_run is about something else.

    Raises:
        InputError: a latency that is not a number of 0 or more; a query with two of them; a
            column ``system`` with several names, which are several runs.
    """
    from rankgate.data.formats.run_meta import STATES

    parts = [frame.unique(maintain_order=True) for frame in frames]
    if not parts:
        return None
    rows = pl.concat(parts)
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
    wrong = rows.filter(~pl.col("latency_ms").is_finite() | (pl.col("latency_ms") < 0))
    if len(wrong):
        query, taken = wrong["query_id"][0], wrong["latency_ms"][0]
        problem = (
            f"query {query!r}: latency_ms {taken!r} is not a number of milliseconds, 0 or more."
        )
        raise InputError(problem, source=label, code="not-a-number")
    result = rows.drop_nulls("query_id").unique(maintain_order=True)
    known = result.group_by("query_id", maintain_order=True).agg(
        pl.col("latency_ms", "state").drop_nulls().unique(maintain_order=True)
    )
    several = known.filter(pl.any_horizontal(pl.col("latency_ms", "state").list.len() > 1))
    if len(several):
        query, *values = several.select("query_id", "latency_ms", "state").row(0)
        two = next(value for value in values if len(value) > 1)
        problem = f"query {query!r} has {two[0]!r} in one row and {two[1]!r} in another; keep one."
        raise InputError(problem, source=label, code="contradiction")
    first = known.with_columns(pl.col("latency_ms", "state").list.first())
    if first["latency_ms"].is_null().all() and first["state"].is_null().all():
        return None
    return first.select(
        "query_id",
        pl.col("state").fill_null("ok"),
        "latency_ms",
        pl.lit(None, pl.String).alias("error"),
    )
