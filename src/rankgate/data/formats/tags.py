"""Tags of queries, from a file: head or tail, intent, critical."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from rankgate.data.formats.run_meta import read
from rankgate.data.streams.source import source
from rankgate.data.text.utf8 import BOM
from rankgate.errors import InputError

_NAMES = ("query_id", "qid", "query-id", "query", "topic", "user_id", "user")


def tags_from(path: str | Path) -> pl.DataFrame:
    """``query_id`` and a column of strings for each tag.

    Args:
        path: CSV or TSV whose first line names the columns, or JSONL (``.jsonl``), one object a
            query.

    Raises:
        InputError: a file that cannot be read, without queries or tags, a query twice.
    """
    if ".jsonl" in Path(path).suffixes or ".ndjson" in Path(path).suffixes:
        return read(path).drop("state", "latency_ms", "error")
    place = source(path)
    data = b"".join(place.chunks()).removeprefix(BOM)
    separator = "\t" if b"\t" in data.split(b"\n", 1)[0] else ","
    try:
        table = pl.read_csv(data, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        problem = f"cannot be read as a table of tags: {str(error).splitlines()[0]}."
        raise InputError(problem, source=place.label, code="invalid-syntax") from None
    named = {name.strip().lower(): name for name in table.columns}
    theirs = next((named[name] for name in _NAMES if name in named), None)
    if theirs is None or len(table.columns) < 2:  # a query and a tag
        problem = "tags need a column query_id and one or more others; see its first line."
        raise InputError(problem, source=place.label, line=1, code="missing-column")
    table = table.rename({theirs: "query_id"}).with_columns(pl.col("query_id").str.strip_chars())
    twice = table.filter(pl.col("query_id").is_duplicated())
    if len(twice):
        problem = f"query {twice['query_id'][0]!r} appears twice; keep one row."
        raise InputError(problem, source=place.label, code="duplicate-query")
    return table.select("query_id", *(name for name in table.columns if name != "query_id"))
