"""AutoNuggetizer: nuggets of queries, and which of them an answer says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import by_query, lost, lost_columns, ranking_by_query, texts
from rankgate.data.notes import Loss
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import dumped, identifier, kind, objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "nuggets"
_IMPORTANCE = {"vital": 2.0, "okay": 1.0}
_SUPPORT = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}


def sniff(head: bytes, name: str) -> str | None:
    """An object with qid and nuggets that have an importance."""
    if not head.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    if {"qid", "nuggets[]", "nuggets[].importance"} <= keys(head):
        return "an object with qid and nuggets that have an importance"
    return None


def read(source: InputFile) -> FileContents:
    """Nuggets are judged documents: 2 is vital, 1 okay; how far an answer says them is a score."""
    qrels = GrowingQrels(source.label)
    pairs: list[tuple[str, str, float]] = []
    queries: dict[str, Any] = {}
    for line, value in objects(source):
        query = identifier(value.get("qid"), "qid", source.label, line)
        if query in queries:
            problem = f"query '{query}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = value.get("query")
        qrels.ask(query)
        seen: set[str] = set()
        for each in _nuggets(value, source, line):
            nugget = identifier(each.get("text"), "the text of a nugget", source.label, line)
            if nugget in seen:
                problem = f"nugget '{nugget[:60]}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            seen.add(nugget)
            grade = _word(each, "importance", _IMPORTANCE, source, line)
            qrels.add(query, nugget, grade, f"line {line}", "")
            if each.get("assignment") is not None:
                pairs.append((query, nugget, _word(each, "assignment", _SUPPORT, source, line)))
    judged, notes = qrels.qrels(source.stem)
    if judged is None:
        raise InputError("there are no queries in it.", source=source.label, code="no-queries")
    items = [(query, text) for query, text in queries.items() if isinstance(text, str)]
    run = ranked(
        source.stem,
        [query for query, *_ in pairs],
        [nugget for _, nugget, _ in pairs],
        [score for *_, score in pairs],
        label=source.label,
    )
    return FileContents(
        qrels=judged,
        runs=(run,) if pairs else (),
        queries=pl.DataFrame(items, schema=["query_id", "text"], orient="row") if items else None,
        notes=notes,
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """An object a query with its nuggets; with assignments from the scores of the first run."""
    grades, text = by_query(contents.judgments("")), texts(contents)
    run = contents.runs[0] if contents.runs else None
    scores = {q: dict(rows) for q, rows in ranking_by_query(run).items()} if run else {}
    words = {grade: word for word, grade in _IMPORTANCE.items()}
    said = {score: word for word, score in _SUPPORT.items()}
    strange: list[str] = []
    for query, own in grades.items():
        nuggets = []
        for nugget, grade in own.items():
            if grade not in words:
                strange.append(f"{query} {nugget}")
                continue
            score = scores.get(query, {}).get(nugget)
            assigned = {} if score is None else {"assignment": said.get(score, "not_support")}
            nuggets.append({"text": nugget, "importance": words[grade], **assigned})
        out.write(
            dumped({"query": text.get(query, query), "qid": query, "nuggets": nuggets}).encode()
            + b"\n"
        )
    return (
        *lost(contents, _NAME, "qrels", "runs", "queries", "unjudged", runs=1),
        *lost_columns("queries", contents.queries, ("query_id", "text")),
        *Loss.of("judgments of other grades than 1 (okay) and 2 (vital)", strange),
        *(run_losses(run) if run else ()),
    )


def _nuggets(value: dict[str, Any], source: InputFile, line: int) -> list[dict[str, Any]]:
    found = value.get("nuggets")
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        problem = f"nuggets are {kind(found)}, where a list of objects is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return found


def _word(
    nugget: dict[str, Any], key: str, words: dict[str, float], source: InputFile, line: int
) -> float:
    word = nugget.get(key)
    if not isinstance(word, str) or word not in words:
        problem = f"{key} {word!r} is not one of {', '.join(words)}."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return words[word]


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
