"""What an engine is: a declaration that connects, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rankgate.core.declare import Range
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.failure import Failure
from rankgate.engines.requests.secrets import Secrets
from rankgate.engines.requests.template import names

if TYPE_CHECKING:
    from rankgate.engines.requests.transport import Transport


@dataclass(frozen=True)
class Query:
    """One query.

    Attributes:
        query_id: its id.
        text: what a user typed.
        values: other columns of its file, which are parameters where an engine has these.
    """

    query_id: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """The documents that an engine returned for one query, best first.

    Attributes:
        doc_ids: their ids, each once.
        scores: the engine's scores; None where it gives none.
        fields: what is shown of each document, in the same order; empty without fields.
        total: how many documents match, as the engine says.
        repeated: documents that it returned again; only their first place counts.
        shared: the same, by the names of the two indices where the first and the later one came
            from different ones.
        unusable: what came in the place of an id and cannot be one, for each document without.
        partial: why the answer may lack documents; empty where nothing says so.
    """

    doc_ids: Sequence[str]
    scores: Sequence[float] | None = None
    fields: Sequence[Mapping[str, Any]] = ()
    total: int | None = None
    repeated: int = 0
    shared: Mapping[str, int] = field(default_factory=dict)
    unusable: Sequence[str] = ()
    partial: str = ""

    def usable(self) -> Answer | Failure:
        """The answer; a failure where there are documents and none has an id."""
        if self.doc_ids or not self.unusable:
            return self
        return Failure("refused", f"no good id in any document, but {self.unusable[0]}")


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

    def unknown_fields(self) -> Sequence[str]:
        """Fields that requests name and the index does not have, where it can be asked."""
        return ()

    def close(self) -> None:
        """Let go of what it holds."""
        return


def _scrubbing(connect: Callable[[Any], Connection]) -> Callable[[Any], Connection]:
    """A kind's method that connects, with connections whose texts are without secrets."""

    @wraps(connect)
    def scrubbed(engine: Engine) -> Connection:
        secrets = Secrets.named_in(engine)
        with _without(secrets):
            return _Scrubbed(connect(engine), secrets)

    return scrubbed


class _Scrubbed(Connection):
    """A connection whose texts are without secrets: all that a server says passes here."""

    def __init__(self, connection: Connection, secrets: Secrets) -> None:
        self._connection, self._secrets = connection, secrets

    def ask(self, query: Query) -> Answer | Failure:
        with _without(self._secrets):
            reply = self._connection.ask(query)
        if isinstance(reply, Failure):
            return replace(reply, problem=self._secrets.message(reply.problem))
        clean = self._secrets.scrubbed(reply)
        return _with_ids_of(reply, clean).usable()

    def facts(self) -> Facts:
        with _without(self._secrets):
            return self._secrets.scrubbed(self._connection.facts())

    def unknown_fields(self) -> Sequence[str]:
        with _without(self._secrets):
            return self._secrets.scrubbed(self._connection.unknown_fields())

    def close(self) -> None:
        self._connection.close()


def _with_ids_of(reply: Answer, clean: Answer) -> Answer:
    """A scrubbed answer without the documents whose ids hold a secret, as these are not theirs."""
    pairs = zip(reply.doc_ids, clean.doc_ids, strict=True)
    places = [place for place, (doc_id, scrubbed) in enumerate(pairs) if doc_id == scrubbed]
    if len(places) == len(reply.doc_ids):
        return clean
    lost = [repr(doc_id) for doc_id in clean.doc_ids if doc_id not in reply.doc_ids]
    return replace(
        clean,
        doc_ids=[clean.doc_ids[place] for place in places],
        scores=clean.scores and [clean.scores[place] for place in places],
        fields=clean.fields and [clean.fields[place] for place in places],
        unusable=[*clean.unusable, *lost],
    )


@contextmanager
def _without(secrets: Secrets) -> Iterator[None]:
    """Let no error pass that holds a secret."""
    try:
        yield
    except RankgateError as error:
        problem = secrets.scrubbed(error.problem)
        if problem == error.problem:
            raise
        kind = type(error)
        raise kind(problem, code=error.code, source=error.source, line=error.line) from None


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
    aliases: ClassVar[tuple[str, ...]] = ()

    depth: Annotated[int, Range(1, 10_000)] = 100
    timeout: Annotated[float, Range(0, 86_400, exclusive=True)] = 10.0
    parameters: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)

    def __init_subclass__(cls) -> None:
        """Let a kind's connections give nothing that holds a secret."""
        super().__init_subclass__()
        if "connect" in vars(cls):
            cls.connect = _scrubbing(cls.connect)  # type: ignore[method-assign, assignment]

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection, for one thread; what it gives to others holds no secret.

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

    def parameters_of(self, query: Query) -> dict[str, Any]:
        """The parameters of the request of a query: its own where it has some."""
        own = {name: value for name, value in query.values.items() if name in self.parameters}
        return {**self.parameters, **own}

    def known(self, query: Query) -> dict[str, Any]:
        """The values for names in double braces."""
        return {
            **self.parameters_of(query),
            "query": query.text,
            "query_id": query.query_id,
            "depth": self.depth,
        }
