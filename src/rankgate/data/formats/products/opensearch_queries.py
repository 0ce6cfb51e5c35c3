"""OpenSearch's query sets, and the metric store of its dashboards.

Query sets are queries, optionally with expected answers. The metric store has one value of one
metric for one query per line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import VALUES
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    find_losses,
    format_data,
    id_losses,
    query_ids,
    rows_by_id,
    write_json,
    write_json_lines,
)
from rankgate.data.formats.products import opensearch_judgments
from rankgate.data.text.json_text import (
    JsonRecord,
    detect_keys,
    find_key_paths,
    parse_json,
    read_line_records,
)
from rankgate.data.text.text_values import BOM, decode_utf8, format_time, parse_time

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject, Schema
    from rankgate.data.streams.source import InputFile


_FIRST_COLUMNS = ("query_id", "text")
_MAX_BYTES = 64 << 20  # bytes of a file; as Python strings they need ten times the memory
_QUERY_SET_NAME = "opensearch-query-set"
_LIST, _TEXT, _ANSWER = "querySetQueries", "queryText", "referenceAnswer"
_QUERY_AND_ANSWER = re.compile(
    r"""^\s*query:\s*(?P<query>"(?:[^"\\]|\\.)*"|.+?)\s*(?:,\s*answer:\s*(?P<answer>"(?:[^"\\]|\\.)*"|.*?))?\s*$"""
)

Row = dict[str, str | None]


def read_query_set(source: InputFile) -> FileContents:
    """Queries; any line that is neither JSON nor ``query: "...", answer: "..."`` is a query."""
    data = source.everything(_MAX_BYTES)
    first_byte = data.removeprefix(BOM).lstrip()[:1]
    other_fields: dict[str, Json] = {}
    if first_byte == b"{" and _TEXT not in find_key_paths(data[: 1 << 16]):
        query_set = opensearch_judgments.read_single_document(source, "query sets")
        other_fields = query_set.values_except(_LIST)
        queries = _read_queries(query_set)
    else:
        queries = _read_lines(data, source.label)
    rows_by_text: dict[str, Row] = {}
    repeated_texts = []
    for query in queries:
        text = query.id(_TEXT)
        row: Row = {"query_id": text, "text": text}
        row |= {"reference_answer": answer} if (answer := query.text(_ANSWER)) else {}
        repeated_texts += [text] if text in rows_by_text else []
        rows_by_text.setdefault(text, row | query.texts(_TEXT, _ANSWER, *row))
    return FileContents(
        queries=string_table([*rows_by_text.values()], _FIRST_COLUMNS) if rows_by_text else None,
        extra={_QUERY_SET_NAME: {"set": other_fields}} if other_fields else {},
        notes=Note.of("queries that appear twice, read once", repeated_texts),
    )


def _read_queries(query_set: JsonRecord) -> Iterator[JsonRecord]:
    """Read queries from a list of objects or strings, or from an object of frequencies."""
    queries, label = query_set.get(_LIST), query_set.label
    if isinstance(queries, dict):
        for query, count in queries.items():
            yield JsonRecord({_TEXT: query, "frequency": count}, label, f"{_LIST}.{query}")
    elif queries is not None:
        for index, query in enumerate(query_set.require(_LIST, list)):
            fields = query if isinstance(query, dict) else {_TEXT: query}
            yield JsonRecord(fields, label, f"{_LIST}[{index}]")


def _read_lines(data: bytes, label: str) -> Iterator[JsonRecord]:
    for line, piece in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        content = piece.strip()
        if content.startswith(b"{"):
            fields: Any = parse_json(content, label, line)
        else:
            text = decode_utf8(content, label, line)
            match = _QUERY_AND_ANSWER.match(text)
            query, answer = (match["query"], match["answer"]) if match else (text, None)
            fields = {_TEXT: _unquote(query), _ANSWER: _unquote(answer)}
        if content:
            yield JsonRecord(fields, label, line=line)


def _unquote(text: str | None) -> str | None:
    """A text without quotes around it."""
    if text and text.startswith('"') and text.endswith('"') and len(text) > 1:
        try:
            return str(json.loads(text))
        except ValueError:
            return text[1:-1]
    return text


def write_query_set(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the set: queries by their texts, with their expected answers.

    Without its own queries, the queries of the judgments or of a run are written.
    """
    other_fields = format_data(contents, _QUERY_SET_NAME).get("set", {})
    rated_queries = query_ids(contents.only("qrels", "ratings")) or query_ids(contents)
    rows = rows_by_id(contents.queries, "query_id") or {query: {} for query in rated_queries}
    if not rows and not other_fields:
        raise InputError("no queries in it; a query set needs some.", code="no-queries")
    query_entries = []
    for query, row in rows.items():
        answer = {_ANSWER: row["reference_answer"]} if row.get("reference_answer") else {}
        query_entries.append({_TEXT: row.get("text", query), **answer})
    set_fields = other_fields or {"name": "queries", "description": "", "sampling": "manual"}
    write_json(out, {**set_fields, _LIST: query_entries} if query_entries else set_fields)
    return (
        *find_losses(contents, _QUERY_SET_NAME, "queries", queries=("text", "reference_answer")),
        *id_losses(query for query, row in rows.items() if row.get("text", query) != query),
    )


QUERY_SET_FORMAT = Format(
    name=_QUERY_SET_NAME,
    title="OpenSearch's query sets",
    suffixes=(".json", ".ndjson", ".txt"),
    sniff=opensearch_judgments.detect_inner_keys(
        ("an object with querySetQueries", f"{_LIST}|querySetSize"),
        ("lines of objects with queryText", _TEXT),
        ('lines of query: "..." with answer: "..."', rb'\A(?:\xef\xbb\xbf)?\s*query:\s*"'),
    ),
    read=read_query_set,
    write=write_query_set,
    holds=("queries",),
    loses="judgments, runs, ids besides texts",
    detail=(
        "The body that makes a query set (queries as objects, strings, or with their frequency), or a file "
        'for upload: lines of {"queryText": ...}, lines of query: "...", answer: "...", or plain lines, for '
        "which the format must be named."
    ),
)


_QUERY_METRICS_NAME = "opensearch-metrics"
_TIME_KEYS = ("timestamp", "datetime")
_ID_KEYS = ("search_config", "query", "metric")
_EXTRA_KEYS = ("query_set_id", "application", "evaluation_id")
_QUERY_METRICS_COLUMNS: Schema = {**VALUES, **dict.fromkeys(_EXTRA_KEYS, pl.String)}


def read_query_metrics(source: InputFile) -> FileContents:
    """Read values; the search configuration is the run. Action lines of a bulk request are kept."""
    rows: list[tuple[object, ...]] = []
    actions: list[JsonObject] = []
    unread_fields: dict[str, None] = {}
    time_key = None
    for record in read_line_records(source):
        if "metric" not in record and len(record) == 1:
            actions.append(record.values_except())
            continue
        time_key = time_key or next((key for key in _TIME_KEYS if key in record), None)
        text = record.text(time_key) if time_key else None
        time = parse_time(text, f"'{time_key}'", source.label, record.line) if text else None
        ids = map(record.id, _ID_KEYS)
        record.require("value")
        rows.append((*ids, record.number("value"), time, *map(record.text, _EXTRA_KEYS)))
        unread_fields |= record.values_except(*_TIME_KEYS, *_EXTRA_KEYS, *_ID_KEYS, "value")
    table = pl.DataFrame(rows, schema=_QUERY_METRICS_COLUMNS, orient="row")
    bulk = actions if len(actions) == len(rows) else []
    return FileContents(
        values=table,
        extra={_QUERY_METRICS_NAME: {"time": time_key or _TIME_KEYS[0], "actions": bulk}},
        notes=Note.of("fields that are not read", unread_fields),
    )


def write_query_metrics(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a line for each value, with the time key of the source file, or the newer key."""
    values, format_extra = contents.values, format_data(contents, _QUERY_METRICS_NAME)
    if values is None:
        raise InputError(
            "no values of metrics in it; a metric store is a list of them.", code="no-such-content"
        )
    time_key, actions = format_extra.get("time", _TIME_KEYS[0]), format_extra.get("actions", [])
    bulk = actions if len(actions) == len(values) else []
    lines: list[JsonObject] = []
    overall = values.filter(pl.col("query_id").is_null()).select(pl.format("{} {}", "run", "metric"))
    for index, row in enumerate(values.iter_rows(named=True)):
        if row["query_id"] is None:
            continue
        lines += [bulk[index]] if bulk else []
        fields = {
            time_key: format_time(row.get("at"), zone=time_key == _TIME_KEYS[0]),
            "search_config": row["run"],
            "query_set_id": row.get("query_set_id"),
            "query": row["query_id"],
            "metric": row["metric"],
            "value": row["value"],
            "application": row.get("application"),
            "evaluation_id": row.get("evaluation_id"),
        }
        kept_keys = ("value", time_key)
        lines.append({key: field for key, field in fields.items() if field is not None or key in kept_keys})
    write_json_lines(out, lines)
    return (
        *find_losses(contents, _QUERY_METRICS_NAME, "values"),
        *Loss.of("values over all queries", overall.to_series()),
    )


QUERY_METRICS_FORMAT = Format(
    name=_QUERY_METRICS_NAME,
    title="OpenSearch's metric store",
    suffixes=(".ndjson", ".jsonl"),
    sniff=detect_keys(
        (
            "lines with search_config, query, metric and value",
            "search_config",
            "metric",
            "value",
            "timestamp|datetime",
        )
    ),
    read=read_query_metrics,
    write=write_query_metrics,
    holds=("values",),
    loses="judgments, runs, values over all queries",
    detail=(
        "The long form that dashboards read: timestamp (in an older generation datetime), search_config, "
        "query_set_id, query, metric, value, application and evaluation_id, one object a line, with or "
        "without the action lines of a bulk request."
    ),
)
