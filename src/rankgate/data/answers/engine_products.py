"""The positions of documents in the answers of each product, and the marks of such answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import (
    MISSING,
    Answer,
    Failure,
    Path,
    Shape,
    parse_path,
    value_at_path,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json


@dataclass(frozen=True)
class Product:
    """The form of a product's answers.

    Attributes:
        name: its name for ``--from``.
        title: its name for people.
        shape: the paths of values in an answer.
        marks: sets of paths of keys; an answer has all paths of at least one set.
        source: the address of the documentation of the answer.
        more_shapes: other forms of an answer, tried if the first does not fit.
        several: the path of the answers to several queries in one answer.
        echo: the path of the query text that the answer repeats.
        errors: the paths of error messages.
        id_after: the text before the id in a document's full id.
    """

    name: str
    title: str
    shape: Shape
    marks: tuple[frozenset[str], ...]
    source: str
    more_shapes: tuple[Shape, ...] = ()
    several: Path | None = None
    echo: Path | None = None
    errors: tuple[Path, ...] = ()
    id_after: str = ""

    def read(self, value: Json, doc_id: Path | None = None, score: Path | None = None) -> Answer | Failure:
        """The documents of an answer.

        Args:
            value: the answer.
            doc_id: the path of a document's id, if not the usual one.
            score: the path of a document's score, if not the usual one.
        """
        if message := self.error_in(value):
            return Failure("refused", message)
        reply: Answer | Failure = Failure("refused", "no answer")
        for shape in (self.shape, *self.more_shapes):
            adapted_shape = replace(shape, doc_id=doc_id or shape.doc_id, score=score or shape.score)
            reply = adapted_shape.read(value, None)
            if isinstance(reply, Answer):
                break
        if self.id_after and doc_id is None and isinstance(reply, Answer):
            ids = [name.rpartition(self.id_after)[2] for name in reply.doc_ids]
            return replace(reply, doc_ids=ids)
        return reply

    def error_in(self, value: Json) -> str:
        """The message of an answer that is an error; empty for other answers."""
        for path in self.errors:
            message = value_at_path(value, path)
            if isinstance(message, str) and message:
                error_type = value_at_path(value, (*path[:-1], "type"))
                return f"{error_type}: {message}" if isinstance(error_type, str) else message
        return ""

    def marked(self, value: Json) -> bool:
        """True if a dictionary has the keys that mark answers of the product."""
        return any(
            all("[]" not in path and value_at_path(value, parse_path(path)) is not MISSING for path in marks)
            for marks in self.marks
        )

    def answers_in(self, value: Json) -> Iterator[Json] | None:
        """The answers to several queries; None if the value is a single answer."""
        query_answers = MISSING if self.several is None else value_at_path(value, self.several)
        if not isinstance(query_answers, list) or not all(
            isinstance(query_answer, dict | list) for query_answer in query_answers
        ):
            return None
        is_wrapped = self.several == ("result",)
        return iter(
            [{"result": query_answer} for query_answer in query_answers] if is_wrapped else query_answers
        )


def _marks(*sets: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(paths.split()) for paths in sets)


ELASTICSEARCH = Product(
    "elasticsearch",
    "Elasticsearch and OpenSearch",
    Shape(
        ("hits", "hits"),
        ("_id",),
        ("_score",),
        {},
        ("hits", "total", "value"),
        index=("_index",),
        partial=(("timed_out",), ("_shards", "failed")),
    ),
    _marks("hits.hits", "error.root_cause status", "error.reason status"),
    "https://docs.opensearch.org/latest/api-reference/search-apis/search/",
    several=("responses",),
    errors=(("error", "reason"), ("error",)),
)
SOLR = Product(
    "solr",
    "Apache Solr",
    Shape(
        parse_path("response.docs"),
        ("id",),
        ("score",),
        {},
        parse_path("response.numFound"),
        partial=(("responseHeader", "partialResults"),),
    ),
    _marks("response.docs response.numFound", "responseHeader error.msg"),
    "https://solr.apache.org/guide/solr/latest/query-guide/response-writers.html",
    echo=parse_path("responseHeader.params.q"),
    errors=(("error", "msg"),),
)
ALGOLIA = Product(
    "algolia",
    "Algolia",
    Shape(("hits",), ("objectID",), None, {}, ("nbHits",)),
    _marks("hits nbHits hitsPerPage", "hits nbHits processingTimeMS"),
    "https://www.algolia.com/doc/rest-api/search/search-single-index",
    several=("results",),
    echo=("query",),
    errors=(("message",),),
)
VESPA = Product(
    "vespa",
    "Vespa",
    Shape(
        parse_path("root.children"),
        ("id",),
        ("relevance",),
        {},
        parse_path("root.fields.totalCount"),
        partial=(
            parse_path("root.coverage.degraded.timeout"),
            parse_path("root.coverage.degraded.non-ideal-state"),
        ),
    ),
    _marks("root.children root.relevance", "root.fields.totalCount", "root.errors"),
    "https://docs.vespa.ai/en/reference/default-result-format.html",
    errors=(parse_path("root.errors.0.message"), parse_path("root.errors.0.summary")),
    id_after="::",
)
QDRANT = Product(
    "qdrant",
    "Qdrant",
    Shape(parse_path("result.points"), ("id",), ("score",), {}),
    _marks("result status time", "status.error time"),
    "https://api.qdrant.tech/api-reference/search/query-points",
    more_shapes=(Shape(("result",), ("id",), ("score",), {}),),
    several=("result",),
    errors=(("status", "error"),),
)
WEAVIATE = Product(
    "weaviate",
    "Weaviate",
    Shape(("data", "Get", "*"), parse_path("_additional.id"), parse_path("_additional.score"), {}),
    _marks("data.Get", "errors[].message errors[].path"),
    "https://docs.weaviate.io/weaviate/api/graphql/get",
    errors=(parse_path("errors.0.message"), parse_path("error.0.message")),
)
MEILISEARCH = Product(
    "meilisearch",
    "Meilisearch",
    Shape(("hits",), ("id",), ("_rankingScore",), {}, ("estimatedTotalHits",), partial=(("degraded",),)),
    _marks("hits processingTimeMs query", "message code type link"),
    "https://www.meilisearch.com/docs/reference/api/search",
    several=("results",),
    echo=("query",),
    errors=(("message",),),
)
TYPESENSE = Product(
    "typesense",
    "Typesense",
    # text_match has more digits than a float, and its order is the same
    Shape(("hits",), parse_path("document.id"), None, {}, ("found",), partial=(("search_cutoff",),)),
    _marks("hits found request_params", "hits found search_time_ms"),
    "https://typesense.org/docs/latest/api/search.html",
    several=("results",),
    echo=parse_path("request_params.q"),
    errors=(("error",), ("message",)),
)
PRODUCTS = (ELASTICSEARCH, SOLR, ALGOLIA, VESPA, QDRANT, WEAVIATE, MEILISEARCH, TYPESENSE)
"""Every product with answers that can be read directly."""
