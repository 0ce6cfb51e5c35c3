"""Answers of the TREC RAG track: sentences with their citations, perhaps with judged support."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, make_run
from rankgate.data.formats.format import Format
from rankgate.data.formats.writing import find_losses, format_data
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_text import describe_type, format_json, identifier, read_json_objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.notes import Loss
    from rankgate.data.streams.source import InputFile

_NAME = "trec-rag"
_TOPIC = ("topic_id", "narrative_id", "query_id")
_SENTENCES = ("answer", "responses")
_SUPPORT_GRADES = {"full": 2.0, "partial": 1.0, "no": 0.0, "fs": 2.0, "ps": 1.0, "ns": 0.0}
_QUERY_SCHEMA: dict[str, Any] = {
    "query_id": pl.String,
    "state": pl.String,
    "sequence": pl.String,
    "position": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with references, and sentences with citations."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    key_paths = find_key_paths(first_bytes)
    if "references[]" in key_paths and any(
        f"{name}[].citations" in key_paths for name in _SENTENCES
    ):
        return "an object with references, and sentences with citations"
    return None


def read(source: InputFile) -> FileContents:
    """A run with a ranking for each sentence, the topic being their task; judgments of support."""
    qrels = GrowingQrels(source.label)
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[str, str]] = []
    answers_by_task: dict[str, Any] = {}
    tag = None
    for line, value in read_json_objects(source):
        value_and_metadata = {**value, **(value.get("metadata") or {})}
        topic_id = next(
            (value_and_metadata[name] for name in _TOPIC if name in value_and_metadata), None
        )
        task = identifier(topic_id, "topic_id", source.label, line)
        if task in answers_by_task:
            problem = f"topic '{task}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        answers_by_task[task], tag = value, value_and_metadata.get("run_id", tag)
        references = [
            identifier(reference, "a reference", source.label, line)
            for reference in value.get("references") or []
        ]
        sentences = _read_sentences(value, source, line)
        for position, sentence in enumerate(sentences or [{}], 1):
            query = f"{task}#{position}"
            cited = _read_citations(sentence, references, source, line)
            pairs += [(query, doc) for doc in cited]
            rows.append(
                {
                    "query_id": query,
                    "state": "ok" if cited else "zero",
                    "sequence": task,
                    "position": float(position),
                    "cited": references,
                    "answered": float(bool(sentences)),
                }
            )
            qrels.ask(query)
            for doc, grade in _read_support(sentence, cited, source, line):
                qrels.add(query, doc, grade, f"line {line}", "")
    if not answers_by_task:
        raise InputError("there are no answers in it.", source=source.label, code="no-queries")
    judged, _ = qrels.qrels(source.stem)
    ids = [query for query, _ in pairs], [doc for _, doc in pairs]
    run = make_run(source.stem, *ids, None, label=source.label)
    run = replace(run, queries=pl.DataFrame(rows, schema=_QUERY_SCHEMA))
    return FileContents(
        qrels=judged if judged is not None and not judged.table.is_empty() else None,
        runs=(run,),
        extra={_NAME: {"answers": list(answers_by_task.values())}},
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The answers as they were; a run alone has no sentences.

    Raises:
        UsageError: contents of another format.
    """
    answers = format_data(contents, _NAME).get("answers")
    if answers is None:
        raise UsageError(
            "answers hold sentences, which no other format has; convert a file of answers.",
            code="unsupported-format",
        )
    out.writelines(format_json(answer).encode() + b"\n" for answer in answers)
    return find_losses(contents, _NAME, "qrels", "runs", "unjudged")


def _read_sentences(value: dict[str, Any], source: InputFile, line: int) -> list[dict[str, Any]]:
    sentences: Any = next((value[name] for name in _SENTENCES if value.get(name) is not None), [])
    if not isinstance(sentences, list) or not all(
        isinstance(sentence, dict) for sentence in sentences
    ):
        kind = describe_type(sentences)
        problem = f"the answer is {kind}, where a list of sentences (objects) is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return sentences


def _read_citations(
    sentence: dict[str, Any], references: list[str], source: InputFile, line: int
) -> list[str]:
    """The documents that a sentence cites: positions among references, ids, or ids with scores."""
    citations = sentence.get("citations") or []
    doc_ids: list[str] = []
    for citation in citations:
        if isinstance(citation, int) and not isinstance(citation, bool):
            if not 0 <= citation < len(references):
                problem = (
                    f"citation {citation}, and there are {len(references)} references (from 0)."
                )
                raise InputError(problem, source=source.label, line=line, code="wrong-shape")
            doc_ids.append(references[citation])
        else:
            doc_ids.append(identifier(citation, "a citation", source.label, line))
    return list(dict.fromkeys(doc_ids))


def _read_support(
    sentence: dict[str, Any], cited: list[str], source: InputFile, line: int
) -> list[tuple[str, float]]:
    """The judged support of each citation; empty without judgments."""
    support = sentence.get("support")
    if support is None:
        return []
    levels = support if isinstance(support, list) else [support]
    if len(levels) != len(cited):
        problem = f"{len(levels)} levels of support for {len(cited)} citations; give one for each."
        raise InputError(problem, source=source.label, line=line, code="wrong-shape")
    grades_of_citations: list[tuple[str, float]] = []
    for doc, level in zip(cited, levels, strict=True):
        if level is None:
            continue
        first_word = str(level).lower().split()[:1]
        grade = (
            level
            if level in {0, 1, 2}
            else _SUPPORT_GRADES.get(first_word[0] if first_word else "")
        )
        if grade is None:
            problem = f"support {level!r} is not one of 2, 1, 0, full, partial, no, FS, PS, NS."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        grades_of_citations.append((doc, float(grade)))
    return grades_of_citations


FORMAT = Format(
    name=_NAME,
    title="answers with citations (TREC RAG)",
    suffixes=(".jsonl",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs", "qrels"),
    loses="runs and judgments of other formats, which have no sentences",
    detail=(
        'An object a line: {"topic_id": ..., "references": [ids], "answer": [{"text": ..., '
        '"citations": [places in references, or ids]}]}; narrative_id and responses of other '
        "tracks are known. Each sentence is a ranking of what it cites, topic#1 the first, and the "
        "topic is their task. Judged support of each citation is a list support next to "
        "citations: 2 or full, 1 or partial, 0 or no; it is read as judgments: rankgate eval "
        "answers.jsonl answers.jsonl -m SupportP -m SupportR."
    ),
)
