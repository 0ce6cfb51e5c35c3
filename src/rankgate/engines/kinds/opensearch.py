"""OpenSearch and Elasticsearch."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import quote

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.engine import Answer, Connection, Engine, Facts, Query
from rankgate.engines.failure import Failure
from rankgate.engines.json_api import Shape, sent, with_partial
from rankgate.engines.paths import MISSING, at, parsed
from rankgate.engines.requests.secrets import Secrets, resolved_table
from rankgate.engines.requests.template import filled, names
from rankgate.engines.requests.transport import Transport


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

    engine_kind: ClassVar[str] = "opensearch"
    aliases: ClassVar[tuple[str, ...]] = ("elasticsearch",)
    title: ClassVar[str] = "OpenSearch and Elasticsearch"
    source: ClassVar[str] = "https://docs.opensearch.org/latest/api-reference/search-apis/search/"

    url: str
    index: str
    search: list[Any] = field(default_factory=list)
    body: dict[str, Any] | None = None
    template: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    user: str | None = None
    password: str | None = None
    api_key: str | None = None
    bearer: str | None = None
    headers: dict[str, Any] = field(default_factory=dict)
    ca: str | None = field(default=None, metadata={"path": True})

    def check(self) -> None:
        """Refuse several kinds of query, names without a value, several kinds of login."""
        if sum(map(bool, (self.search, self.body, self.template))) != 1:
            raise UsageError("say one of search, body and template.", code="invalid-engine")
        if sum(map(bool, (self.user, self.api_key, self.bearer))) > 1:
            raise UsageError("say one of user, api_key and bearer.", code="invalid-engine")
        if bool(self.user) != bool(self.password):
            raise UsageError("user and password belong together.", code="invalid-engine")
        used = {*names(self.body or {}), *names(self.params)}
        self.refuse_unknown(used)
        if self.body is not None and "query" not in used:
            raise UsageError("the body does not hold {{query}}.", code="invalid-engine")

    def uses(self) -> frozenset[str] | None:
        """The names of the body; a stored template gets every parameter."""
        return None if self.template else super().uses()

    def connect(self) -> Connection:
        """A pool of connections."""
        return _Cluster(self, self.transport())

    def transport(self) -> Transport:
        """A pool of connections."""
        secrets = Secrets()
        headers = {"Accept": "application/json", **resolved_table(self.headers, secrets)}
        if words := self._login(secrets):
            headers |= resolved_table({"Authorization": words}, secrets)
        return Transport(
            secrets.resolved(self.url),
            headers,
            timeout=self.timeout,
            authority=self.ca,
        )

    def request(
        self, values: Mapping[str, Any], variables: Mapping[str, str]
    ) -> tuple[str, dict[str, Any]]:
        """The end of the path, and the body."""
        if self.template:
            known = {**values, "size": self.depth}
            return "_search/template", {"id": self.template, "params": known}
        body = {"query": {"multi_match": {"query": "{{query}}", "fields": self.search}}}
        body = filled(self.body or body, values, variables)
        own = {"size": self.depth, "_source": sorted({*self._sources()})}
        return "_search", {**own, **body}

    def _sources(self) -> list[str]:
        """The stored fields that are needed, and no others."""
        return [*map(str, self.fields.values()), *([self.id] if self.id else [])]

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
        self._shape = Shape(
            ("hits", "hits"),
            ("_source", *parsed(engine.id)) if engine.id else ("_id",),
            ("_score",),
            {name: ("_source", *parsed(str(path))) for name, path in engine.fields.items()},
            ("hits", "total", "value"),
            index=("_index",),
        )

    def ask(self, query: Query) -> Answer | Failure:
        engine = self._engine
        values = engine.known(query)
        path, body = engine.request(values, self._variables)
        params = filled(engine.params, values, self._variables)
        partial: list[str] = []
        value = sent(self._transport, "POST", f"{self._path}/{path}", params, body, partial)
        if isinstance(value, Failure):
            return value
        if isinstance(value, dict):
            shards = value.get("_shards")
            if value.get("timed_out") or (isinstance(shards, dict) and shards.get("failed")):
                return Failure("again", "the answer is not of all shards")
        return with_partial(self._shape.read(value, engine.depth), partial)

    def facts(self) -> Facts:
        version = self._get("/", "version", "number")
        name = self._get("/", "version", "distribution") or "elasticsearch"
        documents = self._get(f"{self._path}/_count", "count")
        settings = sent(self._transport, "GET", self._path, {})
        known = "" if isinstance(settings, Failure) else _hash(settings)
        stats = sent(self._transport, "GET", f"{self._path}/_stats/refresh", {"level": "shards"})
        refreshes = at(stats, ("_all", "total", "refresh", "total"))
        writes = _writes(at(stats, ("indices",)))
        return Facts(
            f"{name} {version}" if version else "",
            documents if isinstance(documents, int) else None,
            known,
            "" if writes is None else f"sequence {writes}",
            "" if refreshes is MISSING else f"refresh {refreshes}",
        )

    def unknown_fields(self) -> list[str]:
        """Searched and shown fields that no mapping of the index has."""
        mappings = sent(self._transport, "GET", f"{self._path}/_mapping", {})
        if not isinstance(mappings, dict):
            return []
        known = {
            name
            for index in mappings.values()
            for name in _field_names(at(index, ("mappings", "properties")))
        }
        engine = self._engine
        searched = [str(field).partition("^")[0] for field in engine.search]
        shown = [str(field) for field in engine.fields.values()]
        names = dict.fromkeys([*searched, *shown, *([engine.id] if engine.id else [])])
        return [name for name in names if name not in known and not set("*{") & set(name)]

    def _get(self, path: str, *steps: str) -> Any:
        value = sent(self._transport, "GET", path, {})
        if isinstance(value, Failure):
            return None
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return value


def _field_names(properties: Any, prefix: str = "") -> Iterator[str]:
    """All fields of a mapping, with those within objects and their other forms."""
    for name, field_ in properties.items() if isinstance(properties, dict) else ():
        yield prefix + name
        if isinstance(field_, dict):
            for inner in ("properties", "fields"):
                yield from _field_names(field_.get(inner), f"{prefix}{name}.")


def _writes(indices: Any) -> int | None:
    """The highest number of a write in each shard, added up; None where the cluster has none."""
    found = indices.values() if isinstance(indices, dict) else ()
    shards = [
        copies
        for index in found
        if isinstance(index.get("shards"), dict)
        for copies in index["shards"].values()
    ]
    numbers = [[at(copy, ("seq_no", "max_seq_no")) for copy in copies] for copies in shards]
    if not numbers or any(not isinstance(each, int) for some in numbers for each in some):
        return None
    return sum(int(max(some)) + 1 for some in numbers)


def _hash(settings: Any) -> str:
    """Of mappings and settings."""
    return sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
