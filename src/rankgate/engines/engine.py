"""What an engine is: a declaration that connects, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rankgate.declare import Range
from rankgate.engines.failure import Failure
from rankgate.engines.requests.template import names
from rankgate.errors import UsageError
from rankgate.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.engines.requests.transport import Transport


@dataclass(frozen=True)
class Query:
    """One query.

    Attributes:
        query_id: its id.
        text: what a user typed.
    """

    query_id: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The documents that an engine returned for one query, best first.

    Attributes:
        doc_ids: their ids, each once.
        scores: the engine's scores; None where it gives none.
        fields: what is shown of each document, in the same order; empty without fields.
        total: how many documents match, as the engine says.
        repeated: documents that it returned again; only their first place counts.
    """

    doc_ids: Sequence[str]
    scores: Sequence[float] | None = None
    fields: Sequence[Mapping[str, Any]] = ()
    total: int | None = None
    repeated: int = 0


@dataclass(frozen=True)
class Facts:
    """What an engine says of itself and its index.

    Attributes:
        version: of the engine.
        documents: in the index.
        settings: a hash of the index's settings and fields.
        changes: a count that grows with every change of the index.
        refreshed: how often the index was refreshed, where that is counted apart from changes.
    """

    version: str = ""
    documents: int | None = None
    settings: str = ""
    changes: str = ""
    refreshed: str = ""


class Connection(ABC):
    """A connection to an engine; used by one thread at a time."""

    @abstractmethod
    def ask(self, query: Query) -> Answer | Failure:
        """The answer to one query; an engine's fault is a `Failure`, never an exception."""

    def facts(self) -> Facts:
        """What the engine says of itself; nothing where it cannot be asked."""
        return Facts()

    def close(self) -> None:
        """Let go of what it holds."""
        return


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """The declaration of an engine: its fields are the keys of ``[engine]`` in a file.

    Attributes:
        depth: How many documents are asked for.
        timeout: Seconds that one answer may take.
        parameters: Values for the names in double braces, which a command line may change.
        fields: What to keep of each document for display: a name, and where the engine has it.
    """

    engine_kind: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str] = ""

    depth: Annotated[int, Range(1, 10_000)] = 100
    timeout: Annotated[float, Range(0, 86_400, exclusive=True)] = 10.0
    parameters: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection, for one thread.

        Raises:
            UsageError: an environment variable that is missing; a file or URL that is not valid.
            MissingExtraError: a library that is not installed.
        """

    def check(self) -> None:  # noqa: B027 - most kinds have nothing to refuse
        """Refuse settings that cannot work, before anything is asked.

        Raises:
            UsageError: what is wrong.
        """

    def refuse_unknown(self, used: Iterable[str], *more: str) -> None:
        """Refuse names of a request that have no value.

        Args:
            used: the names.
            more: names that this kind has a value for, besides those of `known`.

        Raises:
            UsageError: one of them has none.
        """
        values = {*self.known(Query("", "")), *more}
        if unknown := sorted(set(used) - values):
            raise UsageError(
                f"the name {unknown[0]} of the request has no value; give it in "
                "[engine.parameters].",
                code="unknown-parameter",
            )

    def uses(self) -> frozenset[str] | None:
        """The parameters that its requests use; None where they get all of them."""
        own = [getattr(self, each.name) for each in fields(self) if each.name != "parameters"]
        return frozenset(names(own))

    def transport(self) -> Transport:
        """Its HTTP client, with its login, for other requests to the same server.

        Raises:
            UsageError: this kind of engine is not asked over HTTP; a secret that is not set.
        """
        raise UsageError(
            f"an engine of kind {self.engine_kind} is not asked over HTTP; write the whole URL.",
            code="no-server",
        )

    def execute(self, statement: str) -> None:
        """Carry out SQL that may change the index; queries themselves are read-only.

        Raises:
            UsageError: this kind of engine takes no SQL; the statement failed.
        """
        raise UsageError(
            f"an engine of kind {self.engine_kind} takes no SQL, as in {statement[:40]!r}; use a "
            "request or a command instead.",
            code="no-statements",
        )

    def known(self, query: Query) -> dict[str, Any]:
        """The values for names in double braces."""
        return {
            **self.parameters,
            "query": query.text,
            "query_id": query.query_id,
            "depth": self.depth,
        }
