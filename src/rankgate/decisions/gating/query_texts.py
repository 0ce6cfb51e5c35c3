"""Texts of queries beside the losses of a verdict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.engines.snapshots.query_sender import queries_of

if TYPE_CHECKING:
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.gating.verdict import Verdict

_TAGS = ("text", "query_text", "query")
_FILES = ("queries.tsv", "queries.csv", "queries.jsonl", "queries.parquet", "queries.txt")


def with_query_texts(verdict: Verdict, system: ScoredRun, judgments: object) -> Verdict:
    """A verdict with the texts of its queries, and a note where a file of queries cannot be read.

    They are a tag called text, query_text or query; else those of ``queries.tsv`` (csv, jsonl, parquet,
    txt) beside the judgments, or in their folder.

    Args:
        verdict: the verdict.
        system: a scored system with its tags.
        judgments: the judgments; only a path has files beside it.
    """
    tag = next((name for name in _TAGS if name in system.tags), None)
    if tag is not None:
        rows = system.queries.select("query_id", pl.col(tag).cast(pl.String)).drop_nulls()
        return replace(verdict, texts=dict(rows.iter_rows()))
    path = _find_file(judgments)
    if path is None:
        return verdict
    try:
        return replace(verdict, texts={query.query_id: query.text for query in queries_of(path)})
    except RankgateError as error:
        return verdict.noted(f"the texts of queries are left out: {error}")


def _find_file(judgments: object) -> Path | None:
    """The file of queries in the folder of the judgments, if they are a path."""
    if not isinstance(judgments, str | Path):
        return None
    folder = Path(judgments) if Path(judgments).is_dir() else Path(judgments).parent
    return next((folder / name for name in _FILES if (folder / name).is_file()), None)
