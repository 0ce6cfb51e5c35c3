"""Engines over HTTP: any search API that answers in JSON, OpenSearch, Elasticsearch."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import quote

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import (
    MISSING,
    Answer,
    Failure,
    Missing,
    Row,
    Shape,
    make_answer,
    parse_path,
    value_at_path,
)
from rankgate.data.answers.engine_products import ELASTICSEARCH
from rankgate.engines.engine import Connection, Engine, Facts, Query
from rankgate.engines.requests.secrets import Secrets, fill, resolve_table, template_names, value_text
from rankgate.engines.requests.transport import Transport, request_json, server_address, with_partial

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


@dataclass(frozen=True, kw_only=True)
class Http(Engine):
    """An API that is described by a request and by where things are in its answer.

    Attributes:
        url: The URL of the API, without parameters; its path may hold names in double braces.
        method: GET or POST.
        params: Parameters of the URL; names in double braces represent values.
        headers: Headers; ${NAME} is an environment variable.
        body: The JSON of the request, with names in double braces.
        hits: The path of the list of documents, such as response.docs.
        id: The path of a document's id.
        score: The path of a document's score; without it the order counts.
        total: The path of the number of matching documents; 0 there means that no list is needed.
        error: The path of the message of an incomplete answer with status 200.
        page_size: Documents of one request, where the API gives fewer than depth; {{offset}},
            {{page}} and {{page_size}} say which.
        first_page: The number of the first page.
        about: The path on the same server of an answer about the index, such as
            /collections/shop.
        documents: The path of the number of documents in that answer, such as num_documents.
        state: The path of the state of the index in that answer.
        ca: A file of certificates to trust instead of the system's.
    """

    engine_kind = "http"
    title = "any search API over HTTP that answers in JSON"

    url: str
    method: Literal["GET", "POST"] = "GET"
    params: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    hits: str
    id: str
    score: str | None = None
    total: str | None = None
    error: str | None = None
    page_size: Annotated[int, Range(1)] | None = None
    first_page: Annotated[int, Range(0)] = 0
    about: str | None = None
    documents: str | None = None
    state: str | None = None
    ca: str | None = field(default=None, metadata={"path": True})

    def request_names(self) -> frozenset[str]:
        """The names in the URL, its parameters and the body."""
        return frozenset(template_names([self.url, self.params, self.body or {}]))

    def check(self) -> None:
        """Refuse names without a value, and a request that is the same for all queries."""
        used_names = self.request_names()
        self.refuse_unknown(used_names, "offset", "page", "page_size")
        if "${" in self._url[1]:
            raise UsageError(
                "the URL has a secret behind a name in braces; send it in a header.", code="invalid-engine"
            )
        self.refuse_same_request()
        if self.page_size and not used_names & {"offset", "page"}:
            raise UsageError("page_size needs {{offset}} or {{page}} in the request.", code="invalid-engine")
        if self.body is not None and self.method == "GET":
            raise UsageError('a body needs method = "POST".', code="invalid-engine")
        if bool(self.about) != bool(self.documents or self.state):
            raise UsageError("about needs documents or state, and these need about.", code="invalid-engine")
        if self.about and not self.about.startswith("/"):
            raise UsageError(f"about {self.about!r} is a path such as /stats.", code="invalid-engine")

    def addresses(self) -> tuple[str, ...]:
        """The server of the URL."""
        return (server_address(Secrets().resolved(self._url[0])),)

    @property
    def shape(self) -> Shape:
        """The paths in its answers."""
        return Shape(
            parse_path(self.hits),
            parse_path(self.id),
            parse_path(self.score) if self.score else None,
            {name: parse_path(path) for name, path in self.fields.items()},
            parse_path(self.total) if self.total else None,
            parse_path(self.error) if self.error else None,
        )

    @property
    def _url(self) -> tuple[str, str]:
        """The part of the URL that is the same for all queries, and the rest of its path."""
        fixed, braces, _ = self.url.partition("{{")
        base = fixed.rpartition("/")[0] if braces else self.url.rstrip("/")
        return base, self.url[len(base) :]

    def path(self, values: JsonObject) -> str:
        """The rest of the path with values, encoded."""
        if "{{" not in self._url[1]:
            return self._url[1]
        encoded_values = {name: quote(value_text(value), safe="") for name, value in values.items()}
        return str(fill(self._url[1] + " ", encoded_values)).rstrip()

    def connect(self) -> Connection:
        """A pool of connections."""
        return _Api(self, self.transport())

    def transport(self) -> Transport:
        """A pool of connections."""
        return self.transport_to(self._url[0])

    def transport_to(self, url: str) -> Transport:
        """A pool of connections to a URL on the engine's server, with the engine's headers."""
        secrets = Secrets()
        return Transport(
            secrets.resolved(url),
            {"Accept": "application/json", **resolve_table(self.headers, secrets)},
            timeout=self.timeout,
            authority=self.ca,
        )


class _Api(Connection):
    def __init__(self, engine: Http, transport: Transport) -> None:
        self._engine, self._transport, self._shape = engine, transport, engine.shape
        self._variables = Secrets().variables(engine.params, engine.body)

    def ask(self, query: Query) -> Answer | Failure:
        engine = self._engine
        size = min(engine.page_size or engine.depth, engine.depth)
        rows: list[Row] = []
        partial: list[str] = []
        total: object = None
        for page in range(-(-engine.depth // size)):
            values = {
                **engine.known(query),
                "offset": page * size,
                "page": page + engine.first_page,
                "page_size": size,
            }
            value = self._page(values, partial)
            if isinstance(value, Failure):
                return value
            page_rows = self._shape.rows(value)
            if isinstance(page_rows, Failure):
                return page_rows
            if not page:
                total = self._shape.total_in(value)
            rows += page_rows
            if len(page_rows) < size:
                break
        return with_partial(make_answer(rows, total, engine.depth), partial)

    def facts(self) -> Facts:
        engine = self._engine
        if engine.about is None:
            return Facts()
        server = "/".join(engine.url.split("/", 3)[:3])
        answer = request_json(engine.transport_to(server), "GET", engine.about, {})
        documents, state = (
            value_at_path(answer, parse_path(path)) if path and not isinstance(answer, Failure) else MISSING
            for path in (engine.documents, engine.state)
        )
        return Facts(
            documents=documents if isinstance(documents, int) else None,
            state="" if state in (MISSING, None) else str(state),
        )

    def _page(self, values: JsonObject, partial: list[str]) -> Json | Failure:
        engine = self._engine
        return request_json(
            self._transport,
            engine.method,
            engine.path(values),
            fill(engine.params, values, self._variables),
            fill(engine.body, values, self._variables),
            partial,
        )


@dataclass(frozen=True, kw_only=True)
class OpenSearch(Engine):
    """An index of OpenSearch or Elasticsearch.

    Attributes:
        url: The cluster, such as http://localhost:9200.
        index: The index or alias; several with commas between.
        search: The fields that a simple query searches, as in ["title^2", "body"].
        body: The body of the search instead, with names in double braces; size is depth if the
            body does not say it.
        template: The id of a stored search template instead; query, depth and the parameters
            are its parameters.
        params: Parameters of the URL, such as search_pipeline, routing and preference.
        id: A field that holds the document's id, if it is not _id.
        user: The user of basic authentication, often ${NAME}.
        password: The password, as ${NAME} of an environment variable.
        api_key: An API key as ${NAME}, as the cluster encodes it.
        bearer: A token as ${NAME}.
        headers: More headers.
        ca: A file of certificates to trust instead of the system's.
    """

    engine_kind = "opensearch"
    aliases = ("elasticsearch",)
    title = "OpenSearch and Elasticsearch"
    source = "https://docs.opensearch.org/latest/api-reference/search-apis/search/"

    url: str
    index: str
    search: list[Any] = field(default_factory=list)
    body: dict[str, Any] | None = None
    template: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    user: str | None = None
    password: str | None = field(default=None, metadata={"secret": True})
    api_key: str | None = field(default=None, metadata={"secret": True})
    bearer: str | None = field(default=None, metadata={"secret": True})
    headers: dict[str, Any] = field(default_factory=dict)
    ca: str | None = field(default=None, metadata={"path": True})

    def request_names(self) -> frozenset[str] | None:
        """The names in the body and the URL's parameters; None if the request has no body of its own."""
        return None if self.body is None else frozenset(template_names([self.body, self.params]))

    def check(self) -> None:
        """Refuse several kinds of query, names without a value, several kinds of login."""
        if sum(map(bool, (self.search, self.body, self.template))) != 1:
            raise UsageError("give one of search, body and template.", code="invalid-engine")
        if sum(map(bool, (self.user, self.api_key, self.bearer))) > 1:
            raise UsageError("give one of user, api_key and bearer.", code="invalid-engine")
        if bool(self.user) != bool(self.password):
            raise UsageError("user and password belong together.", code="invalid-engine")
        self.refuse_unknown(template_names([self.body or {}, self.params]))
        self.refuse_same_request()

    def addresses(self) -> tuple[str, ...]:
        """The cluster."""
        return (server_address(Secrets().resolved(self.url)),)

    def uses(self) -> frozenset[str] | None:
        """The names of the body; a stored template gets every parameter."""
        return None if self.template else super().uses()

    def connect(self) -> Connection:
        """A pool of connections."""
        return _Cluster(self, self.transport())

    def transport(self) -> Transport:
        """A pool of connections."""
        secrets = Secrets()
        headers = {"Accept": "application/json", **resolve_table(self.headers, secrets)}
        if login := self._login(secrets):
            headers |= resolve_table({"Authorization": login}, secrets)
        return Transport(secrets.resolved(self.url), headers, timeout=self.timeout, authority=self.ca)

    def request(self, values: JsonObject, variables: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """The end of the path, and the body."""
        if self.template:
            template_params = {**values, "size": self.depth}
            return "_search/template", {"id": self.template, "params": template_params}
        body = {"query": {"multi_match": {"query": "{{query}}", "fields": self.search}}}
        body = fill(self.body or body, values, variables)
        needed_fields = {*map(str, self.fields.values()), *([self.id] if self.id else [])}
        defaults = {"size": self.depth, "_source": sorted(needed_fields)}
        return "_search", {**defaults, **body}

    def _login(self, secrets: Secrets) -> str:
        if self.user and self.password:
            pair = f"{secrets.resolved(self.user)}:{secrets.resolved(self.password)}"
            return "Basic " + base64.b64encode(pair.encode()).decode()
        if self.api_key:
            return "ApiKey " + secrets.resolved(self.api_key)
        return "Bearer " + secrets.resolved(self.bearer) if self.bearer else ""


class _Cluster(Connection):
    def __init__(self, engine: OpenSearch, transport: Transport) -> None:
        self._engine, self._transport = engine, transport
        self._variables = Secrets().variables(engine.params, engine.body)
        self._path = "/" + quote(engine.index, safe=",*")
        shape = ELASTICSEARCH.shape
        self._shape = replace(
            shape,
            doc_id=("_source", *parse_path(engine.id)) if engine.id else shape.doc_id,
            fields={name: ("_source", *parse_path(str(path))) for name, path in engine.fields.items()},
        )

    def ask(self, query: Query) -> Answer | Failure:
        engine = self._engine
        values = engine.known(query)
        path, body = engine.request(values, self._variables)
        params = fill(engine.params, values, self._variables)
        partial: list[str] = []
        value = request_json(self._transport, "POST", f"{self._path}/{path}", params, body, partial)
        if isinstance(value, Failure):
            return value
        return with_partial(self._shape.read(value, engine.depth), partial)

    def facts(self) -> Facts:
        root = request_json(self._transport, "GET", "/", {})
        version = root.get("version") if isinstance(root, dict) else None
        version, number = (version, version.get("number")) if isinstance(version, dict) else ({}, None)
        name = version.get("distribution") or "elasticsearch"
        count = request_json(self._transport, "GET", f"{self._path}/_count", {})
        documents, shards = (
            MISSING if isinstance(count, Failure) else value_at_path(count, (name,))
            for name in ("count", "_shards")
        )
        settings = request_json(self._transport, "GET", self._path, {})
        settings_text = json.dumps(settings, sort_keys=True) if not isinstance(settings, Failure) else ""
        settings_hash = settings_text and sha256(settings_text.encode()).hexdigest()[:12]
        stats = request_json(self._transport, "GET", f"{self._path}/_stats/refresh", {"level": "shards"})
        if isinstance(stats, Failure):
            stats = {}
        refreshes = value_at_path(stats, ("_all", "total", "refresh", "total"))
        writes = _write_count(value_at_path(stats, ("indices",)))
        return Facts(
            f"{name} {number}" if number else "",
            documents if isinstance(documents, int) else None,
            settings_hash,
            "" if writes is None else f"sequence {writes}",
            "" if refreshes is MISSING else f"refresh {refreshes}",
            _shard_state(shards),
        )

    def unknown_fields(self) -> list[str]:
        """Searched and displayed fields that no mapping of the index has."""
        mappings = request_json(self._transport, "GET", f"{self._path}/_mapping", {})
        if not isinstance(mappings, dict):
            return []
        known_fields = {
            name
            for index in mappings.values()
            for name in _field_names(value_at_path(index, ("mappings", "properties")))
        }
        engine = self._engine
        searched = [str(field).partition("^")[0] for field in engine.search]
        displayed = [str(field) for field in engine.fields.values()]
        names = dict.fromkeys([*searched, *displayed, *([engine.id] if engine.id else [])])
        return [name for name in names if name not in known_fields and not set("*{") & set(name)]


def _field_names(properties: Json | Missing, prefix: str = "") -> Iterator[str]:
    """All fields of a mapping, with those of objects and multi-fields."""
    for name, field_ in properties.items() if isinstance(properties, dict) else ():
        yield prefix + name
        if isinstance(field_, dict):
            for inner in ("properties", "fields"):
                yield from _field_names(field_.get(inner), f"{prefix}{name}.")


def _write_count(indices: Json | Missing) -> int | None:
    """The sum over shards of the highest sequence number of a write; None if it is unknown."""
    index_stats = indices.values() if isinstance(indices, dict) else ()
    total, has_shards = 0, False
    for index in index_stats:
        shards = value_at_path(index, ("shards",))
        for copies in shards.values() if isinstance(shards, dict) else ():
            numbers = [value_at_path(copy, ("seq_no", "max_seq_no")) for copy in copies]
            known_numbers = [number for number in numbers if isinstance(number, int)]
            if len(known_numbers) < len(numbers):
                return None
            total, has_shards = total + max(known_numbers) + 1, True
    return total if has_shards else None


def _shard_state(shards: Json | Missing) -> str:
    """The state of an index: complete, or the number of its shards that answer."""
    if not isinstance(shards, dict) or not isinstance(shards.get("total"), int):
        return ""
    total, successful = shards["total"], shards.get("successful")
    return "complete" if successful == total else f"{successful} of {total} shards"
