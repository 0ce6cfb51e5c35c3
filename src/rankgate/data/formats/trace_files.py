"""Traces of retrieval: OpenTelemetry, OpenInference, MLflow, LangSmith and Langfuse.

Each span of a retriever is the ranking of its query, with the time that it took.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_names import ALIASES
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import jsonl
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text import json_text
from rankgate.data.unfold import DOCUMENT_IDS, QUERY_TEXTS

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_SPAN = re.compile(
    rb'"(?:openinference\.span\.kind|mlflow\.spanType)"'
    rb'|"gen_ai\.operation\.name"(?:\s*:\s*|\s*,\s*"value"\s*:\s*\{\s*"stringValue"\s*:\s*)"retrieval"'
    rb'|"run_type"\s*:\s*"retriever"|"type"\s*:\s*"RETRIEVER"'
)
_OPENINFERENCE = {  # the query, and the beginning of the documents, by the kind of the span
    "RETRIEVER": ("input.value", "retrieval.documents"),
    "RERANKER": ("reranker.query", "reranker.output_documents"),
}
_TIMES = (  # the names of the beginning and the end, and how many are in a millisecond
    ("startTimeUnixNano", "endTimeUnixNano", 1e6),
    ("start_time_unix_nano", "end_time_unix_nano", 1e6),
    ("start_time", "end_time", 1.0),
    ("startTime", "endTime", 1.0),
)
_QUERY_KEYS = (*ALIASES["query_id"], *QUERY_TEXTS)
_ID_KEYS = (*DOCUMENT_IDS, *ALIASES["doc_id"], "source")
_TEXT_KEYS = ("page_content", "content", "text")
_QUERY_SCHEMA = {"query_id": pl.String, "state": pl.String, "latency_ms": pl.Float64}


class _Retrieval(NamedTuple):
    """A span of a retriever or reranker.

    Attributes:
        stage: ``retriever`` or ``reranker``.
        query: the text of the query, or an object that has it.
        documents: the documents, the best first, or an object that has them.
    """

    stage: str
    query: Any
    documents: Any


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with the span of a retriever."""
    return "it has spans of a retriever" if _SPAN.search(first_bytes) else None


def read(source: InputFile) -> FileContents:
    """A run of the retrievers, and one of the rerankers.

    Raises:
        InputError: there is no such span, a query was asked twice, or a span has no query or a
            document without id.
    """
    stages: dict[str, dict[str, tuple[int, list[Any], float | None]]] = {}
    for line, value in _read_values(source):
        for span in _spans(value):
            if (retrieval := _read_span(span)) is None:
                continue
            query = _find_text(_parsed(retrieval.query), _QUERY_KEYS)
            if not query:
                problem = f"a span of a {retrieval.stage} without the text of its query."
                raise InputError(problem, source=source.label, line=line, code="missing-key")
            queries = stages.setdefault(retrieval.stage, {})
            if query in queries:
                problem = (
                    f"query {query!r} was asked twice (first on line {queries[query][0]}); keep one of its "
                    "spans."
                )
                raise InputError(problem, source=source.label, line=line, code="duplicate-query")
            documents = [_read_document(document) for document in _list_documents(retrieval.documents)]
            if any(not doc_id for doc_id, _ in documents):
                problem = f"a document without id or text in the results of query {query!r}."
                raise InputError(problem, source=source.label, line=line, code="invalid-id")
            queries[query] = line, documents, _latency(span)
    if not stages:
        problem = "no span of a retriever in it."
        raise InputError(problem, source=source.label, code="no-rankings")
    names = [source.stem] if len(stages) == 1 else [f"{source.stem}-{stage}" for stage in stages]
    return FileContents(
        runs=tuple(
            _make_run(name, queries, source.label)
            for name, queries in zip(names, stages.values(), strict=True)
        )
    )


def _read_values(source: InputFile) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file with their lines: one a line, or one over all lines."""
    first_line = source.head().lstrip().split(b"\n", 1)[0].strip()
    try:
        json_text.parse_json(first_line, source.label)
    except InputError:
        yield 1, json_text.read_document(source)
    else:
        yield from json_text.read_json_lines(source)


def _spans(value: Any) -> Iterator[Mapping[str, Any]]:
    """All objects in a JSON value, at any depth; spans are among them."""
    if isinstance(value, Mapping):
        yield value
    for member in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _spans(member)


def _read_span(span: Mapping[str, Any]) -> _Retrieval | None:
    """The retrieval of a span; None for other objects."""
    attributes = _attributes(span.get("attributes"))
    kind = str(attributes.get("openinference.span.kind")).upper()
    if kind in _OPENINFERENCE:
        query_key, prefix = _OPENINFERENCE[kind]
        pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.document\.(.+)")
        documents: dict[int, dict[str, Any]] = {}
        for key, value in attributes.items():
            if match := pattern.fullmatch(key):
                documents.setdefault(int(match[1]), {})[match[2]] = value
        query = attributes.get(query_key, attributes.get("input.value"))
        return _Retrieval(kind.lower(), query, [documents[position] for position in sorted(documents)])
    if attributes.get("gen_ai.operation.name") == "retrieval":
        query, documents_text = (
            attributes.get(f"gen_ai.retrieval.{name}") for name in ("query.text", "documents")
        )
        return _Retrieval("retriever", query, _parsed(documents_text))
    if _parsed(attributes.get("mlflow.spanType")) == "RETRIEVER":
        inputs, outputs = (_parsed(attributes.get(f"mlflow.span{name}")) for name in ("Inputs", "Outputs"))
        return _Retrieval("retriever", inputs, outputs)
    if "retriever" in {str(span.get(key)).lower() for key in ("run_type", "type")}:
        inputs, outputs = (span.get(f"{name}s", span.get(name)) for name in ("input", "output"))
        return _Retrieval("retriever", inputs, outputs)
    return None


def _attributes(attributes: Any) -> Mapping[str, Any]:
    """The attributes of a span as one object; OTLP has a list of keys with values of a type."""
    if isinstance(attributes, Mapping):
        return attributes
    pairs = attributes if isinstance(attributes, list) else []
    return {
        pair["key"]: _otlp_value(pair.get("value"))
        for pair in pairs
        if isinstance(pair, Mapping) and "key" in pair
    }


def _otlp_value(value: Any) -> Any:
    """A value of OTLP without its type, such as ``{"stringValue": "a"}``."""
    if not isinstance(value, Mapping):
        return value
    type_name, inner = next((pair for pair in value.items() if pair[1] is not None), ("", None))
    members = inner.get("values", []) if isinstance(inner, Mapping) else []
    if type_name == "arrayValue":
        return [_otlp_value(member) for member in members]
    return _attributes(members) if type_name == "kvlistValue" else inner


def _parsed(value: Any) -> Any:
    """The value of a text of JSON; other values unchanged."""
    if isinstance(value, str) and value[:1] in {"{", "[", '"'}:
        with suppress(ValueError):
            return json.loads(value)
    return value


def _list_documents(documents: Any) -> list[Any]:
    """The list of documents, perhaps the only list of an object."""
    if isinstance(documents, Mapping):
        lists = [member for member in documents.values() if isinstance(member, list)]
        return lists[0] if len(lists) == 1 else []
    return documents if isinstance(documents, list) else []


def _read_document(document: Any) -> tuple[str, float | None]:
    """The id of a document, or its text if it has none, and its score."""
    if not isinstance(document, Mapping):
        return _find_text(document, ()), None
    metadata = _parsed(document.get("metadata"))
    inner = document.get("document")
    doc_id = (
        _find_text(document, _ID_KEYS)
        or _find_text(metadata if isinstance(metadata, Mapping) else {}, _ID_KEYS)
        or (_read_document(inner)[0] if isinstance(inner, Mapping) else "")
        or _find_text(document, _TEXT_KEYS)
    )
    score = document.get("score")
    return doc_id, float(score) if isinstance(score, int | float) and not isinstance(score, bool) else None


def _find_text(value: Any, keys: tuple[str, ...]) -> str:
    """A text or whole number, or that of the first of some keys of an object; empty if there is none."""
    if isinstance(value, Mapping):
        return next(filter(None, (_find_text(value[key], ()) for key in keys if key in value)), "")
    is_id = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value).strip() if is_id else ""


def _latency(span: Mapping[str, Any]) -> float | None:
    """The milliseconds from the beginning to the end of a span."""
    for begin, end, ticks in _TIMES:
        if begin in span and end in span:
            with suppress(TypeError, ValueError, OverflowError):
                if ticks > 1:
                    return (int(span[end]) - int(span[begin])) / ticks
                duration = datetime.fromisoformat(span[end]) - datetime.fromisoformat(span[begin])
                return duration.total_seconds() * 1000
    return None


def _make_run(name: str, queries: Mapping[str, tuple[int, list[Any], float | None]], label: str) -> Run:
    """The run of some spans: by their scores, or by the order if scores rise or are missing."""
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    for query, (line, documents, _) in queries.items():
        scores = [score for _, score in documents if score is not None]
        is_scored = len(scores) == len(documents) and scores == sorted(scores, reverse=True)
        rows += [
            (query, doc_id, score if is_scored else -float(rank))
            for rank, (doc_id, score) in enumerate(documents, 1)
        ]
        lines += [line] * len(documents)
    table = pl.DataFrame(
        rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row"
    )
    states = [
        (query, "ok" if documents else "zero", latency) for query, (_, documents, latency) in queries.items()
    ]
    return Run(
        name,
        lambda: iter([table]),
        queries=pl.DataFrame(states, schema=_QUERY_SCHEMA, orient="row"),
        place=RowLocation(label, lines.__getitem__),
    )


FORMAT = Format(
    name="traces",
    title="Traces of retrievers (OpenTelemetry, OpenInference, MLflow, LangSmith, Langfuse)",
    suffixes=(".jsonl", ".json"),
    sniff=sniff,
    read=read,
    table=jsonl.JsonlTable,  # for paths that the user names
    holds=("runs",),
    detail=(
        "Each span of a retriever is a ranking: in OTLP as JSON, or in an object for each span or trace. The "
        "text of the query is its id. Documents are in their order, or by their scores if these fall; an id "
        "may be in metadata, and without any, the text is the id. Spans of rerankers are a run of their own. "
        "The time of a span is the latency of its query."
    ),
)
