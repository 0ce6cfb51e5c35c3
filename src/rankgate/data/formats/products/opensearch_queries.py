"""OpenSearch's query sets, and the metric store of its dashboards.

Query sets are queries, optionally with expected answers. The metric store has one value of one
metric for one query per line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import VALUES
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    cell_text,
    column_losses,
    find_losses,
    format_data,
    rows_by_id,
    write_json,
)
from rankgate.data.formats.products import opensearch_judgments
from rankgate.data.text.json_text import (
    describe_type,
    find_key_paths,
    format_json,
    has_keys,
    identifier,
    matches_key,
    number,
    parse_json,
    read_id,
    read_json_objects,
    read_text,
)
from rankgate.data.text.text_values import BOM, decode_utf8, format_time, parse_time

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, Schema
    from rankgate.data.streams.source import InputFile


_FIRST_COLUMNS = ("query_id", "text")
_MAX_BYTES = 64 << 20  # bytes of a file; as Python strings they need ten times the memory
_QUERY_SET_NAME = "opensearch-query-set"
_LIST, _TEXT, _ANSWER = "querySetQueries", "queryText", "referenceAnswer"
_QUERY_AND_ANSWER = re.compile(
    r"""^\s*query:\s*(?P<query>"(?:[^"\\]|\\.)*"|.+?)\s*(?:,\s*answer:\s*(?P<answer>"(?:[^"\\]|\\.)*"|.*?))?\s*$"""
)

Row = dict[str, str | None]


def sniff_query_set(first_bytes: bytes, name: str) -> str | None:
    """querySetQueries, lines of queryText, or lines of query: and answer:."""
    key_paths = opensearch_judgments.inner_key_paths(first_bytes)
    if _LIST in key_paths or "querySetSize" in key_paths:
        return "an object with querySetQueries"
    if first_bytes.removeprefix(BOM).lstrip().startswith(b"{") and _TEXT in find_key_paths(first_bytes):
        return "lines of objects with queryText"
    first_line = first_bytes.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    if re.match(rb"query:\s*\"", first_line):
        return 'lines of query: "..." with answer: "..."'
    return None


def read_query_set(source: InputFile) -> FileContents:
    """Queries; any line that is neither JSON nor ``query: "...", answer: "..."`` is a query."""
    data = source.everything(_MAX_BYTES)
    first_byte = data.removeprefix(BOM).lstrip()[:1]
    other_fields: dict[str, Json] = {}
    if first_byte == b"{" and _TEXT not in find_key_paths(data[: 1 << 16]):
        query_set = opensearch_judgments.read_single_document(source, "query sets")
        other_fields = {key: value for key, value in query_set.items() if key != _LIST}
        rows = list(_read_queries(query_set.get(_LIST), source.label))
    else:
        rows = list(_read_lines(data, source.label))
    rows_by_text: dict[str, Row] = {}
    repeated_texts = []
    for row in rows:
        text = row["query_id"] or ""
        repeated_texts += [text] if text in rows_by_text else []
        rows_by_text.setdefault(text, row)
    return FileContents(
        queries=string_table(list(rows_by_text.values()), _FIRST_COLUMNS) if rows_by_text else None,
        extra={_QUERY_SET_NAME: {"set": other_fields}} if other_fields else {},
        notes=Note.of("queries that appear twice, read once", repeated_texts),
    )


def _read_queries(query_list: Json, label: str) -> Iterator[Row]:
    """Read queries from a list of objects or strings, or from an object of frequencies."""
    if query_list is None:
        return
    if isinstance(query_list, dict):
        for query, count in query_list.items():
            yield _make_row({_TEXT: query, "frequency": count}, f"{_LIST}.{query}", label)
        return
    if not isinstance(query_list, list):
        raise InputError(
            f"'{_LIST}' is {describe_type(query_list)}, where a list is needed.",
            source=label,
            code="wrong-type",
        )
    for index, query in enumerate(query_list):
        json_path = f"{_LIST}[{index}]"
        yield _make_row(query if isinstance(query, dict) else {_TEXT: query}, json_path, label)


def _make_row(query: dict[str, Json], json_path: str, label: str, line: int | None = None) -> Row:
    if _TEXT not in query:
        raise InputError(f"{json_path} has no '{_TEXT}'.", source=label, line=line, code="missing-key")
    text = identifier(query[_TEXT], f"'{_TEXT}' of {json_path}", label, line)
    row: Row = {"query_id": text, "text": text}
    if answer := read_text(query, _ANSWER, json_path, label):
        row["reference_answer"] = answer
    known_keys = {_TEXT, _ANSWER, *row}
    return row | {key: cell_text(value) for key, value in query.items() if key not in known_keys}


def _read_lines(data: bytes, label: str) -> Iterator[Row]:
    for line, piece in enumerate(data.removeprefix(BOM).split(b"\n"), 1):
        content = piece.strip()
        if not content:
            continue
        if content.startswith(b"{"):
            fields = parse_json(content, label, line)
            assert isinstance(fields, dict)
            yield _make_row(fields, "the line", label, line)
            continue
        text = decode_utf8(content, label, line)
        match = _QUERY_AND_ANSWER.match(text)
        query, answer = (match["query"], match["answer"]) if match else (text, None)
        yield _make_row({_TEXT: _unquote(query), _ANSWER: _unquote(answer)}, "the line", label, line)


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
    queries = contents.queries
    rows = rows_by_id(queries, "query_id") or {query: {} for query in _query_ids(contents)}
    if not rows and not other_fields:
        raise InputError("no queries in it; a query set needs some.", code="no-queries")
    query_entries = []
    for query, row in rows.items():
        query_entry = {_TEXT: row.get("text", query)}
        if row.get("reference_answer"):
            query_entry[_ANSWER] = row["reference_answer"]
        query_entries.append(query_entry)
    set_fields = other_fields or {"name": "queries", "description": "", "sampling": "manual"}
    write_json(out, {**set_fields, _LIST: query_entries} if query_entries else set_fields)
    renamed_ids = [query for query, row in rows.items() if row.get("text", query) != query]
    return (
        *find_losses(contents, _QUERY_SET_NAME, "queries"),
        *column_losses("queries", queries, ("query_id", "text", "reference_answer")),
        *Loss.of("ids of queries; their texts are the ids", renamed_ids),
    )


def _query_ids(contents: FileContents) -> list[str]:
    if contents.qrels:
        judged = contents.qrels.table["query_id"].unique(maintain_order=True).to_list()
        return list(dict.fromkeys([*judged, *contents.qrels.unjudged]))
    tables = [run.table["query_id"].unique(maintain_order=True).to_list() for run in contents.runs]
    return list(dict.fromkeys(query for table in tables for query in table))


QUERY_SET_FORMAT = Format(
    name=_QUERY_SET_NAME,
    title="OpenSearch's query sets",
    suffixes=(".json", ".ndjson", ".txt"),
    sniff=sniff_query_set,
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
_EXTRA_KEYS = ("query_set_id", "application", "evaluation_id")
_QUERY_METRICS_COLUMNS: Schema = {**VALUES, **dict.fromkeys(_EXTRA_KEYS, pl.String)}


def sniff_query_metrics(first_bytes: bytes, name: str) -> str | None:
    """Lines with a search configuration, a metric and a value."""
    if has_keys(first_bytes, "search_config", "metric", "value") and matches_key(
        first_bytes, "timestamp|datetime"
    ):
        return "lines with search_config, query, metric and value"
    return None


def read_query_metrics(source: InputFile) -> FileContents:
    """Read values; the search configuration is the run. Action lines of a bulk request are kept."""
    label = source.label
    rows: list[tuple[object, ...]] = []
    actions: list[Any] = []
    unknown: dict[str, None] = {}
    time_key, times = None, dict[str, "datetime"]()
    for line, fields in read_json_objects(source):
        if "metric" not in fields and len(fields) == 1:
            actions.append(fields)
            continue
        line_label = f"line {line}"
        time_key = time_key or next((key for key in _TIME_KEYS if key in fields), None)
        text = read_text(fields, time_key, line_label, label) if time_key else None
        if text and text not in times:
            times[text] = parse_time(text, f"'{time_key}'", label, line)
        ids = [read_id(fields, key, line_label, label) for key in ("search_config", "query", "metric")]
        if "value" not in fields:
            raise InputError(f"{line_label} has no 'value'.", source=label, line=line, code="missing-key")
        value = fields["value"]
        metric_value = None if value is None else number(value, "value", label, line)
        extra_texts = (read_text(fields, key, line_label, label) for key in _EXTRA_KEYS)
        rows.append((*ids, metric_value, times.get(text or ""), *extra_texts))
        unknown |= dict.fromkeys(
            fields.keys() - {*_TIME_KEYS, *_EXTRA_KEYS, "search_config", "query", "metric", "value"}
        )
    table = pl.DataFrame(rows, schema=_QUERY_METRICS_COLUMNS, orient="row")
    bulk = actions if len(actions) == len(rows) else []
    return FileContents(
        values=table,
        extra={_QUERY_METRICS_NAME: {"time": time_key or _TIME_KEYS[0], "actions": bulk}},
        notes=Note.of("fields that are not read", unknown),
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
    lines, overall = [], []
    for index, row in enumerate(values.iter_rows(named=True)):
        if row["query_id"] is None:
            overall.append(f"{row['run']} {row['metric']}")
            continue
        if bulk:
            lines.append(format_json(bulk[index]))
        time_text = format_time(row.get("at"), zone=time_key == _TIME_KEYS[0])
        fields = {"search_config": row["run"], "query_set_id": row.get("query_set_id")}
        fields |= {"query": row["query_id"], "metric": row["metric"], "value": row["value"]}
        fields |= {key: row.get(key) for key in _EXTRA_KEYS[1:]}
        lines.append(
            format_json(
                {
                    time_key: time_text,
                    **{
                        key: field_value
                        for key, field_value in fields.items()
                        if field_value is not None or key == "value"
                    },
                }
            )
        )
    out.write("".join(f"{line}\n" for line in lines).encode())
    return (
        *find_losses(contents, _QUERY_METRICS_NAME, "values"),
        *Loss.of("values over all queries", overall),
    )


QUERY_METRICS_FORMAT = Format(
    name=_QUERY_METRICS_NAME,
    title="OpenSearch's metric store",
    suffixes=(".ndjson", ".jsonl"),
    sniff=sniff_query_metrics,
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
