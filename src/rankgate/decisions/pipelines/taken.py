"""The run of one stage of a pipeline, with the state and latency of each query."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import Run
from rankgate.decisions.pipelines.pipeline_file import RerankStage
from rankgate.decisions.pipelines.rerank import Candidates
from rankgate.engines.snapshots.writing import FIELDS_SUFFIX

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.pipeline_file import Stage
    from rankgate.engines.engine import Query

DEFAULT_RERANK_DEPTH = 100
"""The default number of documents for a reranker."""

STATES = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "error": pl.String,
}


@dataclass(frozen=True)
class StageRun:
    """A stage with its run.

    Attributes:
        stage: its declaration.
        does: the kind of engine, the fusion method, or the reranker.
        run: its documents for each query; ``run.queries`` has the columns of `STATES`, with the
            latency of this stage alone.
        path: the file of the run.
        documents: the files that have display fields of its documents.
    """

    stage: Stage
    does: str
    run: Run
    path: Path
    documents: tuple[Path, ...]

    @property
    def states(self) -> pl.DataFrame:
        """The outcome of each query: the columns of `STATES`."""
        assert self.run.queries is not None
        return self.run.queries.select(list(STATES))

    @property
    def content(self) -> str:
        """A hash of what a later stage depends on: the lists, and the fields of documents."""
        return f"{self.path.name} {self.run.sha256}"

    def candidates(self) -> Candidates:
        """The documents of each query with their display fields, best first."""
        display_fields = dict(_read_display_fields(self.documents))
        lists: dict[str, list[Mapping[str, Any]]] = {}
        ranked = self.run.table.sort("score", descending=True, maintain_order=True)
        for query_id, doc_id, score in ranked.iter_rows():
            candidates = lists.setdefault(query_id, [])
            values = {"id": doc_id, "score": score, "rank": len(candidates) + 1}
            candidates.append({**display_fields.get(doc_id, {}), **values})
        return Candidates(lists, self.content)


def rerank_depth(taken_stage: StageRun) -> int | None:
    """The number of first documents that a reranker may order; None for other stages."""
    stage = taken_stage.stage
    return (stage.depth or DEFAULT_RERANK_DEPTH) if isinstance(stage, RerankStage) else None


def run_with(name: str, table: pl.DataFrame, states: pl.DataFrame) -> Run:
    """A run in memory, which may have no documents at all."""
    return Run(name, lambda: iter([table]), queries=states)


def split_answered(
    inputs: Sequence[StageRun], queries: Sequence[Query]
) -> tuple[list[Query], pl.DataFrame]:
    """The queries that every input answered, and the states of the others: ``failed``."""
    failed: dict[str, str] = {}
    for input_stage in inputs:
        rows = input_stage.states.filter(pl.col("state") == "failed")
        for query_id, error in rows.select("query_id", "error").iter_rows():
            failed.setdefault(query_id, f"stage {input_stage.stage.name} failed: {error}")
    failed_rows = [
        (query.query_id, "failed", None, failed[query.query_id])
        for query in queries
        if query.query_id in failed
    ]
    complete_queries = [query for query in queries if query.query_id not in failed]
    return complete_queries, pl.DataFrame(failed_rows, schema=STATES, orient="row")


def _read_display_fields(files: Sequence[Path]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Display fields by document; the first input with fields of a document decides."""
    for path in reversed(files):
        if path.exists():
            with path.open("rb") as lines:
                for line in lines:
                    values = json.loads(line)
                    yield values.pop("doc_id"), values


def display_fields_path(path: Path) -> Path:
    """The file of a snapshot's display fields of documents."""
    return Path(f"{path}{FIELDS_SUFFIX}")
