"""Any search API over HTTP that answers in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import quote

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, Row, make_answer
from rankgate.data.answers.paths import parse_path
from rankgate.data.answers.shape import Shape
from rankgate.engines.engine import Connection, Engine, Query
from rankgate.engines.json_api import request_json, with_partial
from rankgate.engines.requests.secrets import Secrets, resolve_table
from rankgate.engines.requests.template import fill, template_names
from rankgate.engines.requests.transport import Transport


@dataclass(frozen=True, kw_only=True)
class Http(Engine):
    """An API that is described by a request and by where things are in its answer.

    Attributes:
        url: Where the API is, without parameters; its path may hold names in double braces.
        method: GET or POST.
        params: Parameters of the URL; names in double braces represent values.
        headers: Headers; ${NAME} is an environment variable.
        body: The JSON of the request, with names in double braces.
        hits: Where the list of documents is, such as response.docs.
        id: Where a document has its id.
        score: Where a document has its score; without it the order counts.
        total: Where the number of matching documents is; 0 there means that no list is needed.
        error: Where an answer with status 200 has a message if it is not whole.
        page_size: Documents of one request, where the API gives fewer than depth; {{offset}},
            {{page}} and {{page_size}} say which.
        first_page: The number of the first page.
        ca: A file of certificates to trust instead of the system's.
    """

    engine_kind: ClassVar[str] = "http"
    title: ClassVar[str] = "any search API over HTTP that answers in JSON"

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
    ca: str | None = field(default=None, metadata={"path": True})

    def check(self) -> None:
        """Refuse names without a value, and a request that does not hold the query."""
        used_names = {
            *template_names(self.params),
            *template_names(self.body or {}),
            *template_names(self.url),
        }
        self.refuse_unknown(used_names, "offset", "page", "page_size")
        if "${" in self._url[1]:
            raise UsageError(
                "the URL has a secret behind a name in braces; send it in a header.",
                code="invalid-engine",
            )
        if "query" not in used_names:
            raise UsageError("no part of the request holds {{query}}.", code="invalid-engine")
        if self.page_size and not used_names & {"offset", "page"}:
            raise UsageError(
                "page_size needs {{offset}} or {{page}} in the request.", code="invalid-engine"
            )
        if self.body is not None and self.method == "GET":
            raise UsageError('a body needs method = "POST".', code="invalid-engine")

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

    def path(self, values: Mapping[str, Any]) -> str:
        """The rest of the path with values, encoded."""
        if "{{" not in self._url[1]:
            return self._url[1]
        encoded_values = {name: quote(str(value), safe="") for name, value in values.items()}
        return str(fill(self._url[1] + " ", encoded_values)).rstrip()

    def connect(self) -> Connection:
        """A pool of connections."""
        return _Api(self, self.transport())

    def transport(self) -> Transport:
        """A pool of connections."""
        secrets = Secrets()
        return Transport(
            secrets.resolved(self._url[0]),
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
        total: Any = None
        for page in range(-(-engine.depth // size)):
            values = {
                **engine.known(query),
                "offset": page * size,
                "page": page + engine.first_page,
                "page_size": size,
            }
            value = self._page(values, partial)
            page_rows = value if isinstance(value, Failure) else self._shape.rows(value)
            if isinstance(page_rows, Failure):
                return page_rows
            if not page:
                total = self._shape.total_in(value)
            rows += page_rows
            if len(page_rows) < size:
                break
        return with_partial(make_answer(rows, total, engine.depth), partial)

    def _page(self, values: Mapping[str, Any], partial: list[str]) -> Any | Failure:
        engine = self._engine
        return request_json(
            self._transport,
            engine.method,
            engine.path(values),
            fill(engine.params, values, self._variables),
            fill(engine.body, values, self._variables),
            partial,
        )
