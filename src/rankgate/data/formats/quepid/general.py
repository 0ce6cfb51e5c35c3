"""Quepid's general export: each query of a case with its score and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.duplicates import refuse_repeated
from rankgate.data.formats.collected import VALUES
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import column_losses, find_losses, format_data, rows_by_id
from rankgate.data.text import sheet
from rankgate.data.text.times import format_time, parse_time

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-general"
_CASE = ("Team Name", "Case Name", "Case ID")
_TEXTS = {
    "count": "Count",
    "information_need": "Information Need",
    "notes": "Notes",
    "options": "Options",
}
_COLUMNS = {
    **{name: (name.lower(),) for name in _CASE},
    "query_id": ("query text",),
    "value": ("score",),
    "at": ("date last scored",),
    **{column: (header.lower(),) for column, header in _TEXTS.items()},
}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns of a case's queries."""
    if {"case name", "query text", "score", "date last scored"} <= set(
        sheet.read_column_names(first_bytes)
    ):
        return "the first line names Case Name, Query Text, Score and Date Last Scored"
    return None


def read(source: InputFile) -> FileContents:
    """Queries with their notes, and the value of the case's metric for each."""
    csv_sheet = sheet.read_sheet(source, _COLUMNS, numbers=("value",), filled=("query_id",))
    rows = csv_sheet.rows
    refuse_repeated(rows["query_id"], csv_sheet.place, "query", code="duplicate-query")
    times = [
        text and parse_time(text, "Date Last Scored", source.label, csv_sheet.place.line(row))
        for row, text in enumerate(rows["at"].to_list())
    ]
    case = {name: rows[name][0] for name in _CASE if len(rows) and rows[name][0]}
    values = rows.select(
        pl.lit(case.get("Case Name", source.stem)).alias("run"),
        "query_id",
        pl.lit("score").alias("metric"),
        pl.col("value").cast(pl.Float64),
        pl.Series("at", times, VALUES["at"]),
    )
    texts = [name for name in (*_TEXTS, *csv_sheet.others) if rows[name].null_count() < len(rows)]
    return FileContents(
        queries=rows.select("query_id", pl.col("query_id").alias("text"), *texts),
        values=values,
        extra={_NAME: {"case": case}} if case else {},
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One row a query."""
    queries = contents.queries
    if queries is None:
        raise InputError(
            "no queries with their texts in it; this format is a list of them.", code="no-queries"
        )
    case = format_data(contents, _NAME).get("case", {})
    value_of_query, value_losses = _values_by_query(contents.values)
    rows: list[dict[str, Any]] = []
    for query, fields in rows_by_id(queries, "query_id").items():
        value, time = value_of_query.get(query, (None, None))
        row = {name: case.get(name) for name in _CASE}
        row |= {
            "Query Text": fields.get("text") or query,
            "Score": value,
            "Date Last Scored": format_time(time),
        }
        row |= {header: fields.get(column) for column, header in _TEXTS.items()}
        rows.append(row)
    names = [*_CASE, "Query Text", "Score", "Date Last Scored", "Count", *list(_TEXTS.values())[1:]]
    schema = {name: pl.Float64 if name == "Score" else pl.String for name in names}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        sheet.format_grade("Score")
    )
    sheet.write_sheet(table, out)
    columns = column_losses("queries", queries, ("query_id", "text", *_TEXTS))
    return (*find_losses(contents, _NAME, "queries", "values"), *columns, *value_losses)


def _values_by_query(
    values: pl.DataFrame | None,
) -> tuple[dict[str, tuple[float, Any]], tuple[Loss, ...]]:
    """The first value of each query, and the losses of further values."""
    if values is None:
        return {}, ()
    first_values = values.unique("query_id", keep="first", maintain_order=True)
    columns = (first_values[name].to_list() for name in ("query_id", "value", "at"))
    value_of_query = {query: (value, time) for query, value, time in zip(*columns, strict=True)}
    further_count = len(values) - len(first_values)
    return value_of_query, (
        (Loss("metric values besides the first of a query", further_count),)
        if further_count
        else ()
    )


FORMAT = Format(
    name=_NAME,
    title="Quepid's general export",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("queries", "values"),
    loses="judgments, runs",
    detail=(
        "CSV with Team Name, Case Name, Case ID, Query Text, Score, Date Last Scored, Count, "
        "Information Need, Notes and Options: the queries of a case with their texts, and the "
        "last value of its metric, called score."
    ),
)
