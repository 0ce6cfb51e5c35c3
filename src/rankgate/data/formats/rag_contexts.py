"""Samples of RAGAS with their contexts, and trajectories of agents.

RAGAS has one sample per line, with the retrieved contexts and the reference contexts.
Trajectories are questions with several calls of a search, and the cited documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Loss, Note
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import Collector, GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    ranking_by_query,
    rows_by_id,
    write_json_lines,
)
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.text.json_text import (
    JsonRecord,
    describe_type,
    detect_keys,
    number,
    read_document,
    read_line_records,
    read_query_lines,
)
from rankgate.data.text.text_values import BOM, normalize_text

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_RAGAS_NAME = "ragas"
_QUESTION = ("user_input", "question")
_RETRIEVED = (("retrieved_context_ids", "retrieved_contexts"), ("contexts",))
_REFERENCES = (("reference_context_ids", "reference_contexts"), ("ground_truth_contexts",))
_LISTS = frozenset(name for names in (*_RETRIEVED, *_REFERENCES) for name in names)


def _paths(names: Iterable[str], end: str = "") -> str:
    """The paths of keys in an object or in a list of objects, for `detect_keys`."""
    return "|".join(f"{parent}{name}{end}" for parent in ("", "[].") for name in names)


def _never_detect(_head: bytes, _name: str) -> None:
    """Never: the same files are ``ragas``."""


def read_ragas(source: InputFile, *, normalize: bool = False) -> FileContents:
    """A run of the retrieved contexts, judgments of the reference contexts, questions and texts.

    Without ids, the texts of questions and contexts are the ids; a question that is asked again is
    another sample, with the number of the sample in its id.

    Args:
        source: the file.
        normalize: True if the id of a context without an id is its normalized text.
    """
    qrels, ranked = GrowingQrels(source), GrowingRun(source)
    unreferenced: JsonRecord | None = None  # the first sample without references
    question_counts: Counter[str] = Counter()
    for sample in _read_samples(source):
        text = next((sample[name] for name in _QUESTION if sample.get(name)), None)
        query = _question_id(sample, text, ranked.asked, question_counts)
        other_texts = sample.values_except("query_id", *_QUESTION)
        fields = {name: field for name, field in other_texts.items() if isinstance(field, str)}
        ranked.ask(query, **{"text": text if isinstance(text, str) else None, **fields})
        contexts = _read_contexts(sample, _RETRIEVED, normalize=normalize)
        for doc, _ in contexts:
            ranked.rank(query, doc, line=sample.line)
        if all(sample.get(name) is None for group in _REFERENCES for name in group):
            unreferenced = unreferenced or sample
        else:
            qrels.ask(query)
            references = dict(_read_contexts(sample, _REFERENCES, normalize=normalize))
            for doc in references:
                qrels.add(query, doc, 1, sample.location_text)
            contexts += references.items()
        for doc, content in contexts:
            if content is not None:
                ranked.describe(query, doc, {"text": content})
    if not ranked.asked:
        raise InputError("there are no samples in it.", source=source.label, code="no-queries")
    if qrels.asked and unreferenced is not None:
        problem = (
            "the sample has no reference_contexts, but others have; add them, or [] if no context is "
            "relevant."
        )
        raise unreferenced.error(problem, "missing-key")
    note_text = "questions that are asked again, each another sample"
    return FileContents(
        qrels=qrels.qrels()[0],
        runs=(ranked.run(),),
        queries=string_table(ranked.query_rows(), ("query_id", "text")),
        documents=ranked.documents(),
        notes=(Note(note_text, question_counts.total(), tuple(question_counts)[:3]),)
        if question_counts
        else (),
    )


def _question_id(
    sample: JsonRecord, text: Json, queries: Container[str], question_counts: Counter[str]
) -> str:
    """The id of a sample; a question that is asked again gets the number of its sample."""
    query = sample.as_id(sample.get("query_id", text), "the question")
    if query in queries and "query_id" not in sample:
        question_counts[query] += 1
        query = f"{query} (sample {question_counts[query] + 1})"
    if query in queries:
        problem = f"question '{query}' is already in an earlier line; keep one."
        raise sample.error(problem, "duplicate-query")
    return query


def write_ragas(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query: its question, the first run's contexts, the relevant ones.

    Raises:
        InputError: there are neither judgments nor a run.
    """
    run = contents.runs[0] if contents.runs else None
    if run is None and contents.qrels is None:
        contents.judgments("")
    grades = collect_grades(contents.qrels) if contents.qrels else {}
    rankings = ranking_by_query(run) if run else {}
    query_fields = rows_by_id(contents.queries, "query_id")
    documents = rows_by_id(contents.documents, "doc_id")
    samples: list[JsonObject] = []
    for query in dict.fromkeys([*rankings, *grades]):
        fields = query_fields.get(query, {})
        question = fields.pop("text", query)
        sample: dict[str, Json] = {"user_input": question}
        sample |= {"query_id": query} if question != query else {}
        docs_by_kind = {} if run is None else {"retrieved": [doc for doc, _ in rankings.get(query, [])]}
        if contents.qrels is not None:
            grade_of_doc = grades.get(query, {})
            docs_by_kind["reference"] = [doc for doc, grade in grade_of_doc.items() if grade > 0]
        for kind, docs in docs_by_kind.items():
            sample[f"{kind}_context_ids"] = docs
            sample[f"{kind}_contexts"] = [documents.get(doc, {}).get("text", doc) for doc in docs]
        samples.append({**sample, **{name: text for name, text in fields.items() if name != "query_id"}})
    write_json_lines(out, samples)
    other_grades = (
        f"{query} {doc}"
        for query, grade_of_doc in grades.items()
        for doc, grade in grade_of_doc.items()
        if grade != 1
    )
    kept_parts = ("qrels", "runs", "queries", "documents", "unjudged")
    return (
        *find_losses(contents, _RAGAS_NAME, *kept_parts, runs=1),
        *Loss.of("grades other than 1", other_grades),
        *(run_losses(run) if run else ()),
    )


def _read_samples(source: InputFile) -> Iterator[JsonRecord]:
    """The samples of JSON lines or of a list."""
    if not source.head().removeprefix(BOM).lstrip().startswith(b"["):
        yield from read_line_records(source)
        return
    for position, sample in enumerate(read_document(source), 1):
        if not isinstance(sample, dict):
            problem = f"sample {position} is {describe_type(sample)}, where an object is needed."
            raise InputError(problem, source=source.label, code="wrong-type")
        yield JsonRecord(sample, source.label, line=position)


def _read_contexts(
    sample: JsonRecord, names: tuple[tuple[str, ...], ...], *, normalize: bool
) -> list[tuple[str, str | None]]:
    """The contexts of a sample: ids and texts, or texts used as ids."""
    for group in names:
        lists = [sample[name] for name in group if sample.get(name) is not None]
        for contexts in lists:
            if not isinstance(contexts, list):
                raise sample.error(f"contexts are {describe_type(contexts)}, where a list is needed.")
        if not lists:
            continue
        ids, texts = [sample.as_id(context, "a context") for context in lists[0]], lists[-1]
        if len(texts) != len(ids):
            problem = (
                f"{count_noun(len(ids), 'id')} of contexts and "
                f"{count_noun(len(texts), 'text')}; give one for each."
            )
            raise sample.error(problem, "wrong-shape")
        has_ids = group[0].endswith("_ids") and sample.get(group[0]) is not None
        is_normalized = normalize and not has_ids
        has_texts = len(lists) > 1 or not group[0].endswith("_ids") or is_normalized
        if is_normalized:
            ids = [" ".join(normalize_text(text).split()) or text for text in ids]
        texts_or_none = (text if isinstance(text, str) and has_texts else None for text in texts)
        return list(zip(ids, texts_or_none, strict=True))
    return []


RAGAS_FORMAT = Format(
    name=_RAGAS_NAME,
    title="samples of RAGAS",
    suffixes=(".jsonl", ".json"),
    sniff=detect_keys(
        (
            "objects with a question and lists of contexts",
            _paths(_QUESTION),
            f"!{_paths(_QUESTION, '[]')}",
            _paths(_LISTS, "[]"),
        )
    ),
    read=read_ragas,
    write=write_ragas,
    holds=("runs", "qrels", "queries", "documents"),
    loses="grades other than 1, ratings; all runs but the first, its scores",
    detail=(
        "An object a line, or a list of them: user_input, retrieved_contexts and reference_contexts, with "
        "retrieved_context_ids and reference_context_ids if there are any; question, contexts and "
        "ground_truth_contexts of older versions are known. The retrieved contexts are a run, and the "
        "reference contexts are judgments of grade 1, so one file can be both: rankgate eval samples.jsonl "
        "samples.jsonl. Without ids, questions and contexts are their own ids: a context retrieved is "
        "relevant only if a reference has its exact text; give ids where spellings differ, or convert the "
        "file --from ragas-normalized. Either all samples have references, or no sample has; [] means that "
        "no document is relevant. query_id is kept if present."
    ),
)

NORMALIZED = replace(
    RAGAS_FORMAT,
    name="ragas-normalized",
    title="samples of RAGAS, with contexts that match by their normalized text",
    sniff=_never_detect,
    read=partial(read_ragas, normalize=True),
    write=None,
    detail=(
        "As ragas, for files without ids of contexts, and only where --from names it: contexts match without "
        "regard to case, white space, Unicode form, typographic quotes and hyphens, ligatures and soft "
        "hyphens. A context retrieved in two spellings is retrieved twice, which the axis duplicates of the "
        "convention decides."
    ),
)


_TRAJECTORIES_NAME = "trajectories"
_DOCUMENTS = ("documents", "docs", "results")
_NO_COST = {"tokens": 0.0, "latency_ms": 0.0}
"""The cost of a question without calls."""


def read_trajectories(source: InputFile) -> FileContents:
    """A run with a ranking per call, whose task is the question; and evidence as judgments."""
    qrels, ranked, questions = GrowingQrels(source), GrowingRun(source), Collector(source)
    for task, record in read_query_lines(
        source, lambda record: record.as_id(record.get("query_id"), "query_id"), "question", "questions"
    ):
        questions.ask(task, text=record.get("query"))
        cited = record.as_list(record.get("cited") or [], "cited")
        task_fields = {
            "sequence": task,
            "cited": [record.as_id(doc_id, "a document cited") for doc_id in cited],
            "answered": _read_answered(record),
        }
        call_list = record.as_list(record.get("calls"), "calls")
        for position, call in enumerate(call_list or [{}], 1):
            call_record = JsonRecord(call if isinstance(call, dict) else {}, source.label, line=record.line)
            query = f"{task}#{position}"
            documents = _read_documents(call_record) if call_list else []
            cost = read_cost(call_record) if call_list else _NO_COST
            ranked.ask(query, **task_fields, **cost, position=position)
            for doc, score in documents:
                ranked.rank(query, doc, score, record.line)
        if "evidence" in record or record.get("answerable") is False:
            qrels.ask(task)
            evidence = record.get("evidence") or []
            if isinstance(evidence, dict):
                qrels.add_grades(task, JsonRecord(evidence, source.label, line=record.line))
            else:
                for doc in record.as_list(evidence, "evidence"):
                    qrels.add(task, doc, 1, record.location_text)
    return FileContents(qrels=qrels.qrels()[0], runs=(ranked.task_run(),), queries=questions.texts())


def _read_answered(record: JsonRecord) -> float | None:
    """Map an answer to 1 and a refusal to 0; None if it is unknown."""
    if "answered" not in record:
        return None if "answer" not in record else float(bool(record["answer"]))
    if not isinstance(record["answered"], bool):
        problem = f"answered is {describe_type(record['answered'])}, where true or false is needed."
        raise record.error(problem)
    return float(record["answered"])


def _read_documents(call: JsonRecord) -> list[tuple[str, float]]:
    """The documents of a call with scores: their own scores, or by their order."""
    document_list = next((call[name] for name in _DOCUMENTS if name in call), None)
    documents: list[tuple[str, float]] = []
    for position, document in enumerate(call.as_list(document_list, "documents"), 1):
        fields = document if isinstance(document, dict) else {"doc_id": document}
        doc, score = call.as_id(fields.get("doc_id", fields.get("id")), "a document"), fields.get("score")
        own_score = -position if score is None else number(score, "score", call.label, call.line)
        documents.append((doc, float(own_score)))
    return documents


def read_cost(call: JsonRecord) -> dict[str, float | None]:
    """The tokens and the milliseconds of a call, if known."""
    tokens, seconds = call.number("tokens"), call.number("seconds")
    for name, cost in (("tokens", tokens), ("seconds", seconds)):
        if cost is not None and cost < 0:
            raise call.error(f"{name} {cost:g} is less than 0.", "not-a-number")
    return {"tokens": tokens, "latency_ms": None if seconds is None else seconds * 1000}


TRAJECTORIES_FORMAT = Format(
    name=_TRAJECTORIES_NAME,
    title="trajectories of agents that search in several calls",
    suffixes=(".jsonl",),
    sniff=detect_keys(("an object with query_id and calls", "query_id", "calls[]")),
    read=read_trajectories,
    holds=("runs", "qrels", "queries"),
    detail=(
        'An object a question: {"query_id": ..., "query": ..., "calls": [{"query": ..., "documents": [ids, '
        'or {"doc_id", "score"}], "tokens": ..., "seconds": ...}], "cited": [ids], "answered": true or '
        'false, "evidence": [ids] or {id: grade}}; all but query_id and calls can be left out. Each call is '
        "a ranking, query_id#1 the first, and the question is their task. Evidence is judgments of the "
        "question, so that one file can be both; a question with an empty list of evidence has no answer."
    ),
)
