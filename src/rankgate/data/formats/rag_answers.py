"""Answers of the TREC RAG track with their citations, and AutoNuggetizer's nuggets.

Answers are sentences with their citations, optionally with judged support. Nuggets belong to
queries, with their assignments to an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import DuplicateError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents, Loss
from rankgate.data.formats.collected_judgments import GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    ranking_by_query,
    texts_by_query,
    write_json_lines,
)
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.text.json_text import JsonRecord, describe_type, detect_keys, read_query_lines

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_TREC_RAG_NAME = "trec-rag"
_TOPIC = ("topic_id", "narrative_id", "query_id")
_SENTENCES = ("answer", "responses")
_SUPPORT_GRADES = {"full": 2.0, "partial": 1.0, "no": 0.0, "fs": 2.0, "ps": 1.0, "ns": 0.0}


def read_trec_rag(source: InputFile) -> FileContents:
    """A run with a ranking for each sentence, whose task is the topic; and judgments of support."""
    qrels, ranked = GrowingQrels(source), GrowingRun(source)
    answers: list[JsonObject] = []
    for task, record in read_query_lines(source, _read_topic, "topic", "answers"):
        answers.append(record.values_except())
        references = [record.as_id(doc, "a reference") for doc in record.optional("references", list) or []]
        sentence_list: Any = next((record[name] for name in _SENTENCES if record.get(name) is not None), [])
        sentences = _as_records(sentence_list, record, "the answer is", "a list of sentences (objects)")
        for position, sentence in enumerate(sentences or [JsonRecord({}, source.label)], 1):
            query = f"{task}#{position}"
            cited = _read_citations(sentence, references)
            ranked.ask(
                query,
                sequence=task,
                position=float(position),
                cited=references,
                answered=float(bool(sentences)),
            )
            for doc in cited:
                ranked.rank(query, doc)
            qrels.ask(query)
            for doc, grade in _read_support(sentence, cited):
                qrels.add(query, doc, grade, record.location_text)
    judged, _ = qrels.qrels()
    return FileContents(
        qrels=judged if judged is not None and not judged.table.is_empty() else None,
        runs=(ranked.task_run(),),
        extra={_TREC_RAG_NAME: {"answers": answers}},
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
    write_json_lines(out, answers)
    return find_losses(contents, _TREC_RAG_NAME, "qrels", "runs", "unjudged")


def _read_topic(record: JsonRecord) -> str:
    fields = {**record, **record.record("metadata")}
    return record.as_id(next((fields[name] for name in _TOPIC if name in fields), None), "topic_id")


def _as_records(elements: Json, record: JsonRecord, subject: str, needed: str) -> list[JsonRecord]:
    """The objects of a list, with the line of the object that has it.

    Raises:
        InputError: the value is not a list of objects.
    """
    if not isinstance(elements, list) or not all(isinstance(element, dict) for element in elements):
        raise record.error(f"{subject} {describe_type(elements)}, where {needed} is needed.")
    return [JsonRecord(element, record.label, line=record.line) for element in elements]


def _read_citations(sentence: JsonRecord, references: list[str]) -> list[str]:
    """The documents that a sentence cites: positions in the references, ids, or ids with scores."""
    citations = sentence.get("citations")
    doc_ids: dict[str, None] = {}
    for citation in citations if isinstance(citations, dict) else sentence.optional("citations", list) or []:
        if type(citation) is int and not 0 <= citation < len(references):
            counted_references = count_noun(len(references), "reference")
            problem = f"citation {citation} is out of range: there are {counted_references}, counted from 0."
            raise sentence.error(problem, "wrong-shape")
        doc_id = references[citation] if type(citation) is int else sentence.as_id(citation, "a citation")
        doc_ids[doc_id] = None
    return [*doc_ids]


def _read_support(sentence: JsonRecord, cited: list[str]) -> list[tuple[str, float]]:
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
        raise sentence.error(problem, "wrong-shape")
    grades_of_citations: list[tuple[str, float]] = []
    for doc, level in zip(cited, levels, strict=True):
        if level is None:
            continue
        first_word = next(iter(str(level).lower().split()), "")
        grade = level if level in (0, 1, 2) else _SUPPORT_GRADES.get(first_word)
        if grade is None:
            problem = f"support {level!r} is not one of 2, 1, 0, full, partial, no, FS, PS, NS."
            raise sentence.error(problem)
        grades_of_citations.append((doc, float(grade)))
    return grades_of_citations


TREC_RAG_FORMAT = Format(
    name=_TREC_RAG_NAME,
    title="answers with citations (TREC RAG)",
    suffixes=(".jsonl",),
    sniff=detect_keys(
        (
            "an object with references, and sentences with citations",
            "references[]",
            "|".join(f"{name}[].citations" for name in _SENTENCES),
        )
    ),
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


def read_nuggets(source: InputFile) -> FileContents:
    """Read nuggets as judged documents: 2 is vital, 1 okay; the score is the assignment."""
    qrels, ranked = GrowingQrels(source), GrowingRun(source)
    for query, record in read_query_lines(source, lambda record: record.as_id(record.get("qid"), "qid")):
        qrels.ask(query, text=record.get("query"))
        nuggets_so_far: set[str] = set()
        for nugget in _as_records(record.get("nuggets"), record, "nuggets are", "a list of objects"):
            text = nugget.as_id(nugget.get("text"), "the text of a nugget")
            if text in nuggets_so_far:
                problem = f"nugget '{text[:60]}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=record.line)
            nuggets_so_far.add(text)
            qrels.add(query, text, _read_word(nugget, "importance", _IMPORTANCE_GRADES), record.location_text)
            if nugget.get("assignment") is not None:
                ranked.rank(query, text, _read_word(nugget, "assignment", _SUPPORT_SCORES))
    return qrels.contents(runs=(ranked.run(),) if ranked.asked else (), queries=qrels.texts())


def write_nuggets(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its nuggets; assignments are the first run's scores."""
    grades, text = collect_grades(contents.judgments("")), texts_by_query(contents)
    run = contents.runs[0] if contents.runs else None
    scores = {query: dict(rows) for query, rows in ranking_by_query(run).items()} if run else {}
    word_of_grade = {grade: word for word, grade in _IMPORTANCE_GRADES.items()}
    word_of_score = {score: word for word, score in _SUPPORT_SCORES.items()}
    other_grades: list[str] = []
    lines: list[JsonObject] = []
    for query, grade_of_nugget in grades.items():
        nuggets = []
        for nugget, grade in grade_of_nugget.items():
            if grade not in word_of_grade:
                other_grades.append(f"{query} {nugget}")
                continue
            score = scores.get(query, {}).get(nugget)
            assignment = {} if score is None else {"assignment": word_of_score.get(score, "not_support")}
            nuggets.append({"text": nugget, "importance": word_of_grade[grade], **assignment})
        lines.append({"query": text.get(query, query), "qid": query, "nuggets": nuggets})
    write_json_lines(out, lines)
    kept_parts = ("qrels", "runs", "queries", "unjudged")
    return (
        *find_losses(contents, _NUGGETS_NAME, *kept_parts, runs=1, queries=("text",)),
        *Loss.of("judgments of other grades than 1 (okay) and 2 (vital)", other_grades),
        *(run_losses(run) if run else ()),
    )


def _read_word(nugget: JsonRecord, key: str, numbers_of_words: dict[str, float]) -> float:
    word = nugget.get(key)
    if not isinstance(word, str) or word not in numbers_of_words:
        raise nugget.error(f"{key} {word!r} is not one of {', '.join(numbers_of_words)}.")
    return numbers_of_words[word]


NUGGETS_FORMAT = Format(
    name=_NUGGETS_NAME,
    title="nuggets and their assignments to answers (AutoNuggetizer, TREC RAG)",
    suffixes=(".jsonl",),
    sniff=detect_keys(
        ("an object with qid and nuggets that have an importance", "qid", "nuggets[]", "nuggets[].importance")
    ),
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
