"""Spans of traces: searches, rerankings and calls of tools, by the names that tools of tracing use.

OpenTelemetry and OpenInference have attributes, as in OTLP's JSON, in the console's or in Logfire's
rows; MLflow, LangSmith, Langfuse, Phoenix, Opik and Braintrust have objects, some inside a trace.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rankgate.data.column_names import ALIASES
from rankgate.data.unfold import DOCUMENT_IDS, QUERY_TEXTS

SPAN_PATTERN = re.compile(
    rb'"(?:openinference\.span\.kind|mlflow\.spanType|gen_ai\.operation\.name|resourceSpans)"'
    rb'|"run_type"\s*:\s*"retriever"|"type"\s*:\s*"RETRIEVER"'
    rb'|"(?:span_attributes|parent_span_id)"(?s:.*)"name"\s*:\s*"[^"]*[Rr]etriev'
    rb'|"name"\s*:\s*"[^"]*[Rr]etriev(?s:.*)"(?:span_attributes|parent_span_id)"'
)
"""Spans, or those that are read where other files have such keys, in the first bytes of a file."""

_OPENINFERENCE = {  # the query, and the beginning of the documents, by the kind of the span
    "RETRIEVER": ("input.value", "retrieval.documents"),
    "RERANKER": ("reranker.query", "reranker.output_documents"),
}
_TIMES = (  # the names of the beginning and the end, and the seconds of a unit; None for dates
    ("startTimeUnixNano", "endTimeUnixNano", 1e-9),
    ("start_time_unix_nano", "end_time_unix_nano", 1e-9),
    ("start_time_ns", "end_time_ns", 1e-9),
    ("start_time", "end_time", None),
    ("startTime", "endTime", None),
    ("start_timestamp", "end_timestamp", None),
    ("start", "end", 1.0),
)
_FACTS = {  # keys in a span, its attributes, its metadata, or around it
    "trace": ("traceId", "trace_id", "root_span_id", "request_id"),
    "session": (
        *("session.id", "gen_ai.conversation.id", "sessionId", "thread_id", "conversation_id"),
        *("langfuse.session.id", "mlflow.trace.session"),
    ),
    "user": ("user.id", "enduser.id", "userId", "user_id", "langfuse.user.id", "mlflow.trace.user"),
    "project": ("openinference.project.name", "service.name", "project_name", "projectId", "project_id"),
}
_FEEDBACK = ("scores", "feedback", "assessments", "feedback_scores", "annotations", "events")
_FEEDBACK_NAMES = ("gen_ai.evaluation.name", "name", "assessment_name", "key")
_FEEDBACK_VALUES = ("gen_ai.evaluation.score.value", "value", "score")
_CONTENT_KEYS = frozenset(  # of which no member is a span
    ("attributes", "events", "status", "scope", "inputs", "input", "outputs", "output", "scores", "metadata")
)
_PARENT_KEYS = (
    *("parentSpanId", "parent_span_id", "parent_id", "parent_run_id", "parentObservationId"),
    "span_parents",
)
_QUERY_KEYS = (*ALIASES["query_id"], *QUERY_TEXTS)
_ID_KEYS = (*DOCUMENT_IDS, *ALIASES["doc_id"], "source")
_TEXT_KEYS = ("page_content", "content", "text")
_LIST_KEYS = ("documents", "docs", "results", "hits", "matches", "chunks", "output")
_NAMED_TYPES = {
    "general",
    "tool",
    "function",
    "task",
}  # of Opik and Braintrust, which have no type for a search


class Document(NamedTuple):
    """A document of a search: its id, or its text if it has none, its text and its score."""

    doc_id: str
    text: str
    score: float | None


class Feedback(NamedTuple):
    """What somebody, or a model, said of a trace; the value is None if it is no number."""

    rater: str
    value: float | None
    comment: str | None


class _Content(NamedTuple):
    """The stage of a span, the name of a tool, its query and its documents, as the span has them."""

    stage: str
    tool: str
    query: Any
    documents: Any


class Span(NamedTuple):
    """A search, a reranking, or a call of a tool.

    Attributes:
        stage: ``retriever``, ``reranker`` or ``tool``.
        name: the name of the span; of a tool, that of the tool.
        query: the text of the query; the arguments of a tool.
        documents: the documents, the best first; None if there is no list of them.
        began: the seconds since 1970, or None.
        latency_ms: the milliseconds that it took, or None.
        error: the message of its error; None if it has none.
        facts: ``trace``, ``session``, ``user``, ``project``, as far as they are stated.
    """

    stage: str
    name: str
    query: Any
    documents: list[Document] | None
    began: float | None
    latency_ms: float | None
    error: str | None
    facts: Mapping[str, str]


class TraceObject(NamedTuple):
    """An object in a trace, its attributes, and what it and those around it say of the trace."""

    fields: Mapping[str, Any]
    attributes: Mapping[str, Any]
    facts: dict[str, str]


def walk(value: Any, facts: dict[str, str] | None = None) -> Iterator[TraceObject]:
    """All objects in a JSON value, at any depth, that may be spans or have facts of a trace."""
    facts = facts or {}
    if isinstance(value, dict):
        attributes = read_attributes(value.get("attributes"))
        own_facts = _find_facts(value, attributes)
        facts = facts | own_facts if own_facts else facts
        yield TraceObject(value, attributes, facts)
        members = [member for key, member in value.items() if key not in _CONTENT_KEYS]
    else:
        members = value if isinstance(value, list) else []
    for member in members:
        if isinstance(member, dict | list):
            yield from walk(member, facts)


def read_span(trace_object: TraceObject) -> Span | None:
    """The span of an object; None for other objects."""
    span, attributes, facts = trace_object
    if (content := _read_content(span, attributes)) is None:
        return None
    stage, tool, query, documents = content
    name = tool or str(span.get("name") or span.get("span_name") or stage)
    if stage != "tool":
        query = _find_text(_parsed(query), _QUERY_KEYS)
        documents = _list_documents(_parsed(documents))
    return Span(stage, name, _parsed(query), documents, *_read_times(span), _find_error(span), facts)


def find_question(trace_object: TraceObject) -> str:
    """The text that a trace begins with; empty for objects that are neither the trace nor its first span."""
    span, attributes, _ = trace_object
    if any(span.get(key) for key in _PARENT_KEYS):
        return ""
    values = (
        *(attributes.get(key) for key in ("input.value", "mlflow.spanInputs")),
        *(span.get(key) for key in ("inputs", "input")),
        *(attributes.get(key) for key in ("gen_ai.input.messages", "gen_ai.prompt")),
    )
    return next(filter(None, (_question(_parsed(value)) for value in values)), "")


def _question(value: Any) -> str:
    """A text, that of a key of queries, or the last message of a user, as it is or as a list of parts."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if not isinstance(value, list):
        return _find_text(value, (*_QUERY_KEYS, "content"))
    messages = [message for message in map(_mapping, value) if message.get("role") == "user"]
    for message in messages[-1:]:
        parts = message.get("content", message.get("parts"))
        texts = (
            _find_text(message_part, _TEXT_KEYS)
            for message_part in (parts if isinstance(parts, list) else [parts])
        )
        return " ".join(filter(None, texts))
    return ""


def read_feedback(value: Mapping[str, Any]) -> Iterator[Feedback]:
    """What is said in an object of a trace, as of people, models or code."""
    for key in _FEEDBACK:
        members = value.get(key)
        if key == "scores" and isinstance(members, dict):  # Braintrust's scorers by name
            members = [{"name": name, "value": score} for name, score in members.items()]
        for member in members if isinstance(members, list) else ():
            if isinstance(member, dict):
                yield from _read_feedback(member)
    statistics = value.get("feedback_stats")  # LangSmith's means by key
    for name, figures in statistics.items() if isinstance(statistics, dict) else ():
        if isinstance(figures, dict) and "avg" in figures:
            yield Feedback(str(name), _number(figures["avg"]), None)


def _read_feedback(member: Mapping[str, Any]) -> Iterator[Feedback]:
    fields = {**member, **read_attributes(member.get("attributes"))}
    for inner in ("feedback", "result"):
        if isinstance(member.get(inner), dict):
            fields |= member[inner]
    name = next((fields[key] for key in _FEEDBACK_NAMES if fields.get(key)), None)
    if name is None or not any(key in fields for key in _FEEDBACK_VALUES):
        return
    source = fields.get("source") or fields.get("annotator_kind") or ""
    if isinstance(source, dict):
        source = source.get("source_id") or source.get("source_type") or source.get("type") or ""
    comment = next(
        (fields[key] for key in ("comment", "explanation", "rationale", "reason") if fields.get(key)), None
    )
    is_text = fields.get("dataType") in {"CATEGORICAL", "TEXT"}  # Langfuse gives these a number too
    number = (
        None
        if is_text
        else next((_number(fields[key]) for key in _FEEDBACK_VALUES if fields.get(key) is not None), None)
    )
    rater = f"{name} ({source})" if source else str(name)
    yield Feedback(rater, number, comment and str(comment))


def _number(value: Any) -> float | None:
    """A finite number, or yes and no as 1 and 0."""
    if isinstance(value, int | float) and abs(value) < float("inf"):
        return float(value)
    return None


def _find_facts(value: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, str]:
    info, extra, resource = (_mapping(value.get(key)) for key in ("info", "extra", "resource"))
    members = (
        value,
        _mapping(value.get("context")),
        _mapping(value.get("metadata")),
        _mapping(extra.get("metadata")),
        info,
        _mapping(info.get("trace_metadata")),
        attributes,
        read_attributes(resource.get("attributes")),
    )
    facts: dict[str, str] = {}
    for member in filter(None, members):
        for name, keys in _FACTS.items():
            if name not in facts and (text := _find_text(member, keys)):
                facts[name] = text
    return facts


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _read_content(span: Mapping[str, Any], attributes: Mapping[str, Any]) -> _Content | None:
    """The content of an object; None if it is no such span."""
    by_attributes = _read_openinference(attributes) or _read_genai(attributes)
    if by_attributes is not None:
        return by_attributes
    mlflow_type = _parsed(attributes.get("mlflow.spanType"))
    if mlflow_type in {"RETRIEVER", "RERANKER", "TOOL"}:
        inputs, outputs = (attributes.get(f"mlflow.span{name}") for name in ("Inputs", "Outputs"))
        return _Content(mlflow_type.lower(), "", inputs, outputs)
    types = {str(_mapping(member).get(key)).lower() for member, key in _types(span)}
    inputs, outputs = (span.get(f"{name}s", span.get(name)) for name in ("input", "output"))
    is_search = types & _NAMED_TYPES and re.search("(?i)retriev", f"{span.get('name')} {_name(span)}")
    if "retriever" in types or is_search:
        return _Content("retriever", _name(span), inputs, outputs)
    return _Content("tool", _name(span), inputs, None) if "tool" in types else None


def _read_openinference(attributes: Mapping[str, Any]) -> _Content | None:
    kind = str(attributes.get("openinference.span.kind")).upper()
    if kind in _OPENINFERENCE:
        query_key, prefix = _OPENINFERENCE[kind]
        pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.document\.(.+)")
        documents: dict[int, dict[str, Any]] = {}
        for key, value in attributes.items():
            if match := pattern.fullmatch(key):
                documents.setdefault(int(match[1]), {})[match[2]] = value
        query = attributes.get(query_key, attributes.get("input.value"))
        return _Content(kind.lower(), "", query, [documents[position] for position in sorted(documents)])
    if kind == "TOOL":
        arguments = attributes.get("tool.parameters", attributes.get("input.value"))
        return _Content("tool", str(attributes.get("tool.name", "")), arguments, None)
    return None


def _read_genai(attributes: Mapping[str, Any]) -> _Content | None:
    operation = attributes.get("gen_ai.operation.name")
    if operation == "retrieval":
        query, documents = (
            attributes.get(f"gen_ai.retrieval.{name}") for name in ("query.text", "documents")
        )
        return _Content("retriever", "", query, documents)
    if operation == "execute_tool":
        name, arguments = (attributes.get(f"gen_ai.tool.{name}") for name in ("name", "call.arguments"))
        return _Content("tool", str(name or ""), arguments, None)
    return None


def _types(span: Mapping[str, Any]) -> tuple[tuple[Any, str], ...]:
    is_span = any(key in span for key in ("input", "inputs", "output", "outputs"))
    return ((span, "run_type"), (span, "type"), (span.get("span_attributes"), "type")) if is_span else ()


def _name(span: Mapping[str, Any]) -> str:
    return str(_mapping(span.get("span_attributes")).get("name") or span.get("name") or "")


def read_attributes(attributes: Any) -> Mapping[str, Any]:
    """The attributes of a span as one object; OTLP has a list of keys with values of a type."""
    attributes = _parsed(attributes)
    if isinstance(attributes, dict):
        return attributes
    pairs = attributes if isinstance(attributes, list) else []
    return {
        pair["key"]: _otlp_value(pair.get("value"))
        for pair in pairs
        if isinstance(pair, dict) and "key" in pair
    }


def _otlp_value(value: Any) -> Any:
    """A value of OTLP without its type, such as ``{"stringValue": "a"}``."""
    if not isinstance(value, dict):
        return value
    type_name, inner = next((pair for pair in value.items() if pair[1] is not None), ("", None))
    members = inner.get("values", []) if isinstance(inner, dict) else []
    if type_name == "arrayValue":
        return [_otlp_value(member) for member in members]
    return read_attributes(members) if type_name == "kvlistValue" else inner


def _parsed(value: Any) -> Any:
    """The value of a text of JSON; other values unchanged."""
    if isinstance(value, str) and value[:1] in {"{", "[", '"'}:
        with suppress(ValueError):
            return json.loads(value)
    return value


def _list_documents(documents: Any) -> list[Document] | None:
    """The documents of a list, or of the list of an object; None where no list of it is known."""
    if isinstance(documents, dict):
        lists = {key: member for key, member in documents.items() if isinstance(member, list)}
        if len(lists) > 1:
            lists = {key: lists[key] for key in _LIST_KEYS if key in lists}
        documents = next(iter(lists.values()), documents or [])
    elif documents in (None, ""):
        return []
    return [_read_document(document) for document in documents] if isinstance(documents, list) else None


def _read_document(document: Any) -> Document:
    if not isinstance(document, dict):
        return Document(_find_text(document, ()), "", None)
    metadata = _mapping(_parsed(document.get("metadata")))
    inner = document.get("document")
    inner_document = _read_document(inner) if isinstance(inner, dict) else Document("", "", None)
    text = _find_text(document, _TEXT_KEYS) or inner_document.text
    doc_id = _find_text(document, _ID_KEYS) or _find_text(metadata, _ID_KEYS) or inner_document.doc_id or text
    score = document.get("score")
    return Document(doc_id, text, None if isinstance(score, bool) else _number(score))


def _find_text(value: Any, keys: tuple[str, ...]) -> str:
    """A text or whole number, or that of the first of some keys of an object; empty if there is none."""
    if isinstance(value, dict):
        for key in keys:
            if key in value and (text := _find_text(value[key], ())):
                return text
        return ""
    is_id = isinstance(value, str | int) and not isinstance(value, bool)
    return str(value).strip() if is_id else ""


def _read_times(span: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """The beginning in seconds since 1970, and the milliseconds to the end, as far as they are stated."""
    fields = {**_mapping(span.get("metrics")), **span}
    for begin, end, unit in _TIMES:
        times = [_seconds(fields.get(key), unit) for key in (begin, end)]
        if times[0] is not None:
            if unit == 1e-9 and times[1] is not None:  # whole nanoseconds, which floats cannot hold
                return times[0], (int(fields[end]) - int(fields[begin])) / 1e6
            return times[0], None if times[1] is None else round((times[1] - times[0]) * 1000, 3)
    return None, None


def _seconds(value: Any, unit: float | None) -> float | None:
    with suppress(TypeError, ValueError, OverflowError):
        if unit is not None:
            return float(value) * unit
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return None


def _find_error(span: Mapping[str, Any]) -> str | None:
    """The message of a span that ended in an error, or its code if it has none."""
    status = span.get("status")
    fields = {**span, **_mapping(status)}
    codes = (status, *(fields.get(key) for key in ("code", "status_code", "level")))
    errors = [fields.get(key) for key in ("error", "error_info", "exception_message") if fields.get(key)]
    is_failed = any(code == 2 or str(code).upper().endswith("ERROR") for code in codes if code is not None)
    if not (errors or is_failed):
        return None
    messages = (fields.get(key) for key in ("message", "description", "status_message", "statusMessage"))
    texts = (_find_text(error, ("message", "exception_type")) for error in (*messages, *errors))
    return next(filter(None, texts), "error")
