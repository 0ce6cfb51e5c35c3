"""The declaration of an engine, its connections and its answers."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from rankgate.core.declare import Range
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import Answer, Failure
from rankgate.engines.requests.secrets import Secrets, template_names

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.engines.requests.transport import Transport


@dataclass(frozen=True)
class Query:
    """One query.

    Attributes:
        query_id: its id.
        text: the user's words.
        values: other columns of its file, which are parameters where an engine has these.
    """

    query_id: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """The facts that an engine gives about itself and its index.

    Attributes:
        version: the version of the engine.
        documents: in the index.
        settings: a hash of the index's settings and fields.
        changes: a count that grows with every change of the index.
        refreshed: the number of refreshes of the index, where they are counted apart from changes.
        state: the state of the index; ``complete`` if all of it answers.
    """

    version: str = ""
    documents: int | None = None
    settings: str = ""
    changes: str = ""
    refreshed: str = ""
    state: str = ""


ENGINE_FACTS = (("kind", "{engine_kind}"), *((name, f"{{facts.{name}}}") for name in vars(Facts())))
"""The facts about an engine in documents: labels, and templates over a result."""


class Connection(ABC):
    """A connection to an engine; used by one thread at a time."""

    @abstractmethod
    def ask(self, query: Query) -> Answer | Failure:
        """Answer one query; an error of the engine gives a `Failure`, never an exception."""

    def facts(self) -> Facts:
        """The facts that the engine gives; empty if it gives none."""
        return Facts()

    def unknown_fields(self) -> Sequence[str]:
        """Requested fields that the index does not have; empty if the engine lists no fields."""
        return ()

    def close(self) -> None:
        """Release the resources of the connection."""
        return


def _scrub_connections(connect: Callable[[Any], Connection]) -> Callable[[Any], Connection]:
    """Wrap the method that connects, so that the connection's texts contain no secrets."""

    @wraps(connect)
    def scrubbed(engine: Engine) -> Connection:
        secrets = Secrets.named_in(engine)
        with _scrub_errors(secrets):
            return _ScrubbedConnection(connect(engine), secrets)

    return scrubbed


class _ScrubbedConnection(Connection):
    """A connection that removes secrets from all texts of the server."""

    def __init__(self, connection: Connection, secrets: Secrets) -> None:
        self._connection, self._secrets = connection, secrets

    def ask(self, query: Query) -> Answer | Failure:
        with _scrub_errors(self._secrets):
            reply = self._connection.ask(query)
        if isinstance(reply, Failure):
            return replace(reply, problem=self._secrets.message(reply.problem))
        clean = self._secrets.scrubbed(reply)
        return _drop_changed_ids(reply, clean).usable()

    def facts(self) -> Facts:
        with _scrub_errors(self._secrets):
            return self._secrets.scrubbed(self._connection.facts())

    def unknown_fields(self) -> Sequence[str]:
        with _scrub_errors(self._secrets):
            return self._secrets.scrubbed(self._connection.unknown_fields())

    def close(self) -> None:
        self._connection.close()


def _drop_changed_ids(reply: Answer, clean: Answer) -> Answer:
    """The scrubbed answer, without documents whose ids contained a secret."""
    pairs = zip(reply.doc_ids, clean.doc_ids, strict=True)
    places = [index for index, (doc_id, scrubbed) in enumerate(pairs) if doc_id == scrubbed]
    if len(places) == len(reply.doc_ids):
        return clean
    changed_ids = [repr(doc_id) for doc_id in clean.doc_ids if doc_id not in reply.doc_ids]
    return replace(
        clean,
        doc_ids=[clean.doc_ids[index] for index in places],
        scores=clean.scores and [clean.scores[index] for index in places],
        fields=clean.fields and [clean.fields[index] for index in places],
        unusable=[*clean.unusable, *changed_ids],
    )


@contextmanager
def _scrub_errors(secrets: Secrets) -> Iterator[None]:
    """Remove secrets from errors."""
    try:
        yield
    except RankgateError as error:
        problem = secrets.scrubbed(error.problem)
        if problem == error.problem:
            raise
        kind = type(error)
        raise kind(problem, code=error.code, source=error.source, line=error.line) from None


def typed_value(value: Any, default: Json, subject: str) -> Any:
    """The value of a parameter; JSON text is parsed if the default is a list or a table.

    Args:
        value: the value of a query, or of a command line.
        default: the value in the engine's file.
        subject: what has the value, for errors.

    Raises:
        UsageError: the text is not JSON; the value is not a list or an object, or has no valid numbers.
    """
    if isinstance(default, list | dict):
        if isinstance(value, str):
            with suppress(ValueError):
                value = json.loads(value)
        if not isinstance(value, list | dict):
            raise UsageError(
                f"{subject} is {str(value)[:_MAX_SHOWN]!r}, where [engine.parameters] has {default}; "
                "write a list or an object as JSON, as in [0.1, 0.2].",
                code="invalid-parameter",
            )
    if not isinstance(value, list | dict):
        return value
    with suppress(ValueError, TypeError):
        json.dumps(value, allow_nan=False)
        if None not in value:
            return value
    problem = f"{subject} contains null, NaN or an infinite number; write finite numbers."
    raise UsageError(problem, code="not-a-number")


_MAX_SHOWN = 40


def _is_vector(value: Any) -> bool:
    """True for a list of numbers, or of lists of numbers, that is not empty."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], int | float | list)


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """The declaration of an engine: its fields are the keys of ``[engine]`` in a file.

    Attributes:
        depth: The number of documents to request.
        timeout: Seconds that one answer may take.
        parameters: Values for the names in double braces, which a command line may change.
        fields: The fields of each document to keep for display: a name, and its path in the engine.
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
        """Wrap the kind's ``connect``, so that its connections give no secrets."""
        super().__init_subclass__()
        if "connect" in vars(cls):
            cls.connect = _scrub_connections(cls.connect)  # type: ignore[method-assign, assignment]

    @abstractmethod
    def connect(self) -> Connection:
        """A new connection, for one thread; its results contain no secrets.

        Raises:
            UsageError: an environment variable that is missing; a file or URL that is not valid.
            MissingExtraError: a library that is not installed.
        """

    def request_names(self) -> frozenset[str] | None:
        """The names in the request; None if this kind of engine always gets the query's text."""
        return None

    def refuse_same_request(self, columns: Iterable[str] | None = None) -> None:
        """Refuse a request that is the same for all queries.

        Args:
            columns: the columns of the queries; any parameter may be one if not given.

        Raises:
            UsageError: the request holds neither the query nor a column of the queries.
        """
        names = self.request_names()
        column_names = self.parameters if columns is None else self.parameters.keys() & set(columns)
        if names is not None and names.isdisjoint({"query", "query_id", *column_names}):
            raise UsageError(
                "the request is the same for all queries: it holds neither {{query}} nor a column of the "
                "queries that is named like a parameter; its parameters are "
                f"{', '.join(self.parameters) or 'none'}.",
                code="invalid-engine",
            )

    def check(self) -> None:  # noqa: B027 - most kinds have nothing to refuse
        """Refuse settings that cannot work, before any request.

        Raises:
            UsageError: a setting is wrong.
        """

    def addresses(self) -> tuple[str, ...] | None:
        """Every ``host:port`` that the engine connects to; None if only its own code knows them.

        Raises:
            UsageError: an address that cannot be read; a secret in it that is not set.
        """
        return None

    def refuse_unknown(self, used: Iterable[str], *more: str) -> None:
        """Refuse names of a request that have no value.

        Args:
            used: the names.
            more: names for which this kind has a value, in addition to those of `known`.

        Raises:
            UsageError: a name has no value.
        """
        values = {*self.known(Query("", "")), *more}
        if unknown_names := sorted(set(used) - values):
            raise UsageError(
                f"the name {unknown_names[0]} of the request has no value; give it in [engine.parameters].",
                code="unknown-parameter",
            )

    def uses(self) -> frozenset[str] | None:
        """The parameters that the engine's requests use; None if they get all parameters."""
        values = [getattr(self, setting.name) for setting in fields(self) if setting.name != "parameters"]
        return frozenset(template_names(values))

    def transport(self) -> Transport:
        """The engine's HTTP client, with its login, for other requests to the same server.

        Raises:
            UsageError: this kind of engine does not use HTTP; a secret that is not set.
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
            f"an engine of kind {self.engine_kind} takes no SQL, as in {statement[:40]!r}; use a request or "
            "a command instead.",
            code="no-statements",
        )

    def with_typed_values(self, queries: Sequence[Query]) -> list[Query]:
        """The queries with the values of parameters as the request takes them.

        JSON text becomes a list or an object where the parameter is a list or a table.

        Raises:
            UsageError: a column that differs from a parameter by case only; a request that is the same
                for all queries; a value that is not valid, or a vector that is missing.
        """
        columns = {name for query in queries for name in query.values}
        for column in sorted(columns - self.parameters.keys()):
            if column.casefold() in map(str.casefold, self.parameters):
                raise UsageError(
                    f"the column {column!r} of the queries differs from a name in [engine.parameters] "
                    "only by case; write both alike.",
                    code="unknown-parameter",
                )
        self.refuse_same_request(columns)
        columns &= self.parameters.keys()
        typed_queries = [
            replace(
                query,
                values={
                    **query.values,
                    **{
                        name: typed_value(
                            query.values[name], self.parameters[name], f"query {query.query_id!r}: {name}"
                        )
                        for name in columns & query.values.keys()
                    },
                },
            )
            for query in queries
        ]
        for name in sorted(columns):
            values = [query.values.get(name) for query in typed_queries]
            if None in values and any(map(_is_vector, values)) and not _is_vector(self.parameters[name]):
                raise UsageError(
                    f"query {queries[values.index(None)].query_id!r} has no {name}, and other queries have "
                    "one; add it, or leave the query out.",
                    code="missing-value",
                )
        return typed_queries

    def parameters_of(self, query: Query) -> dict[str, Json]:
        """The parameters of a query's request; values of the query replace those of the engine."""
        query_parameters = {name: value for name, value in query.values.items() if name in self.parameters}
        return {**self.parameters, **query_parameters}

    def known(self, query: Query) -> dict[str, Any]:
        """The values for names in double braces."""
        return {
            **self.parameters_of(query),
            "query": query.text,
            "query_id": query.query_id,
            "depth": self.depth,
        }
