"""The run of one stage of a pipeline, and the calls of rerankers.

A reranker receives the first documents of a query as candidates, and returns them in a new order.
The run of a stage has the state and latency of each query.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data import Run
from rankgate.data.answers.engine_answers import Answer, Failure, make_answer
from rankgate.data.formats.run_companions import FIELDS_SUFFIX
from rankgate.decisions.pipelines.pipeline_file import RerankStage
from rankgate.engines.engine import Connection, Engine, Query
from rankgate.engines.kinds.local_engines import Command, Process, result_rows

if TYPE_CHECKING:
    from rankgate.core.errors import InputError
    from rankgate.core.value_types import JsonObject
    from rankgate.decisions.pipelines.pipeline_file import Stage


Candidate = Mapping[str, Any]
"""A document for a reranker: ``id``, ``score``, ``rank``, and its display fields."""


@dataclass(frozen=True)
class Candidates:
    """The documents of each query, best first.

    Attributes:
        lists: the documents by query.
        sha256: the hash of the lists.
    """

    lists: Mapping[str, Sequence[Candidate]]
    sha256: str

    def __repr__(self) -> str:
        """The hash alone, for the hash of a configuration."""
        return self.sha256


@dataclass(frozen=True, kw_only=True)
class Reranker(Engine):
    """A function or a program that puts the documents of an earlier stage in a new order.

    Attributes:
        reranks: The value of ``rerank`` in the pipeline's file.
        code: A hash of the reranker's source, if the source is available.
        candidates: The documents of each query.
        function: The function called with the query's text, the documents, and parameters by name;
            it returns documents like the function of an engine.
        command: A program and its arguments, which answers each line with a line.
        folder: The program's working folder.
        error: A function that makes an error with the line of the stage.
    """

    engine_kind: ClassVar[str] = "rerank"
    title: ClassVar[str] = "a reranker"

    reranks: str
    code: str
    candidates: Candidates
    function: Callable[..., Any] | None = None
    command: list[str] = field(default_factory=list)
    folder: str = field(default=".", metadata={"path": True})
    error: Callable[[str], InputError] = field(compare=False)

    def uses(self) -> None:
        """Return None: the reranker receives every parameter."""

    def connect(self) -> Connection:
        """A connection: a process for a command, or the function."""
        if self.function:
            return _Reranking(self, self.function, None)
        program = Command(
            command=self.command,
            folder=self.folder,
            depth=self.depth,
            timeout=self.timeout,
            parameters=self.parameters,
        )
        return _Reranking(self, None, Process(program))


@dataclass(frozen=True)
class _Reranking(Connection):
    reranker: Reranker
    function: Callable[..., Any] | None
    process: Process | None

    def ask(self, query: Query) -> Answer | Failure:
        """The first documents in their new order, then the remaining ones in their old order.

        Raises:
            InputError: the reranker returned a document that is not a candidate.
        """
        candidates = self.reranker.candidates.lists.get(query.query_id, ())
        first, remaining = candidates[: self.reranker.depth], candidates[self.reranker.depth :]
        if not first:
            return Answer(())
        reply = self._call_reranker(query, first)
        if isinstance(reply, Failure):
            return reply
        candidate_ids = {candidate["id"] for candidate in first}
        for doc_id in reply.doc_ids:
            if doc_id not in candidate_ids:
                raise self.reranker.error(
                    f"for query {query.query_id} it returned document {doc_id!r}, which is not a candidate; "
                    "a reranker returns ids of its candidates."
                )
        return _append_remaining(reply, [candidate["id"] for candidate in remaining])

    def _call_reranker(self, query: Query, first: Sequence[Candidate]) -> Answer | Failure:
        parameters = self.reranker.parameters
        if self.function:
            try:
                results = self.function(query.text, list(first), **parameters)
                return make_answer(list(result_rows(results, {})))
            except Exception as error:  # noqa: BLE001 - the user's own code
                return Failure("refused", f"{type(error).__name__}: {error}")
        assert self.process is not None
        return self.process.exchange(
            {
                "query_id": query.query_id,
                "query": query.text,
                "candidates": list(first),
                "parameters": parameters,
            }
        )

    def close(self) -> None:
        """End the process."""
        if self.process:
            self.process.close()


def _append_remaining(reply: Answer, remaining_ids: Sequence[str]) -> Answer:
    """Documents by the reranker's scores, or in its order, then the remaining documents."""
    ids, scores = list(reply.doc_ids), reply.scores
    if scores is None:
        scores = [float(len(ids) - index) for index in range(len(ids))]
    ranked = sorted(zip(scores, ids, strict=True), key=lambda pair: -pair[0])
    end = ranked[-1][0] if ranked else 0.0
    below = [(end - position, doc_id) for position, doc_id in enumerate(remaining_ids, 1)]
    all_documents = [*ranked, *below]
    return Answer(
        tuple(doc_id for _, doc_id in all_documents),
        tuple(score for score, _ in all_documents),
        repeated=reply.repeated,
    )


DEFAULT_RERANK_DEPTH = 100
"""The default number of documents for a reranker."""

STATES = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "censored": pl.Boolean,
    "error": pl.String,
}


@dataclass(frozen=True)
class StageRun:
    """A stage with its run.

    Attributes:
        stage: the declaration of the stage.
        action: the kind of engine, the fusion method, or the reranker.
        run: the documents for each query; ``run.queries`` has the columns of `STATES`, with the
            latency of this stage alone.
        path: the file of the run.
        documents: the files that have display fields of its documents.
    """

    stage: Stage
    action: str
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
        """A hash of the input of later stages: the lists, and the fields of documents."""
        return f"{self.path.name} {self.run.sha256}"

    def candidates(self) -> Candidates:
        """The documents of each query with their display fields, best first."""
        display_fields = dict(_read_display_fields(self.documents))
        lists: dict[str, list[JsonObject]] = {}
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
    """A run in memory, which may have no documents."""
    return Run(name, lambda: iter([table]), queries=states)


def split_answered(inputs: Sequence[StageRun], queries: Sequence[Query]) -> tuple[list[Query], pl.DataFrame]:
    """The queries that every input answered, and the states of other queries: ``failed``."""
    failed: dict[str, str] = {}
    for input_stage in inputs:
        rows = input_stage.states.filter(pl.col("state") == "failed")
        for query_id, error in rows.select("query_id", "error").iter_rows():
            failed.setdefault(query_id, f"stage {input_stage.stage.name} failed: {error}")
    failed_rows = [
        (query.query_id, "failed", None, None, failed[query.query_id])
        for query in queries
        if query.query_id in failed
    ]
    complete_queries = [query for query in queries if query.query_id not in failed]
    return complete_queries, pl.DataFrame(failed_rows, schema=STATES, orient="row")


def _read_display_fields(files: Sequence[Path]) -> Iterator[tuple[str, JsonObject]]:
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
