"""Runs as ranked lists, whether or not anything was judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.progress import step
from rankgate.data import read_run
from rankgate.data.qrels import Qrels
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.tops import tops
from rankgate.measurement.scoring.run_names import distinct_names

if TYPE_CHECKING:
    from rankgate.data import Run
    from rankgate.measurement.scoring import Convention

_NOBODY = "\x1f"  # no document has this id

RANKS = {"system": pl.String, "query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64}
"""The columns of ranked lists."""


def systems_of(runs: Sequence[Any]) -> list[Run]:
    """Runs with names that differ.

    Raises:
        InputError: a run that cannot be read.
        UsageError: no run.
    """
    if not runs:
        raise UsageError("no run; give at least one.", code="missing-input")
    items = [
        read_run(each, None if isinstance(each, str | Path) else f"run{i}")
        for i, each in enumerate(runs, 1)
    ]
    names = distinct_names([run.name for run in items], runs)
    return [replace(run, name=name) for run, name in zip(items, names, strict=True)]


def ranked(
    runs: Sequence[Run],
    depth: int,
    how: Convention,
) -> pl.DataFrame:
    """The first documents of every query of every run, in the order that the convention makes.

    Returns:
        the columns of `RANKS`.
    """
    parts = [pl.DataFrame(schema=RANKS)]
    for run in runs:
        step(run.name)
        queries = run.table["query_id"].unique()
        if len(queries):
            result = ranked_of(run, queries, depth, how)
            parts.append(result.select(pl.lit(run.name).alias("system"), pl.all()))
    return pl.concat(parts)


def ranked_of(run: Run, queries: pl.Series, depth: int, how: Convention) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rank`` of the first documents of these queries of a run."""
    asked = pl.DataFrame({"query_id": queries}).with_columns(
        pl.lit(_NOBODY).alias("doc_id"), pl.lit(0.0).alias("grade")
    )
    return tops(run, JudgmentIndex.of(Qrels(asked)), how, depth).select(
        "query_id", "doc_id", "rank"
    )
