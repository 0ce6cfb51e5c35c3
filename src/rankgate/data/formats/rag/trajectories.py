"""Trajectories of agents: questions with several calls of a search, and the cited documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format
from rankgate.data.place import RowLocation
from rankgate.data.run import SCHEMA, Run
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_text import describe_type, identifier, number, read_json_objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "trajectories"
_DOCUMENTS = ("documents", "docs", "results")
_QUERY_SCHEMA: dict[str, Any] = {
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


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with a query_id and calls."""
    if not first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    key_paths = find_key_paths(first_bytes)
    if "query_id" in key_paths and "calls[]" in key_paths:
        return "an object with query_id and calls"
    return None


def read(source: InputFile) -> FileContents:
    """A run with a ranking for each call, the question being their task; evidence as judgments."""
    qrels, has_judgments = GrowingQrels(source.label), False
    calls: list[dict[str, Any]] = []
    rows: list[tuple[str, str, float]] = []
    lines: list[int] = []
    queries: dict[str, Any] = {}
    for line, value in read_json_objects(source):
        task = identifier(value.get("query_id"), "query_id", source.label, line)
        if task in queries:
            problem = f"question '{task}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[task] = value.get("query")
        cited = _require_list(value.get("cited") or [], "cited", source, line)
        task_fields = {
            "sequence": task,
            "cited": [
                identifier(doc_id, "a document cited", source.label, line) for doc_id in cited
            ],
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
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
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
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row")
        if text_rows
        else None,
    )


def _require_list(value: Any, name: str, source: InputFile, line: int) -> list[Any]:
    if not isinstance(value, list):
        problem = f"'{name}' is {describe_type(value)}, where a list is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return value


def _read_answered(value: dict[str, Any], source: InputFile, line: int) -> float | None:
    """1 for an answer, 0 for a refusal; None if it is unknown."""
    if "answered" not in value:
        return None if "answer" not in value else float(bool(value["answer"]))
    if not isinstance(value["answered"], bool):
        problem = f"answered is {describe_type(value['answered'])}, where true or false is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return float(value["answered"])


def _read_documents(call: Any, source: InputFile, line: int) -> list[tuple[str, float]]:
    """The documents of a call with scores: their own, or by their order."""
    document_list = (
        next((call[name] for name in _DOCUMENTS if name in call), None)
        if isinstance(call, dict)
        else None
    )
    documents: list[tuple[str, float]] = []
    for position, document in enumerate(_require_list(document_list, "documents", source, line), 1):
        fields = document if isinstance(document, dict) else {"doc_id": document}
        doc = identifier(fields.get("doc_id", fields.get("id")), "a document", source.label, line)
        value = fields.get("score")
        score = -float(position) if value is None else number(value, "score", source.label, line)
        documents.append((doc, score))
    return documents


def _read_cost(call: Any, source: InputFile, line: int) -> dict[str, float | None]:
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


def _read_evidence(value: dict[str, Any], source: InputFile, line: int) -> list[tuple[Any, Any]]:
    """Evidence as documents of grade 1, or with their grades."""
    evidence = value.get("evidence") or []
    if isinstance(evidence, dict):
        return list(evidence.items())
    return [(doc_id, 1) for doc_id in _require_list(evidence, "evidence", source, line)]


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
