"""Send candidates to a reranker: the first documents of a query in, a new order of them out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, make_answer
from rankgate.engines.engine import Connection, Engine, Query
from rankgate.engines.kinds.command import Command, Process
from rankgate.engines.kinds.python import result_rows

if TYPE_CHECKING:
    from rankgate.core.errors import InputError

Candidate = Mapping[str, Any]
"""A document for a reranker: ``id``, ``score``, ``rank``, and its display fields."""


@dataclass(frozen=True)
class Candidates:
    """The documents of each query, best first.

    Attributes:
        lists: by query.
        sha256: of the lists.
    """

    lists: Mapping[str, Sequence[Candidate]]
    sha256: str

    def __repr__(self) -> str:
        """The hash, which represents the lists in the hash of a configuration."""
        return self.sha256


@dataclass(frozen=True, kw_only=True)
class Reranker(Engine):
    """A function or a program that puts the documents of an earlier stage in a new order.

    Attributes:
        reranks: What it is called in the pipeline's file.
        code: A hash of its source, where it is known.
        candidates: The documents of each query.
        function: What is called with the query's text, the documents, and parameters by name;
            it gives documents as an engine's function does.
        command: A program and its arguments, which answers each line with a line.
        folder: Where the program is started.
        error: Makes an error with the line of the stage.
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
        """It gets every parameter."""

    def connect(self) -> Connection:
        """A process for a command; nothing for a function."""
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
        """The first documents in their new order, then those that were not looked at.

        Raises:
            InputError: a document that is not among those that it was given.
        """
        candidates = self.reranker.candidates.lists.get(query.query_id, ())
        first, remaining = candidates[: self.reranker.depth], candidates[self.reranker.depth :]
        if not first:
            return Answer(())
        reply = self._called(query, first)
        if isinstance(reply, Failure):
            return reply
        candidate_ids = {candidate["id"] for candidate in first}
        for doc_id in reply.doc_ids:
            if doc_id not in candidate_ids:
                raise self.reranker.error(
                    f"for query {query.query_id} it returned document {doc_id!r}, which it was "
                    "not given; a reranker returns ids of its candidates."
                )
        return _append_remaining(reply, [candidate["id"] for candidate in remaining])

    def _called(self, query: Query, first: Sequence[Candidate]) -> Answer | Failure:
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
    """Documents by the reranker's scores, or in its order; the others follow below."""
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
