"""OpenSearch's query sets: queries, perhaps with the answers that are expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.opensearch import search_answer
from rankgate.data.formats.writing import known, lost, lost_columns, own, put, text_of
from rankgate.data.text.json_keys import keys
from rankgate.data.text.json_reader import a_text
from rankgate.data.text.json_text import identifier, kind, parsed
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_FIRST = ("query_id", "text")
_LIMIT = 64 << 20  # bytes of a file; as Python's strings they take ten times as many
_NAME = "opensearch-query-set"
_LIST, _TEXT, _ANSWER = "querySetQueries", "queryText", "referenceAnswer"
_PAIRED = re.compile(
    r"""^\s*query:\s*(?P<query>"(?:[^"\\]|\\.)*"|.+?)\s*(?:,\s*answer:\s*(?P<answer>"(?:[^"\\]|\\.)*"|.*?))?\s*$"""
)

Row = dict[str, str | None]


def sniff(head: bytes, name: str) -> str | None:
    """querySetQueries, lines of queryText, or lines of query: and answer:."""
    found = search_answer.inner(head)
    if _LIST in found or "querySetSize" in found:
        return "an object with querySetQueries"
    if head.removeprefix(BOM).lstrip().startswith(b"{") and _TEXT in keys(head):
        return "lines of objects with queryText"
    first = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    if re.match(rb"query:\s*\"", first):
        return 'lines of query: "..." with answer: "..."'
    return None


def read(source: InputFile) -> FileContents:
    """Queries; any line that is neither JSON nor ``query: "...", answer: "..."`` is one itself."""
    data = source.everything(_LIMIT)
    begin = data.removeprefix(BOM).lstrip()[:1]
    rest: dict[str, Any] = {}
    if begin == b"{" and _TEXT not in keys(data[: 1 << 16]):
        found = search_answer.only(source, "query sets")
        rest = {key: value for key, value in found.items() if key != _LIST}
        rows = list(_listed(found.get(_LIST), source.label))
    else:
        rows = list(_lines(data, source.label))
    once: dict[str, Row] = {}
    again = []
    for row in rows:
        text = row["query_id"] or ""
        again += [text] if text in once else []
        once.setdefault(text, row)
    return FileContents(
        queries=strings(list(once.values()), _FIRST) if once else None,
        extra={_NAME: {"set": rest}} if rest else {},
        notes=Note.of("queries that appear twice, read once", again),
    )


def _listed(found: Any, label: str) -> Iterator[Row]:
    """Queries as a list of objects or strings, or as an object of frequencies."""
    if found is None:
        return
    if isinstance(found, dict):
        for query, count in found.items():
            yield _row({_TEXT: query, "frequency": count}, f"{_LIST}.{query}", label)
        return
    if not isinstance(found, list):
        raise InputError(
            f"'{_LIST}' is {kind(found)}, where a list is needed.", source=label, code="wrong-type"
        )
    for index, query in enumerate(found):
        where = f"{_LIST}[{index}]"
        yield _row(query if isinstance(query, dict) else {_TEXT: query}, where, label)


def _row(query: dict[str, Any], where: str, label: str, line: int | None = None) -> Row:
    if _TEXT not in query:
        raise InputError(f"{where} has no '{_TEXT}'.", source=label, line=line, code="missing-key")
    text = identifier(query[_TEXT], f"'{_TEXT}' of {where}", label, line)
    row: Row = {"query_id": text, "text": text}
    if a_text(query, _ANSWER, where, label):
        row["reference_answer"] = query[_ANSWER]
    taken = {_TEXT, _ANSWER, *row}
    return row | {key: text_of(value) for key, value in query.items() if key not in taken}


def _lines(data: bytes, label: str) -> Iterator[Row]:
    for line, piece in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        content = piece.strip()
        if not content:
            continue
        if content.startswith(b"{"):
            found = parsed(content, label, line)
            yield _row(found, "the line", label, line)
            continue
        text = decoded(content, label, line)
        match = _PAIRED.match(text)
        query, answer = (match["query"], match["answer"]) if match else (text, None)
        yield _row({_TEXT: _bare(query), _ANSWER: _bare(answer)}, "the line", label, line)


def _bare(text: str | None) -> str | None:
    """A text without the quotes around it."""
    if text and text.startswith('"') and text.endswith('"') and len(text) > 1:
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The set: queries by their texts, with their expected answers.

    Without queries of their own, those of judgments or of a run are written.
    """
    rest = own(contents, _NAME).get("set", {})
    queries = contents.queries
    rows = known(queries, "query_id") or {query: {} for query in _asked(contents)}
    if not rows and not rest:
        raise InputError("no queries in it; a query set needs some.", code="no-queries")
    listed = []
    for query, row in rows.items():
        entry = {_TEXT: row.get("text", query)}
        if row.get("reference_answer"):
            entry[_ANSWER] = row["reference_answer"]
        listed.append(entry)
    head = rest or {"name": "queries", "description": "", "sampling": "manual"}
    put(out, {**head, _LIST: listed} if listed else head)
    called = [query for query, row in rows.items() if row.get("text", query) != query]
    return (
        *lost(contents, _NAME, "queries"),
        *lost_columns("queries", queries, ("query_id", "text", "reference_answer")),
        *Loss.of("ids of queries, which are called by their texts", called),
    )


def _asked(contents: FileContents) -> list[str]:
    if contents.qrels:
        judged = contents.qrels.table["query_id"].unique(maintain_order=True).to_list()
        return list(dict.fromkeys([*judged, *contents.qrels.unjudged]))
    tables = [run.table["query_id"].unique(maintain_order=True).to_list() for run in contents.runs]
    return list(dict.fromkeys(query for table in tables for query in table))


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's query sets",
    suffixes=(".json", ".ndjson", ".txt"),
    sniff=sniff,
    read=read,
    write=write,
    holds=("queries",),
    loses="judgments, runs, ids besides texts",
    detail=(
        "The body that makes a query set (queries as objects, strings, or with their frequency), "
        'or a file for upload: lines of {"queryText": ...}, lines of query: "...", answer: '
        '"...", or plain lines, for which the format must be named.'
    ),
)
