"""Quepid's information needs: ``query,information_need``."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.duplicates import refuse_repeated
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import column_losses, find_losses
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "information-need"
_COLUMNS = {"query_id": ("query",), "information_need": ("information_need",)}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns query and information_need, and no document."""
    names = set(sheet.read_column_names(first_bytes))
    if {"query", "information_need"} <= names and not names & {"docid", "doc_id", "rating"}:
        return "the first line names query and information_need"
    return None


def read(source: InputFile) -> FileContents:
    """Queries with their information needs."""
    csv_sheet = sheet.read_sheet(source, _COLUMNS, filled=("query_id",))
    rows = csv_sheet.rows
    if "information_need" in csv_sheet.absent:
        names = ", ".join(csv_sheet.others)[:200]
        problem = f"no column information_need among query, {names}."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    refuse_repeated(rows["query_id"], csv_sheet.place, "query", code="duplicate-query")
    text = pl.col("query_id").alias("text")
    return FileContents(
        queries=rows.select("query_id", text, "information_need", *csv_sheet.others)
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write two columns; a query is written by its text."""
    queries = contents.queries
    if queries is None or "text" not in queries.columns:
        raise InputError(
            "no queries with their texts in it; this format is a list of them.", code="no-queries"
        )
    if "information_need" not in queries.columns:
        queries = queries.with_columns(pl.lit(None, pl.String).alias("information_need"))
    query = pl.col("text").fill_null(pl.col("query_id")).alias("query")
    sheet.write_sheet(queries.select(query, "information_need"), out)
    renamed_queries = queries.filter(pl.col("text") != pl.col("query_id"))["query_id"].to_list()
    return (
        *find_losses(contents, _NAME, "queries"),
        *column_losses("queries", queries, ("query_id", "text", "information_need")),
        *Loss.of("ids of queries, which are called by their texts", renamed_queries),
    )


FORMAT = Format(
    name=_NAME,
    title="Quepid's information needs",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("queries",),
    loses="judgments, runs, ids besides texts",
    detail="CSV with the columns query and information_need: what people want when they ask.",
)
