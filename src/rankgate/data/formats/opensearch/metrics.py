"""The metric store of OpenSearch's dashboards: one value of one metric for one query a line."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.writing import lost, own
from rankgate.data.text.json_keys import have, matching
from rankgate.data.text.json_reader import a_text, an_id
from rankgate.data.text.json_text import dumped, number, objects
from rankgate.data.text.times import moment, stamp

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "opensearch-metrics"
_TIMES = ("timestamp", "datetime")
_MORE = ("query_set_id", "application", "evaluation_id")
_COLUMNS = VALUES | dict.fromkeys(_MORE, pl.String)


def sniff(head: bytes, name: str) -> str | None:
    """Lines with a search configuration, a metric and a value."""
    if have(head, "search_config", "metric", "value") and matching(head, "timestamp|datetime"):
        return "lines with search_config, query, metric and value"
    return None


def read(source: InputFile) -> FileContents:
    """Values; the search configuration is the run. Lines of a bulk request's actions are kept."""
    label = source.label
    rows: list[tuple[Any, ...]] = []
    actions: list[Any] = []
    unknown: dict[str, None] = {}
    time, moments = None, dict[str, "datetime"]()
    for line, found in objects(source):
        if "metric" not in found and len(found) == 1:
            actions.append(found)
            continue
        where = f"line {line}"
        time = time or next((key for key in _TIMES if key in found), None)
        text = a_text(found, time, where, label) if time else None
        if text and text not in moments:
            moments[text] = moment(text, f"'{time}'", label, line)
        values = [an_id(found, key, where, label) for key in ("search_config", "query", "metric")]
        if "value" not in found:
            raise InputError(
                f"{where} has no 'value'.", source=label, line=line, code="missing-key"
            )
        value = found["value"]
        shown = None if value is None else number(value, "value", label, line)
        more = (a_text(found, key, where, label) for key in _MORE)
        rows.append((*values, shown, moments.get(text or ""), *more))
        unknown |= dict.fromkeys(
            found.keys() - {*_TIMES, *_MORE, "search_config", "query", "metric", "value"}
        )
    table = pl.DataFrame(rows, schema=_COLUMNS, orient="row")
    bulk = actions if len(actions) == len(rows) else []
    return FileContents(
        values=table,
        extra={_NAME: {"time": time or _TIMES[0], "actions": bulk}},
        notes=Note.of("fields that are not read", unknown),
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A line a value, in the generation it was read from; the newer one otherwise."""
    values, kept = contents.values, own(contents, _NAME)
    if values is None:
        raise InputError(
            "no values of metrics in it; a metric store is a list of them.", code="no-such-content"
        )
    time, actions = kept.get("time", _TIMES[0]), kept.get("actions", [])
    bulk = actions if len(actions) == len(values) else []
    lines, overall = [], []
    for index, row in enumerate(values.iter_rows(named=True)):
        if row["query_id"] is None:
            overall.append(f"{row['run']} {row['metric']}")
            continue
        if bulk:
            lines.append(dumped(bulk[index]))
        at = stamp(row.get("at"), zone=time == _TIMES[0])
        named = {"search_config": row["run"], "query_set_id": row.get("query_set_id")}
        named |= {"query": row["query_id"], "metric": row["metric"], "value": row["value"]}
        named |= {key: row.get(key) for key in _MORE[1:]}
        lines.append(
            dumped({time: at, **{k: v for k, v in named.items() if v is not None or k == "value"}})
        )
    out.write("".join(f"{line}\n" for line in lines).encode())
    return (*lost(contents, _NAME, "values"), *Loss.of("values over all queries", overall))


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
