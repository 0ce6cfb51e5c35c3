"""UMBRELA requests: one JSON object per line with a query and its candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import documents_from, nothing_for, ranked
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import (
    known,
    lost,
    lost_columns,
    ranking_by_query,
    text_of,
    texts,
)
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_text import dumped, identifier, kind, number, objects
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_NAME = "umbrela-requests"


def sniff(head: bytes, name: str) -> str | None:
    """An object with a query and candidates."""
    if head.removeprefix(BOM).lstrip().startswith(b"{"):
        found = keys(head)
        if {"query", "candidates[]"} <= found:
            return "an object with query and candidates"
    return None


def read(source: InputFile) -> FileContents:
    """A run of the candidates in their order (or by their scores), their texts, the queries.

    A query or candidate that is a string is its own id.
    """
    pairs: list[tuple[str, str, float | None]] = []
    queries: dict[str, str | None] = {}
    fields: list[dict[str, str | None]] = []
    for line, value in objects(source):
        query, text = _query(value.get("query"), source, line)
        if query in queries:
            problem = f"query '{query}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = text
        candidates = value.get("candidates")
        if not isinstance(candidates, list):
            problem = f"'candidates' is {kind(candidates)}, where a list is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        seen: set[str] = set()
        for each in candidates:
            document, score, inside = _candidate(each, source, line)
            if document in seen:
                problem = f"candidate '{document}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            seen.add(document)
            pairs.append((query, document, score))
            if inside:
                fields.append({"query_id": query, "doc_id": document, **inside})
    if not queries:
        raise InputError("there are no queries in it.", source=source.label, code="no-queries")
    return _contents(pairs, queries, fields, source)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """An object a query with its candidates, best first, from the first run."""
    run = contents.runs[0] if contents.runs else contents.ranking("")
    text, fields = texts(contents), known(contents.documents, "doc_id")
    for query, rows in ranking_by_query(run).items():
        asked = {"text": text.get(query, query), "qid": query}
        candidates = [
            {
                "doc": {**_doc(fields.get(document, {}), document)},
                "docid": document,
                "score": score,
            }
            for document, score in rows
        ]
        out.write(dumped({"query": asked, "candidates": candidates}).encode() + b"\n")
    return (
        *lost(contents, _NAME, "runs", "queries", "documents", runs=1),
        *lost_columns("queries", contents.queries, ("query_id", "text")),
        *run_losses(run),
    )


def _query(value: Any, source: InputFile, line: int) -> tuple[str, str | None]:
    """The query's id, and its text if that is another."""
    if not isinstance(value, dict):
        return identifier(value, "the query", source.label, line), None
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        problem = f"the text of the query is {kind(text)}, where a string is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    id_ = value.get("qid")
    if id_ is None:
        return identifier(text, "the text of the query", source.label, line), None
    return identifier(id_, "qid", source.label, line), text


def _candidate(
    value: Any,
    source: InputFile,
    line: int,
) -> tuple[str, float | None, dict[str, str | None]]:
    """A candidate's id, its score and its fields; a text is its own id."""
    if not isinstance(value, dict):
        return identifier(value, "a candidate", source.label, line), None, {}
    content = value.get("doc")
    named = content if isinstance(content, dict) else {"segment": content}
    inside = {_segment(name): text_of(each) for name, each in named.items() if name not in _IDS}
    inside = {name: each for name, each in inside.items() if each is not None}
    id_ = value.get("docid", inside.get("text"))
    score = value.get("score")
    where = f"the score of candidate '{id_}'"[:80]
    graded = None if score is None else number(score, where, source.label, line)
    return identifier(id_, "docid", source.label, line), graded, inside


_IDS = ("query_id", "doc_id", "text")  # what our own columns are called


def _segment(name: str) -> str:
    """UMBRELA's ``segment`` is our ``text``."""
    return "text" if name == "segment" else name


def _doc(fields: dict[str, str], document: str) -> dict[str, str]:
    """A document's fields; its id where it has no text."""
    others = {name: each for name, each in fields.items() if name not in _IDS}
    return {"segment": fields.get("text", document), **others}


def _contents(
    pairs: list[tuple[str, str, float | None]],
    queries: dict[str, str | None],
    fields: list[dict[str, str | None]],
    source: InputFile,
) -> FileContents:
    scores = [score for *_, score in pairs if score is not None]
    given = scores if len(scores) == len(pairs) else None
    with_candidates = {query for query, *_ in pairs}
    empty = [query for query in queries if query not in with_candidates]
    ids = [query for query, *_ in pairs], [document for _, document, _ in pairs]
    run = ranked(source.stem, *ids, given, label=source.label, states=nothing_for(empty))
    items = [(query, text) for query, text in queries.items() if text is not None]
    return FileContents(
        runs=(run,),
        queries=pl.DataFrame(items, schema=["query_id", "text"], orient="row") if items else None,
        documents=documents_from(fields) if fields else None,
    )


FORMAT = Format(
    name=_NAME,
    title="candidates for UMBRELA to judge",
    suffixes=(".jsonl", ".json"),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs", "queries", "documents"),
    loses="judgments, ratings; all runs but the first, its tag",
    detail=(
        'An object a line: {"query": {"text": ..., "qid": ...}, "candidates": [{"doc": '
        '{"segment": ...}, "docid": ...}]}; a string may replace a query or a candidate, and is '
        "its own id. The candidates are a run, by their scores if all have one, otherwise in "
        "their order; segment is the document's text."
    ),
)
