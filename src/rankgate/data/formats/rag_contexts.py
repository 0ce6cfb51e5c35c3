"""Samples of RAGAS with their contexts, and trajectories of agents.

RAGAS has one sample per line, with the retrieved contexts and the reference contexts.
Trajectories are questions with several calls of a search, and the cited documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Loss, Note
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import (
    GrowingQrels,
    collect_document_rows,
    make_run,
    zero_states,
)
from rankgate.data.formats.format import Format
from rankgate.data.formats.format_writing import collect_grades, find_losses, ranking_by_query, rows_by_id
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.run import RUN_SCHEMA, Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import (
    describe_type,
    find_key_paths,
    format_json,
    identifier,
    number,
    read_document,
    read_json_objects,
)
from rankgate.data.text.text_values import BOM, normalize_text

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, Schema
    from rankgate.data.streams.source import InputFile


_RAGAS_NAME = "ragas"
_QUESTION = ("user_input", "question")
_RETRIEVED = (("retrieved_context_ids", "retrieved_contexts"), ("contexts",))
_REFERENCES = (("reference_context_ids", "reference_contexts"), ("ground_truth_contexts",))
_LISTS = frozenset(name for names in (*_RETRIEVED, *_REFERENCES) for name in names)


def sniff_ragas(first_bytes: bytes, name: str) -> str | None:
    """Objects with user_input (or question) and lists of contexts."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith((b"{", b"[")):
        return None
    key_paths = {path.removeprefix("[].") for path in find_key_paths(first_bytes)}
    has_question = any(name in key_paths and f"{name}[]" not in key_paths for name in _QUESTION)
    if has_question and key_paths & {f"{name}[]" for name in _LISTS}:
        return "objects with a question and lists of contexts"
    return None


def read_ragas(source: InputFile) -> FileContents:
    """A run of the retrieved contexts, judgments of the reference contexts, questions and texts.

    Without ids, the texts of questions and contexts are the ids; a question that is asked again is
    another sample, with the number of the sample in its id.
    """
    return _read(source, normalize=False)


def _never_detect(_head: bytes, _name: str) -> None:
    """Never: the same files are ``ragas``."""


def read_normalized(source: InputFile) -> FileContents:
    """As `read`; without ids the id of a context is its normalized text."""
    return _read(source, normalize=True)


def _read(source: InputFile, *, normalize: bool) -> FileContents:
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str]] = []
    lines: list[int] = []
    has_references, unreferenced_line = False, 0  # the line of the first sample without references
    queries: dict[str, dict[str, str | None]] = {}
    fields: list[dict[str, str | None]] = []
    question_counts: Counter[str] = Counter()
    for line, value in _read_samples(source):
        text = next((value[name] for name in _QUESTION if value.get(name)), None)
        query = identifier(value.get("query_id", text), "the question", source.label, line)
        if query in queries and "query_id" not in value:
            question_counts[query] += 1
            query = f"{query} (sample {question_counts[query] + 1})"
        if query in queries:
            problem = f"question '{query}' is already in an earlier line; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        text_fields = {
            name: field_value for name, field_value in value.items() if isinstance(field_value, str)
        }
        queries[query] = {"query_id": query, "text": text if isinstance(text, str) else None} | {
            name: field_value
            for name, field_value in text_fields.items()
            if name not in {"query_id", *_QUESTION}
        }
        for doc, content in _read_contexts(value, _RETRIEVED, source, line, normalize=normalize):
            pairs.append((query, doc))
            lines.append(line)
            fields.append({"query_id": query, "doc_id": doc, "text": content})
        if all(value.get(name) is None for group in _REFERENCES for name in group):
            unreferenced_line = unreferenced_line or line
            continue
        has_references = True
        qrels.ask(query)
        references = _read_contexts(value, _REFERENCES, source, line, normalize=normalize)
        for doc, content in dict(references).items():
            qrels.add(query, doc, 1, f"line {line}", "")
            fields.append({"query_id": query, "doc_id": doc, "text": content})
    if not queries:
        raise InputError("there are no samples in it.", source=source.label, code="no-queries")
    if has_references and unreferenced_line:
        problem = (
            "the sample has no reference_contexts, but others have; add them, or [] if no context is "
            "relevant."
        )
        raise InputError(problem, source=source.label, line=unreferenced_line, code="missing-key")
    empty_states = zero_states(query for query in queries if query not in {query_id for query_id, _ in pairs})
    run = make_run(
        source.stem,
        [query for query, _ in pairs],
        [doc for _, doc in pairs],
        None,
        label=source.label,
        states=empty_states,
        lines=lines,
    )
    documents_with_text = [document for document in fields if document["text"] is not None]
    return FileContents(
        qrels=qrels.qrels(source.stem)[0] if has_references else None,
        runs=(run,),
        queries=string_table(list(queries.values())),
        documents=collect_document_rows(documents_with_text) if documents_with_text else None,
        notes=(_asked_again(question_counts),) if question_counts else (),
    )


def _asked_again(counts: Counter[str]) -> Note:
    return Note("questions that are asked again, each another sample", counts.total(), tuple(counts)[:3])


def write_ragas(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query: its question, the first run's contexts, the relevant ones.

    Raises:
        InputError: there are neither judgments nor a run.
    """
    run = contents.runs[0] if contents.runs else None
    if run is None and contents.qrels is None:
        contents.judgments("")
    grades = collect_grades(contents.qrels) if contents.qrels else {}
    lists = ranking_by_query(run) if run else {}
    query_fields, texts = rows_by_id(contents.queries, "query_id"), _document_texts(contents)
    for query in dict.fromkeys([*lists, *grades]):
        fields = query_fields.get(query, {})
        sample: dict[str, Json] = {"user_input": fields.get("text", query)}
        if sample["user_input"] != query:
            sample["query_id"] = query
        retrieved_docs = [doc for doc, _ in lists.get(query, [])]
        relevant_docs = [doc for doc, grade in grades.get(query, {}).items() if grade > 0]
        for name, docs, source_part in (
            ("retrieved", retrieved_docs, run),
            ("reference", relevant_docs, contents.qrels),
        ):
            if source_part is not None:
                sample[f"{name}_context_ids"] = docs
                sample[f"{name}_contexts"] = [texts.get(doc, doc) for doc in docs]
        sample |= {
            name: field_value for name, field_value in fields.items() if name not in {"query_id", "text"}
        }
        out.write(format_json(sample).encode() + b"\n")
    return (
        *find_losses(contents, _RAGAS_NAME, "qrels", "runs", "queries", "documents", "unjudged", runs=1),
        *(_grade_losses(grades) if contents.qrels else ()),
        *(run_losses(run) if run else ()),
    )


def _read_samples(source: InputFile) -> Iterator[tuple[int, dict[str, Json]]]:
    """The samples of JSON lines or of a list."""
    if not source.head().removeprefix(BOM).lstrip().startswith(b"["):
        yield from read_json_objects(source)
        return
    for position, value in enumerate(read_document(source), 1):
        if not isinstance(value, dict):
            problem = f"sample {position} is {describe_type(value)}, where an object is needed."
            raise InputError(problem, source=source.label, code="wrong-type")
        yield position, value


def _read_contexts(
    value: dict[str, Json],
    names: tuple[tuple[str, ...], ...],
    source: InputFile,
    line: int,
    *,
    normalize: bool,
) -> list[tuple[str, str | None]]:
    """The contexts of a sample: ids and texts, or texts used as ids."""
    for group in names:
        lists: list[list[Json]] = []
        for contexts in (value[name] for name in group if value.get(name) is not None):
            if not isinstance(contexts, list):
                problem = f"contexts are {describe_type(contexts)}, where a list is needed."
                raise InputError(problem, source=source.label, line=line, code="wrong-type")
            lists.append(contexts)
        if lists:
            ids = [identifier(context, "a context", source.label, line) for context in lists[0]]
            texts = lists[-1]
            if len(texts) != len(ids):
                problem = (
                    f"{count_noun(len(ids), 'id')} of contexts and "
                    f"{count_noun(len(texts), 'text')}; give one for each."
                )
                raise InputError(problem, source=source.label, line=line, code="wrong-shape")
            has_texts = len(lists) > 1 or not group[0].endswith("_ids")
            texts_or_none = [context if isinstance(context, str) and has_texts else None for context in texts]
            has_ids = group[0].endswith("_ids") and value.get(group[0]) is not None
            if normalize and not has_ids:
                texts_or_none = [text if isinstance(text, str) else None for text in texts]
                ids = [" ".join(normalize_text(text).split()) or text for text in ids]
            return list(zip(ids, texts_or_none, strict=True))
    return []


def _document_texts(contents: FileContents) -> dict[str, str]:
    rows = rows_by_id(contents.documents, "doc_id")
    return {doc: fields["text"] for doc, fields in rows.items() if "text" in fields}


def _grade_losses(grades: dict[str, dict[str, float]]) -> tuple[Loss, ...]:
    """Report grades other than 1, which the format cannot hold."""
    other_grades = [
        f"{query} {doc}"
        for query, grade_of_doc in grades.items()
        for doc, grade in grade_of_doc.items()
        if grade != 1
    ]
    return Loss.of("grades other than 1", other_grades)


RAGAS_FORMAT = Format(
    name=_RAGAS_NAME,
    title="samples of RAGAS",
    suffixes=(".jsonl", ".json"),
    sniff=sniff_ragas,
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
    read=read_normalized,
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
_QUERY_SCHEMA: Schema = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "sequence": pl.String,
    "position": pl.Float64,
    "tokens": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
}


_NO_COST = {"tokens": 0.0, "latency_ms": 0.0}
"""The cost of a question without calls."""


def sniff_trajectories(first_bytes: bytes, name: str) -> str | None:
    """An object with a query_id and calls."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    key_paths = find_key_paths(first_bytes)
    if "query_id" in key_paths and "calls[]" in key_paths:
        return "an object with query_id and calls"
    return None


def read_trajectories(source: InputFile) -> FileContents:
    """A run with a ranking per call, whose task is the question; and evidence as judgments."""
    qrels, has_judgments = GrowingQrels(source.label), False
    calls: list[dict[str, Json]] = []
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    queries: dict[str, Json] = {}
    for line, value in read_json_objects(source):
        task = identifier(value.get("query_id"), "query_id", source.label, line)
        if task in queries:
            problem = f"question '{task}' is already in an earlier line; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[task] = value.get("query")
        cited = _require_list(value.get("cited") or [], "cited", source, line)
        task_fields = {
            "sequence": task,
            "cited": [identifier(doc_id, "a document cited", source.label, line) for doc_id in cited],
            "answered": _read_answered(value, source, line),
        }
        call_list = _require_list(value.get("calls"), "calls", source, line)
        for position, call in enumerate(call_list or [{}], 1):
            ranked = _read_documents(call, source, line) if call_list else []
            query = f"{task}#{position}"
            rows += [(query, doc, score) for doc, score in ranked]
            lines += [line] * len(ranked)
            calls.append(
                {
                    **task_fields,
                    "query_id": query,
                    "position": position,
                    "state": "ok" if ranked else "zero",
                    **(_read_cost(call, source, line) if call_list else _NO_COST),
                }
            )
        if "evidence" in value or value.get("answerable") is False:
            has_judgments = True
            qrels.ask(task)
            for doc, grade in _read_evidence(value, source, line):
                qrels.add(task, doc, grade, f"line {line}", "")
    if not queries:
        raise InputError("there are no questions in it.", source=source.label, code="no-queries")
    table = pl.DataFrame(rows, schema=RUN_SCHEMA, orient="row")
    run = Run(
        source.stem,
        lambda: iter([table]),
        queries=pl.DataFrame(calls, schema=_QUERY_SCHEMA),
        place=RowLocation(source.label, lines.__getitem__),
    )
    text_rows = [(query, text) for query, text in queries.items() if isinstance(text, str)]
    return FileContents(
        qrels=qrels.qrels(source.stem)[0] if has_judgments else None,
        runs=(run,),
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row") if text_rows else None,
    )


def _require_list(value: Json, name: str, source: InputFile, line: int) -> list[Any]:
    if not isinstance(value, list):
        problem = f"'{name}' is {describe_type(value)}, where a list is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return value


def _read_answered(value: dict[str, Json], source: InputFile, line: int) -> float | None:
    """Map an answer to 1 and a refusal to 0; None if it is unknown."""
    if "answered" not in value:
        return None if "answer" not in value else float(bool(value["answer"]))
    if not isinstance(value["answered"], bool):
        problem = f"answered is {describe_type(value['answered'])}, where true or false is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return float(value["answered"])


def _read_documents(call: object, source: InputFile, line: int) -> list[tuple[str, float]]:
    """The documents of a call with scores: their own scores, or by their order."""
    document_list = (
        next((call[name] for name in _DOCUMENTS if name in call), None) if isinstance(call, dict) else None
    )
    documents: list[tuple[str, float]] = []
    for position, document in enumerate(_require_list(document_list, "documents", source, line), 1):
        fields = document if isinstance(document, dict) else {"doc_id": document}
        doc = identifier(fields.get("doc_id", fields.get("id")), "a document", source.label, line)
        value = fields.get("score")
        score = -float(position) if value is None else number(value, "score", source.label, line)
        documents.append((doc, score))
    return documents


def _read_cost(call: object, source: InputFile, line: int) -> dict[str, float | None]:
    """The tokens and the milliseconds of a call, if known."""
    costs: dict[str, float | None] = {"tokens": None, "latency_ms": None}
    for name, column, factor in (("tokens", "tokens", 1), ("seconds", "latency_ms", 1000)):
        if isinstance(call, dict) and call.get(name) is not None:
            value = number(call[name], name, source.label, line)
            if value < 0:
                problem = f"{name} {value:g} is less than 0."
                raise InputError(problem, source=source.label, line=line, code="not-a-number")
            costs[column] = value * factor
    return costs


def _read_evidence(value: dict[str, Json], source: InputFile, line: int) -> list[tuple[Json, Json]]:
    """Evidence as documents of grade 1, or with their grades."""
    evidence = value.get("evidence") or []
    if isinstance(evidence, dict):
        return list(evidence.items())
    return [(doc_id, 1) for doc_id in _require_list(evidence, "evidence", source, line)]


TRAJECTORIES_FORMAT = Format(
    name=_TRAJECTORIES_NAME,
    title="trajectories of agents that search in several calls",
    suffixes=(".jsonl",),
    sniff=sniff_trajectories,
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
