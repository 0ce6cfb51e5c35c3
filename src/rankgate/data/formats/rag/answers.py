"""Answers of the TREC RAG track: sentences with their citations, perhaps with judged support."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.writing import lost, own
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import dumped, identifier, kind, objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.notes import Loss
    from rankgate.data.streams.source import InputFile

_NAME = "trec-rag"
_TOPIC = ("topic_id", "narrative_id", "query_id")
_SENTENCES = ("answer", "responses")
_SUPPORT = {"full": 2.0, "partial": 1.0, "no": 0.0, "fs": 2.0, "ps": 1.0, "ns": 0.0}
_KNOWN: dict[str, Any] = {
    "query_id": pl.String,
    "state": pl.String,
    "sequence": pl.String,
    "position": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
}


def sniff(head: bytes, name: str) -> str | None:
    """An object with references, and sentences with citations."""
    if not head.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    found = keys(head)
    if "references[]" in found and any(f"{each}[].citations" in found for each in _SENTENCES):
        return "an object with references, and sentences with citations"
    return None


def read(source: InputFile) -> FileContents:
    """A run whose rankings are sentences, the topic being their task; judgments of support."""
    qrels = GrowingQrels(source.label)
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[str, str]] = []
    kept: dict[str, Any] = {}
    tag = None
    for line, value in objects(source):
        inside = {**value, **(value.get("metadata") or {})}
        topic = next((inside[name] for name in _TOPIC if name in inside), None)
        task = identifier(topic, "topic_id", source.label, line)
        if task in kept:
            problem = f"topic '{task}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        kept[task], tag = value, inside.get("run_id", tag)
        references = [
            identifier(each, "a reference", source.label, line)
            for each in value.get("references") or []
        ]
        sentences = _sentences(value, source, line)
        for place, sentence in enumerate(sentences or [{}], 1):
            query = f"{task}#{place}"
            cited = _cited(sentence, references, source, line)
            pairs += [(query, doc) for doc in cited]
            rows.append(
                {
                    "query_id": query,
                    "state": "ok" if cited else "zero",
                    "sequence": task,
                    "position": float(place),
                    "cited": references,
                    "answered": float(bool(sentences)),
                }
            )
            qrels.ask(query)
            for doc, grade in _support(sentence, cited, source, line):
                qrels.add(query, doc, grade, f"line {line}", "")
    if not kept:
        raise InputError("there are no answers in it.", source=source.label, code="no-queries")
    judged, _ = qrels.qrels(source.stem)
    ids = [query for query, _ in pairs], [doc for _, doc in pairs]
    run = ranked(source.stem, *ids, None, label=source.label)
    run = replace(run, queries=pl.DataFrame(rows, schema=_KNOWN))
    return FileContents(
        qrels=judged if judged is not None and not judged.table.is_empty() else None,
        runs=(run,),
        extra={_NAME: {"answers": list(kept.values())}},
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The answers as they were; a run alone has no sentences.

    Raises:
        UsageError: contents of another format.
    """
    answers = own(contents, _NAME).get("answers")
    if answers is None:
        raise UsageError(
            "answers hold sentences, which no other format has; convert a file of answers.",
            code="unsupported-format",
        )
    out.writelines(dumped(each).encode() + b"\n" for each in answers)
    return lost(contents, _NAME, "qrels", "runs", "unjudged")


def _sentences(value: dict[str, Any], source: InputFile, line: int) -> list[dict[str, Any]]:
    found: Any = next((value[name] for name in _SENTENCES if value.get(name) is not None), [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        problem = f"the answer is {kind(found)}, where a list of sentences (objects) is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return found


def _cited(
    sentence: dict[str, Any], references: list[str], source: InputFile, line: int
) -> list[str]:
    """The documents that a sentence cites: places among references, ids, or ids with scores."""
    given = sentence.get("citations") or []
    found: list[str] = []
    for each in given:
        if isinstance(each, int) and not isinstance(each, bool):
            if not 0 <= each < len(references):
                problem = f"citation {each}, and there are {len(references)} references (from 0)."
                raise InputError(problem, source=source.label, line=line, code="wrong-shape")
            found.append(references[each])
        else:
            found.append(identifier(each, "a citation", source.label, line))
    return list(dict.fromkeys(found))


def _support(
    sentence: dict[str, Any], cited: list[str], source: InputFile, line: int
) -> list[tuple[str, float]]:
    """The judged support of each citation; nothing where nobody judged."""
    given = sentence.get("support")
    if given is None:
        return []
    levels = given if isinstance(given, list) else [given]
    if len(levels) != len(cited):
        problem = f"{len(levels)} levels of support for {len(cited)} citations; give one for each."
        raise InputError(problem, source=source.label, line=line, code="wrong-shape")
    found: list[tuple[str, float]] = []
    for doc, level in zip(cited, levels, strict=True):
        if level is None:
            continue
        words = str(level).lower().split()[:1]
        grade = level if level in {0, 1, 2} else _SUPPORT.get(words[0] if words else "")
        if grade is None:
            problem = f"support {level!r} is not one of 2, 1, 0, full, partial, no, FS, PS, NS."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        found.append((doc, float(grade)))
    return found


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
