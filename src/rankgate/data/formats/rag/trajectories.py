"""Trajectories of agents: questions with several calls of a search, and what the answer cites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format
from rankgate.data.place import Place
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import identifier, kind, number, objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "trajectories"
_DOCUMENTS = ("documents", "docs", "results")
_KNOWN: dict[str, Any] = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "sequence": pl.String,
    "position": pl.Float64,
    "tokens": pl.Float64,
    "cited": pl.List(pl.String),
    "answered": pl.Float64,
}


_FREE = {"tokens": 0.0, "latency_ms": 0.0}
"""What a question without calls spent."""


def sniff(head: bytes, name: str) -> str | None:
    """An object with a query_id and calls."""
    if not head.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    found = keys(head)
    if "query_id" in found and "calls[]" in found:
        return "an object with query_id and calls"
    return None


def read(source: InputFile) -> FileContents:
    """A run whose rankings are calls, the question being their task; evidence as judgments."""
    qrels, judged = GrowingQrels(source.label), False
    calls: list[dict[str, Any]] = []
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    queries: dict[str, Any] = {}
    for line, value in objects(source):
        task = identifier(value.get("query_id"), "query_id", source.label, line)
        if task in queries:
            problem = f"question '{task}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[task] = value.get("query")
        cited = _list(value.get("cited") or [], "cited", source, line)
        known = {
            "sequence": task,
            "cited": [identifier(each, "a document cited", source.label, line) for each in cited],
            "answered": _answered(value, source, line),
        }
        given = _list(value.get("calls"), "calls", source, line)
        for place, call in enumerate(given or [{}], 1):
            ranked = _ranked(call, source, line) if given else []
            query = f"{task}#{place}"
            rows += [(query, doc, score) for doc, score in ranked]
            lines += [line] * len(ranked)
            calls.append(
                {
                    **known,
                    "query_id": query,
                    "position": place,
                    "state": "ok" if ranked else "zero",
                    **(_cost(call, source, line) if given else _FREE),
                }
            )
        if "evidence" in value or value.get("answerable") is False:
            judged = True
            qrels.ask(task)
            for doc, grade in _evidence(value, source, line):
                qrels.add(task, doc, grade, f"line {line}", "")
    if not queries:
        raise InputError("there are no questions in it.", source=source.label, code="no-queries")
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    run = Run(
        source.stem,
        lambda: iter([table]),
        queries=pl.DataFrame(calls, schema=_KNOWN),
        place=Place(source.label, lines.__getitem__),
    )
    items = [(query, text) for query, text in queries.items() if isinstance(text, str)]
    return FileContents(
        qrels=qrels.qrels(source.stem)[0] if judged else None,
        runs=(run,),
        queries=pl.DataFrame(items, schema=["query_id", "text"], orient="row") if items else None,
    )  # fmt: skip


def _list(value: Any, name: str, source: InputFile, line: int) -> list[Any]:
    if not isinstance(value, list):
        problem = f"'{name}' is {kind(value)}, where a list is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return value


def _answered(value: dict[str, Any], source: InputFile, line: int) -> float | None:
    """1 for an answer, 0 for a refusal; None where it is not known."""
    if "answered" not in value:
        return None if "answer" not in value else float(bool(value["answer"]))
    if not isinstance(value["answered"], bool):
        problem = f"answered is {kind(value['answered'])}, where true or false is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return float(value["answered"])


def _ranked(call: Any, source: InputFile, line: int) -> list[tuple[str, float]]:
    """The documents of a call with scores: their own, or by their order."""
    given = next((call[name] for name in _DOCUMENTS if name in call), None) if isinstance(
        call, dict
    ) else None  # fmt: skip
    documents: list[tuple[str, float]] = []
    for place, each in enumerate(_list(given, "documents", source, line), 1):
        inside = each if isinstance(each, dict) else {"doc_id": each}
        doc = identifier(
            inside.get("doc_id", inside.get("id")), "a document", source.label, line
        )  # fmt: skip
        value = inside.get("score")
        score = -float(place) if value is None else number(value, "score", source.label, line)
        documents.append((doc, score))
    return documents


def _cost(call: Any, source: InputFile, line: int) -> dict[str, float | None]:
    """The tokens and the milliseconds of a call, where they are known."""
    found: dict[str, float | None] = {"tokens": None, "latency_ms": None}
    for name, ours, factor in (("tokens", "tokens", 1), ("seconds", "latency_ms", 1000)):
        if isinstance(call, dict) and call.get(name) is not None:
            value = number(call[name], name, source.label, line)
            if value < 0:
                problem = f"{name} {value:g} is less than 0."
                raise InputError(problem, source=source.label, line=line, code="not-a-number")
            found[ours] = value * factor
    return found


def _evidence(value: dict[str, Any], source: InputFile, line: int) -> list[tuple[Any, Any]]:
    """Evidence as documents of grade 1, or with their grades."""
    given = value.get("evidence") or []
    if isinstance(given, dict):
        return list(given.items())
    return [(each, 1) for each in _list(given, "evidence", source, line)]


FORMAT = Format(
    name=_NAME,
    title="trajectories of agents that search in several calls",
    suffixes=(".jsonl",),
    sniff=sniff,
    read=read,
    holds=("runs", "qrels", "queries"),
    detail=(
        'An object a question: {"query_id": ..., "query": ..., "calls": [{"query": ..., '
        '"documents": [ids, or {"doc_id", "score"}], "tokens": ..., "seconds": ...}], "cited": '
        '[ids], "answered": true or false, "evidence": [ids] or {id: grade}}; all but query_id and '
        "calls can be left out. Each call is a ranking, query_id#1 the first, and the question is "
        "their task. Evidence is judgments of the question, so that one file can be both; a "
        "question with an empty list of evidence has no answer."
    ),
)
