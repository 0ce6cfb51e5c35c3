"""Answers of the TREC RAG track with their citations, and AutoNuggetizer's nuggets.

Answers are sentences with their citations, optionally with judged support. Nuggets belong to
queries, with their assignments to an answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import polars as pl

from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Loss
from rankgate.data.formats.collected_judgments import GrowingQrels, make_run
from rankgate.data.formats.format import Format
from rankgate.data.formats.format_writing import (
    collect_grades,
    column_losses,
    find_losses,
    format_data,
    ranking_by_query,
    texts_by_query,
)
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.text.json_text import (
    describe_type,
    find_key_paths,
    format_json,
    identifier,
    read_json_objects,
)
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject, Schema
    from rankgate.data.streams.source import InputFile

T = TypeVar("T")

_TREC_RAG_NAME = "trec-rag"
_TOPIC = ("topic_id", "narrative_id", "query_id")
_SENTENCES = ("answer", "responses")
_SUPPORT_GRADES = {"full": 2.0, "partial": 1.0, "no": 0.0, "fs": 2.0, "ps": 1.0, "ns": 0.0}
_QUERY_SCHEMA: Schema = {
    "query_id": pl.String,
    "state": pl.String,
    "sequence": pl.String,
    "position": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
}


def sniff_trec_rag(first_bytes: bytes, name: str) -> str | None:
    """An object with references, and sentences with citations."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    key_paths = find_key_paths(first_bytes)
    if "references[]" in key_paths and any(f"{name}[].citations" in key_paths for name in _SENTENCES):
        return "an object with references, and sentences with citations"
    return None


def read_trec_rag(source: InputFile) -> FileContents:
    """A run with a ranking for each sentence, whose task is the topic; and judgments of support."""
    qrels = GrowingQrels(source.label)
    rows: list[dict[str, Json]] = []
    pairs: list[tuple[str, str]] = []
    answers_by_task: dict[str, Json] = {}
    tag = None
    for line, value in read_json_objects(source):
        value_and_metadata = {**value, **_read_member(value, "metadata", dict, source, line)}
        topic_id = next((value_and_metadata[name] for name in _TOPIC if name in value_and_metadata), None)
        task = identifier(topic_id, "topic_id", source.label, line)
        if task in answers_by_task:
            problem = f"topic '{task}' is already in an earlier line; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        answers_by_task[task], tag = value, value_and_metadata.get("run_id", tag)
        references = [
            identifier(reference, "a reference", source.label, line)
            for reference in _read_member(value, "references", list, source, line)
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
        extra={_TREC_RAG_NAME: {"answers": list(answers_by_task.values())}},
    )


def write_trec_rag(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The answers in their original form; a run alone has no sentences.

    Raises:
        UsageError: the contents come from another format.
    """
    answers = format_data(contents, _TREC_RAG_NAME).get("answers")
    if answers is None:
        raise UsageError(
            "sentences exist only in formats of answers; convert a file of answers.",
            code="unsupported-format",
        )
    out.writelines(format_json(answer).encode() + b"\n" for answer in answers)
    return find_losses(contents, _TREC_RAG_NAME, "qrels", "runs", "unjudged")


def _read_sentences(value: dict[str, Json], source: InputFile, line: int) -> list[dict[str, Json]]:
    sentences: Any = next((value[name] for name in _SENTENCES if value.get(name) is not None), [])
    if not isinstance(sentences, list) or not all(isinstance(sentence, dict) for sentence in sentences):
        kind = describe_type(sentences)
        problem = f"the answer is {kind}, where a list of sentences (objects) is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return sentences


def _read_member(table: JsonObject, key: str, kind: type[T], source: InputFile, line: int) -> T:
    """The object or the list under a key; empty if it is missing or null."""
    value = table.get(key)
    if not value:
        return kind()
    if not isinstance(value, kind):
        needed = "a list" if kind is list else "an object"
        problem = f"'{key}' is {describe_type(value)}, where {needed} is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return value


def _read_citations(
    sentence: dict[str, Json], references: list[str], source: InputFile, line: int
) -> list[str]:
    """The documents that a sentence cites: positions in the references, ids, or ids with scores."""
    citations = sentence.get("citations")
    if not isinstance(citations, dict):
        citations = _read_member(sentence, "citations", list, source, line)
    doc_ids: list[str] = []
    for citation in citations:
        if isinstance(citation, int) and not isinstance(citation, bool):
            if not 0 <= citation < len(references):
                problem = (
                    f"citation {citation} is out of range: there are "
                    f"{count_noun(len(references), 'reference')}, counted from 0."
                )
                raise InputError(problem, source=source.label, line=line, code="wrong-shape")
            doc_ids.append(references[citation])
        else:
            doc_ids.append(identifier(citation, "a citation", source.label, line))
    return list(dict.fromkeys(doc_ids))


def _read_support(
    sentence: dict[str, Json], cited: list[str], source: InputFile, line: int
) -> list[tuple[str, float]]:
    """The judged support of each citation; empty if there are no judgments."""
    support = sentence.get("support")
    if support is None:
        return []
    levels = support if isinstance(support, list) else [support]
    if len(levels) != len(cited):
        problem = (
            f"{count_noun(len(levels), 'level')} of support for "
            f"{count_noun(len(cited), 'citation')}; give one for each."
        )
        raise InputError(problem, source=source.label, line=line, code="wrong-shape")
    grades_of_citations: list[tuple[str, float]] = []
    for doc, level in zip(cited, levels, strict=True):
        if level is None:
            continue
        first_word = str(level).lower().split()[:1]
        grade = level if level in (0, 1, 2) else _SUPPORT_GRADES.get(first_word[0] if first_word else "")
        if grade is None:
            problem = f"support {level!r} is not one of 2, 1, 0, full, partial, no, FS, PS, NS."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        grades_of_citations.append((doc, float(grade)))
    return grades_of_citations


TREC_RAG_FORMAT = Format(
    name=_TREC_RAG_NAME,
    title="answers with citations (TREC RAG)",
    suffixes=(".jsonl",),
    sniff=sniff_trec_rag,
    read=read_trec_rag,
    write=write_trec_rag,
    holds=("runs", "qrels"),
    loses="runs and judgments of other formats, which have no sentences",
    detail=(
        'An object a line: {"topic_id": ..., "references": [ids], "answer": [{"text": ..., "citations": '
        "[places in references, or ids]}]}; narrative_id and responses of other tracks are known. Each "
        "sentence is a ranking of the documents it cites (the first is topic#1), and the topic is their "
        "task. Judged support of each citation is a list support next to citations: 2 or full, 1 or partial, "
        "0 or no; it is read as judgments: rankgate eval answers.jsonl answers.jsonl -m SupportP -m SupportR."
    ),
)


_NUGGETS_NAME = "nuggets"
_IMPORTANCE_GRADES = {"vital": 2.0, "okay": 1.0}
_SUPPORT_SCORES = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


def sniff_nuggets(first_bytes: bytes, name: str) -> str | None:
    """An object with qid and nuggets that have an importance."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    if {"qid", "nuggets[]", "nuggets[].importance"} <= find_key_paths(first_bytes):
        return "an object with qid and nuggets that have an importance"
    return None


def read_nuggets(source: InputFile) -> FileContents:
    """Read nuggets as judged documents: 2 is vital, 1 okay; the score is the assignment."""
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str, float]] = []
    queries: dict[str, Json] = {}
    for line, value in read_json_objects(source):
        query = identifier(value.get("qid"), "qid", source.label, line)
        if query in queries:
            problem = f"query '{query}' is already in an earlier line; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = value.get("query")
        qrels.ask(query)
        nuggets_so_far: set[str] = set()
        for nugget_object in _read_nuggets(value, source, line):
            nugget = identifier(nugget_object.get("text"), "the text of a nugget", source.label, line)
            if nugget in nuggets_so_far:
                problem = f"nugget '{nugget[:60]}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            nuggets_so_far.add(nugget)
            grade = _read_word(nugget_object, "importance", _IMPORTANCE_GRADES, source, line)
            qrels.add(query, nugget, grade, f"line {line}", "")
            if nugget_object.get("assignment") is not None:
                pairs.append(
                    (query, nugget, _read_word(nugget_object, "assignment", _SUPPORT_SCORES, source, line))
                )
    judged, notes = qrels.qrels(source.stem)
    if judged is None:
        raise InputError("there are no queries in it.", source=source.label, code="no-queries")
    text_rows = [(query, text) for query, text in queries.items() if isinstance(text, str)]
    run = make_run(
        source.stem,
        [query for query, *_ in pairs],
        [nugget for _, nugget, _ in pairs],
        [score for *_, score in pairs],
        label=source.label,
    )
    return FileContents(
        qrels=judged,
        runs=(run,) if pairs else (),
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row") if text_rows else None,
        notes=notes,
    )


def write_nuggets(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its nuggets; assignments are the first run's scores."""
    grades, text = collect_grades(contents.judgments("")), texts_by_query(contents)
    run = contents.runs[0] if contents.runs else None
    scores = {query: dict(rows) for query, rows in ranking_by_query(run).items()} if run else {}
    word_of_grade = {grade: word for word, grade in _IMPORTANCE_GRADES.items()}
    word_of_score = {score: word for word, score in _SUPPORT_SCORES.items()}
    other_grades: list[str] = []
    for query, grade_of_nugget in grades.items():
        nuggets = []
        for nugget, grade in grade_of_nugget.items():
            if grade not in word_of_grade:
                other_grades.append(f"{query} {nugget}")
                continue
            score = scores.get(query, {}).get(nugget)
            assignment = {} if score is None else {"assignment": word_of_score.get(score, "not_support")}
            nuggets.append({"text": nugget, "importance": word_of_grade[grade], **assignment})
        out.write(
            format_json({"query": text.get(query, query), "qid": query, "nuggets": nuggets}).encode() + b"\n"
        )
    return (
        *find_losses(contents, _NUGGETS_NAME, "qrels", "runs", "queries", "unjudged", runs=1),
        *column_losses("queries", contents.queries, ("query_id", "text")),
        *Loss.of("judgments of other grades than 1 (okay) and 2 (vital)", other_grades),
        *(run_losses(run) if run else ()),
    )


def _read_nuggets(value: dict[str, Json], source: InputFile, line: int) -> list[dict[str, Json]]:
    nuggets = value.get("nuggets")
    if not isinstance(nuggets, list) or not all(isinstance(nugget, dict) for nugget in nuggets):
        problem = f"nuggets are {describe_type(nuggets)}, where a list of objects is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return nuggets


def _read_word(
    nugget: dict[str, Json], key: str, numbers_of_words: dict[str, float], source: InputFile, line: int
) -> float:
    word = nugget.get(key)
    if not isinstance(word, str) or word not in numbers_of_words:
        problem = f"{key} {word!r} is not one of {', '.join(numbers_of_words)}."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return numbers_of_words[word]


NUGGETS_FORMAT = Format(
    name=_NUGGETS_NAME,
    title="nuggets and their assignments to answers (AutoNuggetizer, TREC RAG)",
    suffixes=(".jsonl",),
    sniff=sniff_nuggets,
    read=read_nuggets,
    write=write_nuggets,
    holds=("qrels", "runs", "queries"),
    loses="grades other than 1 and 2, scores other than 0, 0.5 and 1; all runs but the first",
    detail=(
        'An object a line: {"query": ..., "qid": ..., "nuggets": [{"text": ..., "importance": "vital" or '
        '"okay", "assignment": "support", "partial_support" or "not_support"}]}. The nuggets are judgments, '
        "2 for vital and 1 for okay; the assignments are a run, with the scores 1, 0.5 and 0: rankgate eval "
        "assigned.jsonl assigned.jsonl -m NuggetR."
    ),
)
