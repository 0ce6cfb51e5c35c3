"""Traces of searches: rankings by stage, queries with the traces that they are from, and feedback.

The schemas: `OpenTelemetry <https://opentelemetry.io/docs/specs/semconv/gen-ai/>`__ and `OpenInference
<https://github.com/Arize-ai/openinference/tree/main/spec>`__, also as Phoenix and Logfire export
them; MLflow, LangSmith, Langfuse, Opik and Braintrust.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.formats.collected_judgments import GrowingRatings, GrowingRun
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables import jsonl
from rankgate.data.formats.tool_calls import call_text
from rankgate.data.formats.trace_spans import (
    SPAN_PATTERN,
    Feedback,
    Span,
    find_question,
    read_feedback,
    read_span,
    walk,
)
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text import json_text

if TYPE_CHECKING:
    from rankgate.data.qrels import Ratings
    from rankgate.data.streams.source import InputFile

_QUERY_SCHEMA = {"query_id": pl.String, "state": pl.String, "latency_ms": pl.Float64, "error": pl.String}
_NAMES = ("retriever", "reranker", "tool")
_FACTS = {"trace": "traces", "session": "sessions", "user": "users", "project": "projects"}
_NOUN = {"retriever": "a retriever", "reranker": "a reranker", "tool": "a tool"}


class _LineSpan(NamedTuple):
    """A span and its line in the file."""

    line: int
    span: Span


@dataclass
class _Traces:
    """The spans of a file, names of spans that are not read, and for each trace its facts and feedback."""

    spans: list[_LineSpan] = field(default_factory=list)
    other_names: dict[str, None] = field(default_factory=dict)
    facts: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    feedback: dict[str, list[Feedback]] = field(default_factory=lambda: defaultdict(list))

    def add(self, value: Any, line: int) -> None:
        for trace_object in walk(value):
            if (span := read_span(trace_object)) is not None:
                self.spans.append(_LineSpan(line, span))
            fields, attributes, facts = trace_object
            if span is None and attributes and isinstance(fields.get("name"), str):
                self.other_names[fields["name"]] = None
            feedback = [*read_feedback(fields)]
            if trace := facts.get("trace") or (feedback and str(fields.get("id") or "")):
                question = find_question(trace_object)
                self.facts[trace] |= facts | ({"question": question} if question else {})
                self.feedback[trace] += feedback

    def fact(self, span: Span, name: str) -> str:
        """A fact of a span, or else of its trace."""
        return span.facts.get(name) or self.facts.get(span.facts.get("trace", ""), {}).get(name, "")

    def notes(self) -> tuple[Note, ...]:
        """The numbers of traces, sessions, users, projects and errors."""
        texts_by_noun = {
            noun: dict.fromkeys(filter(None, (self.fact(span, name) for _, span in self.spans)))
            for name, noun in _FACTS.items()
        }
        errors = [f"{span.name}: {span.error}" for _, span in self.spans if span.error is not None]
        counts = [
            note
            for noun, texts in texts_by_noun.items()
            for note in Note.of(noun if len(texts) > 1 else noun.removesuffix("s"), texts)
        ]
        return (*counts, *Note.of("spans that ended in an error", errors))

    def stages(self) -> dict[str, list[_LineSpan]]:
        """The spans of each stage, in the order of time.

        Where one trace asks several retrievers for a query, each is a stage by its name; so is each
        of several projects.
        """
        names: dict[tuple[str, str, Any], set[str]] = defaultdict(set)
        for _, span in self.spans:
            names[span.stage, span.facts.get("trace", ""), str(span.query)].add(span.name)
        named_stages = {stage for (stage, trace, _), names in names.items() if trace and len(names) > 1} - {
            "tool"
        }
        projects = {self.fact(span, "project") for _, span in self.spans}
        stages: dict[str, list[_LineSpan]] = {}
        for line_span in sorted(self.spans, key=lambda line_span: line_span.span.began or 0.0):
            span = line_span.span
            parts = [span.stage]
            parts += [span.name] if span.stage in named_stages else []
            parts += [self.fact(span, "project") or "no project"] if len(projects) > 1 else []
            stages.setdefault("-".join(parts), []).append(line_span)
        return dict(sorted(stages.items(), key=lambda stage: _NAMES.index(stage[1][0].span.stage)))


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with spans."""
    return "it has spans" if SPAN_PATTERN.search(first_bytes) else None


def read(source: InputFile) -> FileContents:
    """A run for each stage, the queries with facts of their traces, texts of documents, and feedback.

    Raises:
        InputError: there is no such span or stage; several stages, where a run is asked for; a span
            has no query, no list of documents, or a document without id.
    """
    traces = _Traces()
    for line, value in _read_values(source):
        traces.add(value, line)
    stages = traces.stages()
    if not stages:
        names = ", ".join(islice(traces.other_names, 5))
        others = f", only others such as {names}" if names else ""
        problem = (
            f"no span of a retriever, a reranker or a tool in it{others}; such a span has "
            "openinference.span.kind, gen_ai.operation.name = retrieval, mlflow.spanType, run_type or type."
        )
        raise InputError(problem, source=source.label, code="no-rankings")
    is_alone = len(stages) == 1
    if source.table or source.read_as == "run":
        from rankgate.data.formats.tables.excel_sql_tables import choose_table

        stage = choose_table(list(stages), source, "stage")
        stages = {stage: stages[stage]}
    stem = source.stem if source.path is None else Path(source.path).stem
    rankings: dict[str, list[Span]] = {}
    runs: list[Run] = []
    for stage, spans in stages.items():
        name = stem if is_alone else f"{stem}-{stage}"
        if spans[0].span.stage == "tool":
            runs.append(_make_tool_run(name, spans, traces, source))
        else:
            for line_span in spans:
                _check(line_span, source.label)
            runs.append(_make_run(name, spans, source.label))
            rankings[stage] = [span for _, span in spans]
    all_spans = [span for spans_of_stage in rankings.values() for span in spans_of_stage]
    ratings, unread = _read_ratings(traces, all_spans, source)
    return FileContents(
        runs=tuple(runs),
        queries=_queries(traces, rankings),
        documents=_documents(all_spans),
        ratings=ratings,
        notes=(*traces.notes(), *Note.of("feedback without a number, passed over", unread)),
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


def _check(line_span: _LineSpan, label: str) -> None:
    """Refuse a span without a query, a list of documents, or the id of one."""
    line, span = line_span
    noun = f"a span of {_NOUN[span.stage]}"
    if not span.query:
        raise InputError(
            f"{noun} without the text of its query.", source=label, line=line, code="missing-key"
        )
    if span.documents is None:
        problem = f"{noun} whose results for query {span.query!r} are not a list of documents."
        raise InputError(problem, source=label, line=line, code="missing-key")
    if not all(document.doc_id for document in span.documents):
        problem = f"a document without id or text in the results of query {span.query!r}."
        raise InputError(problem, source=label, line=line, code="invalid-id")


def _make_run(name: str, spans: Sequence[_LineSpan], label: str) -> Run:
    """The run of some spans: by their scores, or by the order if scores rise or are missing."""
    latest: dict[str, _LineSpan] = {}
    changed: dict[str, None] = {}
    for line_span in spans:
        query, documents = line_span.span.query, line_span.span.documents
        if query in latest and latest[query].span.documents != documents:
            changed[query] = None
        latest[query] = line_span
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    states: list[tuple[str, str, float | None, str | None]] = []
    for query, (line, span) in latest.items():
        documents = span.documents or []
        scores = [document.score for document in documents if document.score is not None]
        is_scored = len(scores) == len(documents) and scores == sorted(scores, reverse=True)
        rows += [
            (
                query,
                document.doc_id,
                document.score if is_scored and document.score is not None else -float(rank),
            )
            for rank, document in enumerate(documents, 1)
        ]
        lines += [line] * len(documents)
        state = "ok" if documents else "zero" if span.error is None else "failed"
        states.append((query, state, span.latency_ms, span.error))
    table = pl.DataFrame(
        rows, schema={"query_id": pl.String, "doc_id": pl.String, "score": pl.Float64}, orient="row"
    )
    queries = pl.DataFrame(states, schema=_QUERY_SCHEMA, orient="row")
    return Run(
        name,
        lambda: iter([table]),
        queries=queries if queries["error"].null_count() < len(queries) else queries.drop("error"),
        place=RowLocation(label, lines.__getitem__),
        cautions=_asked_again([*changed]),
    )


def _make_tool_run(name: str, spans: Sequence[_LineSpan], traces: _Traces, source: InputFile) -> Run:
    """The calls for each question in their order, as `tool_calls` has them; of its traces the last counts."""
    calls_by_task: dict[str, dict[str, list[_LineSpan]]] = {}
    for line_span in spans:
        trace = line_span.span.facts.get("trace", "")
        task = traces.fact(line_span.span, "question") or trace or source.stem
        calls_by_task.setdefault(task, {}).setdefault(trace, []).append(line_span)
    calls = GrowingRun(source)
    for task, calls_by_trace in calls_by_task.items():
        for position, (line, span) in enumerate([*calls_by_trace.values()][-1], 1):
            query = f"{task}#{position}"
            calls.ask(query, sequence=task, position=position, tool=span.name, latency_ms=span.latency_ms)
            arguments = span.query if isinstance(span.query, Mapping) else None
            calls.rank(query, call_text(span.name, arguments), 0.0, line)
    asked_again = [task for task, calls_by_trace in calls_by_task.items() if len(calls_by_trace) > 1]
    return replace(calls.task_run(), name=name, cautions=_asked_again(asked_again))


def _asked_again(queries: Sequence[str]) -> dict[str, str]:
    """The caution about queries of which one ranking of several counts."""
    if not queries:
        return {}
    text = f"{count_noun(len(queries), 'query was', 'queries were')} asked again with other results, such as"
    return {"asked-again": f"{text} {queries[0]!r}; the last results count"}


def _queries(traces: _Traces, rankings: Mapping[str, Sequence[Span]]) -> pl.DataFrame | None:
    """The queries, their last traces, and how often they were asked; facts that no query has are left out."""
    rows: dict[str, dict[str, str | None]] = {}
    ask_counts: dict[str, int] = {}
    for spans in rankings.values():
        asked_in_stage: dict[str, set[str]] = defaultdict(set)
        for number, span in enumerate(spans):
            moment = None if span.began is None else datetime.fromtimestamp(span.began, UTC).isoformat()
            facts = {name: traces.fact(span, name) or None for name in ("trace", "session", "user")}
            rows[span.query] = {"query_id": span.query, "text": span.query, **facts, "asked_at": moment}
            asked_in_stage[span.query].add(facts["trace"] or str(number))
        ask_counts |= {
            query: max(len(asks), ask_counts.get(query, 0)) for query, asks in asked_in_stage.items()
        }
    if not rows:
        return None
    frame = pl.DataFrame(
        [{**row, "asked": str(ask_counts[query])} for query, row in rows.items()],
        schema=dict.fromkeys((*next(iter(rows.values())), "asked"), pl.String),
    )
    return frame.select(name for name in frame.columns if frame[name].null_count() < len(frame))


def _documents(spans: Sequence[Span]) -> pl.DataFrame | None:
    texts: dict[str, str] = {}
    for document in (document for span in spans for document in span.documents or []):
        if document.text and document.text != document.doc_id:
            texts.setdefault(document.doc_id, document.text)
    return pl.DataFrame({"doc_id": [*texts], "text": [*texts.values()]}) if texts else None


def _read_ratings(
    traces: _Traces, spans: Sequence[Span], source: InputFile
) -> tuple[Ratings | None, list[str]]:
    """The feedback as ratings of a trace for its first query, and that which is no number."""
    queries: dict[str, str] = {}
    for span in spans:
        queries.setdefault(span.facts.get("trace", ""), span.query)
    ratings, unread = GrowingRatings(source), []
    for trace, query in queries.items():
        for feedback in traces.feedback.get(trace, []) if trace else []:
            if feedback.value is None:
                unread.append(f"{feedback.rater} of {trace}")
            else:
                ratings.add(
                    query, trace, feedback.rater, feedback.value, feedback.rater, comment=feedback.comment
                )
    return (ratings.ratings() if ratings.asked else None), unread


FORMAT = Format(
    name="traces",
    title="Traces of searches (OpenTelemetry, OpenInference, MLflow, LangSmith, Langfuse, Opik, Braintrust)",
    suffixes=(".jsonl", ".json"),
    sniff=sniff,
    read=read,
    table=jsonl.JsonlTable,  # for paths that the user names
    holds=("runs", "ratings", "queries", "documents"),
    detail=(
        "Each span of a retriever is a ranking: in OTLP as JSON, or in an object for each span or trace. The "
        "text of the query is its id. Documents are in their order, or by their scores if these fall; an id "
        "may be in metadata, and without any, the text is the id. Rerankers, tools, projects, and several "
        "retrievers of one trace are runs of their own, FILE:STAGE. Calls of tools are as in `tool-calls`; "
        "the task is the question of the trace. The time of a span is the latency of its query. Queries have "
        "their last trace, session, user and time, and how often they were asked, also as --tags; of "
        "rankings that differ, the last counts. Feedback and scores are ratings of a trace by the name of "
        "the score and its source; texts are passed over."
    ),
)
