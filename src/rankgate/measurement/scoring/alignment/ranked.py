"""Runs as ranked lists, with or without judgments."""

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

_NO_DOCUMENT = "\x1f"  # no document has this id

RANKS = {"system": pl.String, "query_id": pl.String, "doc_id": pl.String, "rank": pl.Int64}
"""The columns of ranked lists."""


def read_named_runs(runs: Sequence[Any]) -> list[Run]:
    """Runs with names that differ.

    Raises:
        InputError: a run that cannot be read.
        UsageError: no run.
    """
    if not runs:
        raise UsageError("no run; give at least one.", code="missing-input")
    named_runs = [
        read_run(source, None if isinstance(source, str | Path) else f"run{i}")
        for i, source in enumerate(runs, 1)
    ]
    names = distinct_names([run.name for run in named_runs], runs)
    return [replace(run, name=name) for run, name in zip(named_runs, names, strict=True)]


def rank_runs(
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
            result = rank_run(run, queries, depth, how)
            parts.append(result.select(pl.lit(run.name).alias("system"), pl.all()))
    return pl.concat(parts)


def rank_run(run: Run, queries: pl.Series, depth: int, how: Convention) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``rank`` of the first documents of these queries of a run."""
    empty_judgments = pl.DataFrame({"query_id": queries}).with_columns(
        pl.lit(_NO_DOCUMENT).alias("doc_id"), pl.lit(0.0).alias("grade")
    )
    return tops(run, JudgmentIndex.of(Qrels(empty_judgments)), how, depth).select(
        "query_id", "doc_id", "rank"
    )
