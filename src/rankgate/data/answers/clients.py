"""Answers of search engines and vector stores, as their clients for Python return them.

``{query: answer}`` is a run: an answer is a list of results, or an object or dictionary that holds
such a list. Each client with its own classes is one declaration: the class of a result, the paths
of its id, score and stored fields, and the classes of answers. No client is imported. Dictionaries
are answers of `products`, or hold their results, ids and scores under one of the keys below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np

from rankgate.core.errors import InputError, is_from_module, short_repr, version_error
from rankgate.core.frozen import dataclass
from rankgate.data.answers.engine_answers import MISSING, Failure, break_ties, value_at_path
from rankgate.data.answers.engine_products import PRODUCTS, Product
from rankgate.data.memory.ids import text_id, text_ids

if TYPE_CHECKING:
    from rankgate.data.answers.engine_answers import Shape
    from rankgate.data.streams.source import InputKind

RESULT_KEYS = ("documents", "results", "hits", "matches", "points", "value", "docs")
"""The keys of the results in dictionaries of other clients, such as Haystack."""
ID_KEYS = ("_id", "objectID", "id", "doc_id", "docid", "docno", "document_id", "chunk_id")
QUERY_KEYS = ("query_id", "qid", "q_id", "query", "topic", "user_id", "user")
SCORE_KEYS = ("_score", "score", "relevance", "@search.score", "_rankingScore")
GRADE_KEYS = ("grade", "relevance", "rating", "label", "score")
STORED_KEYS = ("_source", "fields", "payload", "metadata", "meta", "document")
"""The keys of a document's fields in a result, besides the result itself."""

WRAPPER_KEYS = ("response", "answer", "result", "body", "data")
"""The keys of the answer in a row with a query."""

QUERY_ID_KEYS = ("query_id", "qid", "queryId", "queryid")
"""The keys of the query in an answer that is part of a list or a line."""

_PAIR_LENGTH = 2


@dataclass(frozen=True)
class AnswerKind:
    """The answer of an engine's client to one query.

    Attributes:
        title: the client's name for people.
        module: the package or module of its classes.
        package: the package as it is installed.
        tested: the version of the package that the tests were written for.
        hit: the name of the class of a result; empty where results are dictionaries.
        id: the path of a result's id: attributes or keys separated by dots.
        score: the path of its score; empty if results have no score.
        stored: the path of the document's fields, in which ``columns="doc=FIELD"`` finds a field.
        answers: the path of the results, by the name of the class of an answer.
    """

    title: str
    module: str
    package: str
    tested: str
    hit: str = ""
    id: str = ""
    score: str = ""
    stored: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)


_ELASTICSEARCH = ("elasticsearch", "9.5.1")

ANSWERS: tuple[AnswerKind, ...] = (
    AnswerKind("Elasticsearch", "elastic_transport", *_ELASTICSEARCH, answers={"ObjectApiResponse": "body"}),
    AnswerKind(
        "Elasticsearch DSL",
        "elasticsearch.dsl",
        *_ELASTICSEARCH,
        "Hit",
        "meta.id",
        "meta.score",
        "to_dict",
        {"Response": "hits"},
    ),
    AnswerKind(
        "OpenSearch DSL",
        "opensearchpy.helpers",
        "opensearch-py",
        "3.2.0",
        "Hit",
        "meta.id",
        "meta.score",
        "to_dict",
        {"Response": "hits"},
    ),
    AnswerKind("Solr", "pysolr", "pysolr", "3.11.0", answers={"Results": "docs"}),
    AnswerKind(
        "Qdrant",
        "qdrant_client",
        "qdrant-client",
        "1.20.0",
        "ScoredPoint",
        "id",
        "score",
        "payload",
        {"QueryResponse": "points"},
    ),
    AnswerKind(
        "Weaviate",
        "weaviate",
        "weaviate-client",
        "4.24.1",
        "Object",
        "uuid",
        "metadata.score",
        "properties",
        {"QueryReturn": "objects", "GenerativeReturn": "objects"},
    ),
    AnswerKind("Vespa", "vespa.io", "pyvespa", "1.2.9", answers={"VespaQueryResponse": "hits"}),
    AnswerKind(
        "Algolia",
        "algoliasearch",
        "algoliasearch",
        "4.48.0",
        "Hit",
        "object_id",
        stored="model_extra",
        answers={"SearchResponse": "hits"},
    ),
    AnswerKind("LangChain", "langchain_core", "langchain-core", "1.8.3", "Document", "id", stored="metadata"),
    AnswerKind(
        "LlamaIndex",
        "llama_index",
        "llama-index-core",
        "0.14.25",
        "NodeWithScore",
        "node_id",
        "score",
        "metadata",
        {"Response": "source_nodes"},
    ),
    AnswerKind("Haystack", "haystack", "haystack-ai", "3.4.1", "Document", "id", "score", "meta"),
)
"""The answers of clients; plain dictionaries (OpenSearch, Meilisearch, Typesense) need none."""


def is_answer(value: object) -> bool:
    """True for an answer to one query, including a list of results.

    >>> is_answer({"hits": {"hits": [{"_id": "d1", "_score": 2.0}]}}), is_answer([("d1", 2.0)])
    (True, True)
    >>> is_answer({"d1": 2.0}), is_answer(["d1"]), is_answer([("q1", "d1", 2.0)])
    (False, False, False)
    """
    if _find_answer_kind(value) is not None:
        return True
    if isinstance(value, Mapping):
        return _find_shape(value) is not None or _find_result_list(value) is not None
    return isinstance(value, list | tuple) and bool(value) and _is_hit(value[0])


def _is_hit(value: Any) -> bool:
    """True for a result: an object of a client, a dictionary with an id, or a pair with a score."""
    if _is_pair(value):
        return isinstance(value[0], str | int | UUID) or _find_hit_kind(value[0]) is not None
    if not isinstance(value, Mapping):
        return _find_hit_kind(value) is not None
    if any(key in value for key in QUERY_KEYS):
        return False  # a row of a table
    has_fields = any(isinstance(value.get(key), Mapping) for key in STORED_KEYS)
    return has_fields or any(key in value for key in ID_KEYS)


def _is_pair(value: Any) -> bool:
    """True for a result with its score; a list has an id that is text, as two numbers could be ids."""
    if not isinstance(value, list | tuple) or len(value) != _PAIR_LENGTH or hasattr(value, "_fields"):
        return False
    is_text = isinstance(value, tuple) or isinstance(value[0], str)
    return is_text and isinstance(value[1], int | float | np.number)


def _kinds_of(value: object) -> Iterator[tuple[AnswerKind, str]]:
    """The clients with a class of an object, or with one that it inherits, and the name of the class."""
    for base in type(value).__mro__[:-1]:
        for kind in ANSWERS:
            if is_from_module(base, kind.module):
                yield kind, base.__name__


def _find_answer_kind(value: object) -> tuple[AnswerKind, str] | None:
    """The kind of an answer, and the path of its results."""
    kinds = _kinds_of(value)
    return next(((kind, kind.answers[name]) for kind, name in kinds if name in kind.answers), None)


def _find_hit_kind(value: object) -> AnswerKind | None:
    return next((kind for kind, name in _kinds_of(value) if name == kind.hit), None)


def answers_by_query(rows: object) -> dict[Any, Any] | None:
    """``{query: answer}`` from a list of answers that name their queries; None for other objects.

    Raises:
        InputError: two answers name the same query.
    """
    answers: dict[Any, Any] = {}
    for row in rows if isinstance(rows, list | tuple) else ():
        key = next((key for key in QUERY_ID_KEYS if isinstance(row, Mapping) and key in row), None)
        wrapped_answers = [row[name] for name in WRAPPER_KEYS if name in row] if key else []
        answer = next((value for value in (*wrapped_answers, row) if _find_product(value)), None)
        if key is None or answer is None:
            return None
        if (query := row[key]) in answers:
            problem = f"query {query!r} is answered twice; keep one answer."
            raise InputError(problem, source="answers", code="duplicate-query")
        answers[query] = answer
    return answers or None


def _find_product(value: object) -> Product | None:
    """The product that returned a dictionary as an answer, judged by its keys."""
    if not isinstance(value, Mapping):
        return None
    return next((product for product in PRODUCTS if product.marked(value)), None)


def _is_unnamed(value: object) -> bool:
    """True for an answer that does not contain its query."""
    has_query = isinstance(value, Mapping) and any(key in value for key in QUERY_ID_KEYS)
    return not has_query and (_find_answer_kind(value) is not None or _find_product(value) is not None)


def refuse_without_queries(answer: Any) -> None:
    """Check that an object is ``{query: answer}`` and not an answer itself.

    Raises:
        InputError: the object is one answer, or the answer to several queries; the message has the
            line to write.
    """
    if isinstance(answer, list | tuple) and answer and all(map(_is_unnamed, answer)):
        problem = "the answers to several queries, without the queries; give dict(zip(queries, answers))."
        raise InputError(problem, source="answers", code="wrong-type")
    value, title = answer, ""
    if declared := _find_answer_kind(answer):
        value, title = value_at(answer, declared[1], declared[0]), declared[0].title
    problem = f"one answer of {title}, without its query; give {{query: answer}}."
    for product in PRODUCTS if isinstance(value, Mapping) else ():
        answers = [*(product.answers_in(value) or ())]
        if answers and all(
            isinstance(query_answer, Mapping) and product.marked(query_answer) for query_answer in answers
        ):
            title, key = product.title, ".".join(product.several or ())
            problem = (
                f"the answers of {title} to several queries, without the queries; give "
                f"dict(zip(queries, answer[{key!r}]))."
            )
            break
    if not title and (marked := _find_product(value)) is not None:
        title = marked.title
        problem = f"one answer of {title}, without its query; give {{query: answer}}."
    if title:
        raise InputError(problem, source="answers", code="wrong-type")


def rankings_of_answers(answers: Mapping[Any, Any], input_kind: InputKind, doc_field: str | None) -> Any:
    """``{query: {document: number}}``, or ``{query: [document, …]}``, from the answers to queries.

    Results rank in their order. Falling scores are kept, and equal scores are lowered by the
    smallest steps, as in snapshots. Rising scores, such as distances, are dropped. Equal scores of
    plain pairs stay equal.

    Args:
        answers: the answer, by query.
        input_kind: the kind of input to read the answers as; results read as judgments have grades.
        doc_field: the stored field with the ids of documents, used instead of a result's id if
            results have the field.

    Raises:
        InputError: an answer is an error or has an unknown version of its client, a result has no
            id, or pairs of ids and scores are not ordered by score.
    """
    queries = text_ids(answers, "queries")
    by_query = [*zip(queries, answers.values(), strict=True)]
    rows = [_read_results(answer, query, input_kind) for query, answer in by_query]
    if all(_read_field(result.raw, doc_field) is None for row in rows for result in row):
        doc_field = None  # a column of other tables: runs without it are read unchanged
    documents = {
        query: [_read_doc_id(result, doc_field, query) for result in row]
        for query, row in zip(queries, rows, strict=True)
    }
    numbers = {
        query: [_parse_score(result.number, query) for result in row]
        for query, row in zip(queries, rows, strict=True)
    }
    has_numbers = all(None not in row for row in numbers.values())
    is_run = input_kind == "run"
    if is_run:
        has_numbers = (
            all(_scores_fall(answer, query, numbers[query]) for query, answer in by_query) and has_numbers
        )
    if not has_numbers or any(len(set(row)) < len(row) for row in documents.values()):
        return documents
    for query, answer in by_query:
        if is_run and not _is_plain(answer):
            numbers[query] = break_ties(np.array(numbers[query], np.float64)).tolist()
    return {query: dict(zip(row, numbers[query], strict=True)) for query, row in documents.items()}


def _is_plain(answer: object) -> bool:
    """True for pairs of ids and scores, which no engine orders."""
    if not isinstance(answer, list | tuple) or not answer or not _is_pair(answer[0]):
        return False
    return _find_hit_kind(answer[0][0]) is None


class Result(NamedTuple):
    """One result of an answer.

    Attributes:
        raw: the result as the client gives it.
        doc_id: its id; None without one.
        number: its score or grade; None without one.
    """

    raw: Any
    doc_id: Any
    number: Any


def _scores_fall(answer: Any, query: str, scores: list[float | None]) -> bool:
    """True if the scores of an answer fall in the order of its results.

    Raises:
        InputError: pairs of ids and scores are not ordered by score, and no client explains the
            order.
    """
    numbers = [math.nan if score is None else score for score in scores]
    if all(score >= next_score for score, next_score in pairwise(numbers)):
        return True
    first: Any = answer[0] if isinstance(answer, list | tuple) else None
    if _is_pair(first) and isinstance(first[0], str | int) and None not in scores:
        problem = (
            f"the scores of query '{query}' do not fall along its list; sort the pairs by score, or give "
            "{query: {document: score}}."
        )
        raise InputError(problem, source="answers", code="invalid-order")
    return False


def _read_results(answer: Any, query: str, input_kind: InputKind) -> list[Result]:
    """The results in the answer to one query.

    Raises:
        InputError: the answer is an error, is incomplete, or has no list of results.
    """
    if declared := _find_answer_kind(answer):
        answer = value_at(answer, declared[1], declared[0])
    results = answer
    if isinstance(answer, Mapping):
        if (product := _find_shape(answer)) is not None:
            return _read_product_results(answer, *product, query)
        results = _find_result_list(answer)
        if results is None and (problem := _find_error_message(answer)):
            raise _failure_error(query, problem)
    if results is None or isinstance(results, str) or not isinstance(results, Iterable):
        problem = (
            f"the answer to query '{query}' is {short_repr(answer)}, without a list of results; give "
            "{query: [document, …]}."
        )
        raise InputError(problem, source="answers", code="wrong-type")
    return [_read_result(hit, query, input_kind) for hit in results]


def _find_shape(answer: Mapping[Any, Any]) -> tuple[Product, Shape] | None:
    """The product that returned a dictionary, and the shape that fits; None for other values."""
    for product in PRODUCTS:
        for shape in (product.shape, *product.more_shapes):
            hits = value_at_path(answer, shape.hits)
            if not isinstance(hits, list):
                continue
            if (not hits and product.name != "qdrant") or (
                hits and isinstance(hits[0], dict) and value_at_path(hits[0], shape.doc_id) is not MISSING
            ):
                return product, shape
    return None


def _read_product_results(
    answer: Mapping[Any, Any], product: Product, shape: Shape, query: str
) -> list[Result]:
    rows = shape.rows(answer)
    if isinstance(rows, Failure):
        raise _failure_error(query, f"{product.title}: {rows.problem}")
    hits = value_at_path(answer, shape.hits)
    return [
        Result(
            hit,
            str(row.doc_id).rpartition(product.id_after)[2] if product.id_after else row.doc_id,
            None if row.score is MISSING else row.score,
        )
        for hit, row in zip(hits if isinstance(hits, list) else (), rows, strict=True)
    ]


def _find_error_message(answer: Mapping[Any, Any]) -> str:
    """The message of an answer that is an error; empty for other answers."""
    message = next((text for product in PRODUCTS if (text := product.error_in(answer))), "")
    return message or (short_repr(answer["error"]) if answer.get("error") else "")


def _failure_error(query: str, problem: str) -> InputError:
    text = (
        f"the answer to query '{query}' cannot be used: {problem.rstrip('.')}; ask the query again, or leave "
        "it out."
    )
    return InputError(text, source="answers", code="engine-error")


def _find_result_list(answer: Mapping[Any, Any]) -> list[Any] | None:
    """The results in a dictionary of no known product; None if the dictionary is not an answer."""
    for key in RESULT_KEYS:
        results = answer.get(key)
        if isinstance(results, list) and (not results or _is_hit(results[0])):
            return results
    return None


def _read_result(hit: Any, query: str, input_kind: InputKind) -> Result:
    """Read one result: an object of a client, a dictionary, an id, or a pair with a score."""
    raw, number = hit if _is_pair(hit) else (hit, None)
    if isinstance(raw, str | int | np.integer | UUID):
        return Result(raw, raw, number)
    if kind := _find_hit_kind(raw):
        if number is None and kind.score:
            number = value_at(raw, kind.score, kind)
        return Result(raw, value_at(raw, kind.id, kind), number)
    if not isinstance(raw, Mapping):
        problem = f"a result of query '{query}' is {short_repr(raw)}; give {{query: [document, …]}}."
        raise InputError(problem, source="answers", code="wrong-type")
    number_keys = SCORE_KEYS if input_kind == "run" else GRADE_KEYS
    if number is None:
        number = next((raw[key] for key in number_keys if key in raw), None)
    id_key = next((key for key in ID_KEYS if key in raw), None)
    return Result(raw, _stored_fields(raw).get("id") if id_key is None else raw[id_key], number)


def _read_doc_id(result: Result, doc_field: str | None, query: str) -> str:
    """The id of a result, or that in a stored field.

    Raises:
        InputError: the field does not exist; the message lists the existing fields.
    """
    doc_id = result.doc_id if doc_field is None else _read_field(result.raw, doc_field)
    if doc_id is None:
        missing_label = "id" if doc_field is None else f"field {doc_field}"
        problem = (
            f"a result of query '{query}' has no {missing_label}; it has "
            f"{', '.join(map(str, _stored_fields(result.raw))) or 'no fields'}. Name the field that holds "
            "the ids with columns: doc=FIELD."
        )
        raise InputError(problem, source="answers", code="missing-column")
    return text_id(doc_id)


def _read_field(hit: object, name: str | None) -> Any:
    """A stored field, or the value at a path such as ``node.ref_doc_id``; for ``a|b`` the first."""
    for path in () if name is None else name.split("|"):
        value = _stored_fields(hit).get(path)
        if value is None:
            value = reduce(_member, path.split("."), hit)
        if value is not None:
            return value[0] if isinstance(value, list) and len(value) == 1 else value
    return None


def _member(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _stored_fields(hit: Any) -> Mapping[Any, Any]:
    """The fields of the document of a result."""
    if kind := _find_hit_kind(hit):
        stored = value_at(hit, kind.stored, kind)
        return stored if isinstance(stored, Mapping) else {}
    if not isinstance(hit, Mapping):
        return {}
    return {**hit, **next((hit[key] for key in STORED_KEYS if isinstance(hit.get(key), Mapping)), {})}


def _parse_score(value: Any, query: str) -> float | None:
    if value is None:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        problem = f"the score {short_repr(value)} of query '{query}' is not a number."
        raise InputError(problem, source="answers", code="not-a-number") from None


def value_at(value: object, path: str, kind: AnswerKind) -> Any:
    """The value at a path of attributes; methods are called, and the value inside None is None.

    Raises:
        InputError: an attribute is missing, as in another version of the client.
    """
    for name in path.split("."):
        if value is None:
            return None
        if not hasattr(value, name):
            raise version_error(value, name, kind.title, kind.package, kind.tested)
        value = getattr(value, name)
    return value() if callable(value) else value
