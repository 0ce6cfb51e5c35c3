"""The metric store of OpenSearch's dashboards: one value of one metric for one query per line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.writing import find_losses, format_data
from rankgate.data.text.json_keys import has_keys, matches_key
from rankgate.data.text.json_reader import read_id, read_text
from rankgate.data.text.json_text import format_json, number, read_json_objects
from rankgate.data.text.times import format_time, parse_time

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-metrics"
_TIME_KEYS = ("timestamp", "datetime")
_EXTRA_KEYS = ("query_set_id", "application", "evaluation_id")
_COLUMNS = VALUES | dict.fromkeys(_EXTRA_KEYS, pl.String)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Lines with a search configuration, a metric and a value."""
    if has_keys(first_bytes, "search_config", "metric", "value") and matches_key(
        first_bytes, "timestamp|datetime"
    ):
        return "lines with search_config, query, metric and value"
    return None


def read(source: InputFile) -> FileContents:
    """Values; the search configuration is the run. Action lines of a bulk request are kept."""
    label = source.label
    rows: list[tuple[Any, ...]] = []
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
        ids = [
            read_id(fields, key, line_label, label) for key in ("search_config", "query", "metric")
        ]
        if "value" not in fields:
            raise InputError(
                f"{line_label} has no 'value'.", source=label, line=line, code="missing-key"
            )
        value = fields["value"]
        metric_value = None if value is None else number(value, "value", label, line)
        extra_texts = (read_text(fields, key, line_label, label) for key in _EXTRA_KEYS)
        rows.append((*ids, metric_value, times.get(text or ""), *extra_texts))
        unknown |= dict.fromkeys(
            fields.keys() - {*_TIME_KEYS, *_EXTRA_KEYS, "search_config", "query", "metric", "value"}
        )
    table = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    bulk = actions if len(actions) == len(rows) else []
    return FileContents(
        values=table,
        extra={_NAME: {"time": time_key or _TIME_KEYS[0], "actions": bulk}},
        notes=Note.of("fields that are not read", unknown),
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a line for each value, with the time key of the source file, else the newer one."""
    values, format_extra = contents.values, format_data(contents, _NAME)
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
    return (*find_losses(contents, _NAME, "values"), *Loss.of("values over all queries", overall))


FORMAT = Format(
    name=_NAME,
    title="OpenSearch's metric store",
    suffixes=(".ndjson", ".jsonl"),
    sniff=sniff,
    read=read,
    write=write,
    holds=("values",),
    loses="judgments, runs, values over all queries",
    detail=(
        "The long form that dashboards read: timestamp (in an older generation datetime), "
        "search_config, query_set_id, query, metric, value, application and evaluation_id, one "
        "object a line, with or without the action lines of a bulk request."
    ),
)
