"""Quepid's general export: each query of a case with its score and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.duplicates import refuse_repeated
from rankgate.data.formats.collected import VALUES
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import known, lost, lost_columns, own
from rankgate.data.text import sheet
from rankgate.data.text.times import moment, stamp

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
    **{ours: (theirs.lower(),) for ours, theirs in _TEXTS.items()},
}


def sniff(head: bytes, name: str) -> str | None:
    """The columns of a case's queries."""
    if {"case name", "query text", "score", "date last scored"} <= set(sheet.names_of(head)):
        return "the first line names Case Name, Query Text, Score and Date Last Scored"
    return None


def read(source: InputFile) -> FileContents:
    """Queries with their notes, and the value of the case's metric for each."""
    found = sheet.sheet(source, _COLUMNS, numbers=("value",), filled=("query_id",))
    rows = found.rows
    refuse_repeated(rows["query_id"], found.place, "query", code="duplicate-query")
    at = [
        text and moment(text, "Date Last Scored", source.label, found.place.line(row))
        for row, text in enumerate(rows["at"].to_list())
    ]
    case = {name: rows[name][0] for name in _CASE if len(rows) and rows[name][0]}
    values = rows.select(
        pl.lit(case.get("Case Name", source.stem)).alias("run"),
        "query_id",
        pl.lit("score").alias("metric"),
        pl.col("value").cast(pl.Float64),
        pl.Series("at", at, VALUES["at"]),
    )
    texts = [name for name in (*_TEXTS, *found.others) if rows[name].null_count() < len(rows)]
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
    case = own(contents, _NAME).get("case", {})
    scored, more = _scored(contents.values)
    rows: list[dict[str, Any]] = []
    for query, fields in known(queries, "query_id").items():
        value, at = scored.get(query, (None, None))
        row = {name: case.get(name) for name in _CASE}
        row |= {
            "Query Text": fields.get("text") or query,
            "Score": value,
            "Date Last Scored": stamp(at),
        }
        row |= {theirs: fields.get(ours) for ours, theirs in _TEXTS.items()}
        rows.append(row)
    names = [*_CASE, "Query Text", "Score", "Date Last Scored", "Count", *list(_TEXTS.values())[1:]]
    schema = {name: pl.Float64 if name == "Score" else pl.String for name in names}
    table = pl.DataFrame(rows, schema=schema, orient="row").with_columns(sheet.grade("Score"))
    sheet.write(table, out)
    columns = lost_columns("queries", queries, ("query_id", "text", *_TEXTS))
    return (*lost(contents, _NAME, "queries", "values"), *columns, *more)


def _scored(values: pl.DataFrame | None) -> tuple[dict[str, tuple[float, Any]], tuple[Loss, ...]]:
    """The first value of each query, and those that there is no place for."""
    if values is None:
        return {}, ()
    once = values.unique("query_id", keep="first", maintain_order=True)
    columns = (once[name].to_list() for name in ("query_id", "value", "at"))
    found = {query: (value, at) for query, value, at in zip(*columns, strict=True)}
    rest = len(values) - len(once)
    return found, ((Loss("metric values besides the first of a query", rest),) if rest else ())


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
