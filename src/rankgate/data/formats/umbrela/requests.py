"""UMBRELA requests: one JSON object per line with a query and its candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import collect_document_rows, make_run, zero_states
from rankgate.data.formats.format import Format
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.formats.writing import (
    cell_text,
    column_losses,
    find_losses,
    ranking_by_query,
    rows_by_id,
    texts_by_query,
)
from rankgate.data.text.json_keys import find_key_paths
from rankgate.data.text.json_text import (
    describe_type,
    format_json,
    identifier,
    number,
    read_json_objects,
)
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile

_NAME = "umbrela-requests"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object with a query and candidates."""
    if first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        key_paths = find_key_paths(first_bytes)
        if {"query", "candidates[]"} <= key_paths:
            return "an object with query and candidates"
    return None


def read(source: InputFile) -> FileContents:
    """A run of the candidates in their order (or by their scores), their texts, the queries.

    A query or candidate that is a string is its own id.
    """
    pairs: list[tuple[str, str, float | None]] = []
    queries: dict[str, str | None] = {}
    fields: list[dict[str, str | None]] = []
    for line, value in read_json_objects(source):
        query, text = _read_query(value.get("query"), source, line)
        if query in queries:
            problem = f"query '{query}' is in a line before already; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = text
        candidates = value.get("candidates")
        if not isinstance(candidates, list):
            problem = f"'candidates' is {describe_type(candidates)}, where a list is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        documents_so_far: set[str] = set()
        for candidate in candidates:
            document, score, candidate_fields = _read_candidate(candidate, source, line)
            if document in documents_so_far:
                problem = f"candidate '{document}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            documents_so_far.add(document)
            pairs.append((query, document, score))
            if candidate_fields:
                fields.append({"query_id": query, "doc_id": document, **candidate_fields})
    if not queries:
        raise InputError("there are no queries in it.", source=source.label, code="no-queries")
    return _make_contents(pairs, queries, fields, source)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its candidates, best first, from the first run."""
    run = contents.runs[0] if contents.runs else contents.ranking("")
    text, fields = texts_by_query(contents), rows_by_id(contents.documents, "doc_id")
    for query, rows in ranking_by_query(run).items():
        query_object = {"text": text.get(query, query), "qid": query}
        candidates = [
            {
                "doc": {**_make_document(fields.get(document, {}), document)},
                "docid": document,
                "score": score,
            }
            for document, score in rows
        ]
        out.write(format_json({"query": query_object, "candidates": candidates}).encode() + b"\n")
    return (
        *find_losses(contents, _NAME, "runs", "queries", "documents", runs=1),
        *column_losses("queries", contents.queries, ("query_id", "text")),
        *run_losses(run),
    )


def _read_query(value: Any, source: InputFile, line: int) -> tuple[str, str | None]:
    """The query's id, and its text if it differs."""
    if not isinstance(value, dict):
        return identifier(value, "the query", source.label, line), None
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        problem = f"the text of the query is {describe_type(text)}, where a string is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    id_ = value.get("qid")
    if id_ is None:
        return identifier(text, "the text of the query", source.label, line), None
    return identifier(id_, "qid", source.label, line), text


def _read_candidate(
    value: Any,
    source: InputFile,
    line: int,
) -> tuple[str, float | None, dict[str, str | None]]:
    """A candidate's id, its score and its fields; a text is its own id."""
    if not isinstance(value, dict):
        return identifier(value, "a candidate", source.label, line), None, {}
    content = value.get("doc")
    raw_fields = content if isinstance(content, dict) else {"segment": content}
    fields_by_name = {
        _field_name(name): cell_text(field_value)
        for name, field_value in raw_fields.items()
        if name not in _IDS
    }
    fields_by_name = {
        name: field_value for name, field_value in fields_by_name.items() if field_value is not None
    }
    id_ = value.get("docid", fields_by_name.get("text"))
    score = value.get("score")
    score_label = f"the score of candidate '{id_}'"[:80]
    candidate_score = None if score is None else number(score, score_label, source.label, line)
    return identifier(id_, "docid", source.label, line), candidate_score, fields_by_name


_IDS = ("query_id", "doc_id", "text")  # the names of our own columns


def _field_name(name: str) -> str:
    """Our name of a field: UMBRELA's ``segment`` is our ``text``."""
    return "text" if name == "segment" else name


def _make_document(fields: dict[str, str], document: str) -> dict[str, str]:
    """A document's fields; its id if it has no text."""
    other_fields = {name: field_value for name, field_value in fields.items() if name not in _IDS}
    return {"segment": fields.get("text", document), **other_fields}


def _make_contents(
    pairs: list[tuple[str, str, float | None]],
    queries: dict[str, str | None],
    fields: list[dict[str, str | None]],
    source: InputFile,
) -> FileContents:
    scores = [score for *_, score in pairs if score is not None]
    scores_or_none = scores if len(scores) == len(pairs) else None
    with_candidates = {query for query, *_ in pairs}
    empty_queries = [query for query in queries if query not in with_candidates]
    ids = [query for query, *_ in pairs], [document for _, document, _ in pairs]
    run = make_run(
        source.stem, *ids, scores_or_none, label=source.label, states=zero_states(empty_queries)
    )
    text_rows = [(query, text) for query, text in queries.items() if text is not None]
    return FileContents(
        runs=(run,),
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row")
        if text_rows
        else None,
        documents=collect_document_rows(fields) if fields else None,
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
