"""AutoNuggetizer: nuggets of queries, and their assignments to an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, make_run
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import (
    collect_grades,
    column_losses,
    find_losses,
    ranking_by_query,
    texts_by_query,
)
from rankgate.data.notes import Loss
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_text import describe_type, format_json, identifier, read_json_objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "nuggets"
_IMPORTANCE_GRADES = {"vital": 2.0, "okay": 1.0}
_SUPPORT_SCORES = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with qid and nuggets that have an importance."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    if {"qid", "nuggets[]", "nuggets[].importance"} <= find_key_paths(first_bytes):
        return "an object with qid and nuggets that have an importance"
    return None


def read(source: InputFile) -> FileContents:
    """Nuggets are judged documents: 2 is vital, 1 okay; the assignment of a nugget is its score."""
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str, float]] = []
    queries: dict[str, Any] = {}
    for line, value in read_json_objects(source):
        query = identifier(value.get("qid"), "qid", source.label, line)
        if query in queries:
            problem = f"query '{query}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = value.get("query")
        qrels.ask(query)
        nuggets_so_far: set[str] = set()
        for nugget_object in _read_nuggets(value, source, line):
            nugget = identifier(
                nugget_object.get("text"), "the text of a nugget", source.label, line
            )
            if nugget in nuggets_so_far:
                problem = f"nugget '{nugget[:60]}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            nuggets_so_far.add(nugget)
            grade = _read_word(nugget_object, "importance", _IMPORTANCE_GRADES, source, line)
            qrels.add(query, nugget, grade, f"line {line}", "")
            if nugget_object.get("assignment") is not None:
                pairs.append(
                    (
                        query,
                        nugget,
                        _read_word(nugget_object, "assignment", _SUPPORT_SCORES, source, line),
                    )
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
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row")
        if text_rows
        else None,
        notes=notes,
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its nuggets; assignments from the first run's scores."""
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
            assignment = (
                {} if score is None else {"assignment": word_of_score.get(score, "not_support")}
            )
            nuggets.append({"text": nugget, "importance": word_of_grade[grade], **assignment})
        out.write(
            format_json(
                {"query": text.get(query, query), "qid": query, "nuggets": nuggets}
            ).encode()
            + b"\n"
        )
    return (
        *find_losses(contents, _NAME, "qrels", "runs", "queries", "unjudged", runs=1),
        *column_losses("queries", contents.queries, ("query_id", "text")),
        *Loss.of("judgments of other grades than 1 (okay) and 2 (vital)", other_grades),
        *(run_losses(run) if run else ()),
    )


def _read_nuggets(value: dict[str, Any], source: InputFile, line: int) -> list[dict[str, Any]]:
    nuggets = value.get("nuggets")
    if not isinstance(nuggets, list) or not all(isinstance(nugget, dict) for nugget in nuggets):
        problem = f"nuggets are {describe_type(nuggets)}, where a list of objects is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return nuggets


def _read_word(
    nugget: dict[str, Any],
    key: str,
    numbers_of_words: dict[str, float],
    source: InputFile,
    line: int,
) -> float:
    word = nugget.get(key)
    if not isinstance(word, str) or word not in numbers_of_words:
        problem = f"{key} {word!r} is not one of {', '.join(numbers_of_words)}."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return numbers_of_words[word]


FORMAT = Format(
    name=_NAME,
    title="nuggets and their assignments to answers (AutoNuggetizer, TREC RAG)",
    suffixes=(".jsonl",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "runs", "queries"),
    loses="grades other than 1 and 2, scores other than 0, 0.5 and 1; all runs but the first",
    detail=(
        'An object a line: {"query": ..., "qid": ..., "nuggets": [{"text": ..., "importance": '
        '"vital" or "okay", "assignment": "support", "partial_support" or "not_support"}]}. The '
        "nuggets are judgments, 2 for vital and 1 for okay; the assignments are a run, with the "
        "scores 1, 0.5 and 0: rankgate eval assigned.jsonl assigned.jsonl -m NuggetR."
    ),
)
