"""A table as every other kind of source: files of all formats of tables, and tables in memory."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
from collections import namedtuple
from itertools import starmap

import duckdb
import openpyxl
import polars as pl
import zstandard


def write_sqlite(tables, path):
    """Tables by name in a database of SQLite; the open connection."""
    with sqlite3.connect(path) as connection:
        for name, table in tables.items():
            columns = ", ".join(f'"{column}"' for column in table.columns)
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            marks = ", ".join("?" * table.width)
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', table.rows())  # noqa: S608 - made here
    return connection


def write_duckdb(tables, path):
    """Tables by name in a database of DuckDB."""
    with duckdb.connect(str(path)) as connection:
        for name, table in tables.items():
            connection.register("rows", table.to_arrow())
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM rows')  # noqa: S608 - made here


def write_excel(tables, path):
    """Tables by name in sheets of a workbook, whose first sheet is empty."""
    book = openpyxl.Workbook()
    for name, table in tables.items():
        sheet = book.create_sheet(name)
        for row in [table.columns, *table.rows()]:
            sheet.append(row)
    book.save(path)


def _named_tuples(table):
    row = namedtuple("Row", table.columns, rename=True)  # noqa: PYI024 - the columns are those of a sample
    return [*starmap(row, table.rows())]


def _sqlite_rows(table):
    connection = write_sqlite({"t": table}, ":memory:")
    connection.row_factory = sqlite3.Row
    return connection.execute("SELECT * FROM t").fetchall()


TEXT = {
    f"{name}.csv": lambda table, path, separator=separator: table.write_csv(path, separator=separator)
    for name, separator in {"commas": ",", "tabs": "\t", "semicolons": ";", "bars": "|"}.items()
}
BINARY = {
    "table.json": lambda table, path: path.write_text(json.dumps(table.to_dicts())),
    "table.parquet": lambda table, path: table.write_parquet(path),
    "table.arrow": lambda table, path: table.write_ipc(path),
    "table.xlsx": lambda table, path: write_excel({"t": table}, path),
    "table.sqlite": lambda table, path: write_sqlite({"t": table}, path).close(),
    "table.duckdb": lambda table, path: write_duckdb({"t": table}, path),
}
MEMORY = {
    "polars": lambda table: table,
    "lazy": lambda table: table.lazy(),
    "arrow": lambda table: table.to_arrow(),
    "pandas": lambda table: table.to_pandas(),
    "columns": lambda table: table.to_dict(as_series=False),
    "rows": lambda table: table.to_dicts(),
    "cursor": lambda table: write_sqlite({"t": table}, ":memory:").execute("SELECT * FROM t"),
    "iterator": lambda table: iter(table.to_dicts()),
    "named tuples": _named_tuples,
    "sqlite rows": _sqlite_rows,
    "relation": lambda table: duckdb.from_arrow(table.to_arrow()),
}
WRITERS = {**TEXT, "table.jsonl": lambda table, path: table.write_ndjson(path), **BINARY}
FLAT = {*TEXT, "table.xlsx", "table.sqlite", "cursor", "sqlite rows"}
READ_ONCE = {"cursor", "iterator"}
ROWS = ("rows", "iterator", "named tuples", "sqlite rows")
GROUPS = {"text": TEXT, "binary": BINARY, "memory": MEMORY, "rows": ROWS}
PACKERS = {
    "gz": gzip.compress,
    "two.gz": lambda content: gzip.compress(content[:20]) + gzip.compress(content[20:]),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}


def table_of(path, separator=None, *, is_text=False):
    """The table of a file as a user reads it into a frame; None if the file is not one."""
    if path.suffix in {".csv", ".tsv"}:
        separator = separator or ("\t" if path.suffix == ".tsv" else ",")
        return pl.read_csv(path, separator=separator, infer_schema=not is_text)
    if path.suffix == ".jsonl":
        return pl.read_ndjson(path.read_bytes().removeprefix(b"\xef\xbb\xbf"), infer_schema_length=None)
    value = json.loads(path.read_text("utf-8")) if path.suffix == ".json" else None
    return pl.DataFrame(value) if isinstance(value, list) and isinstance(value[0], dict) else None


def lists_as_text(table):
    """The table with its lists as texts of JSON, for files and databases without lists."""
    lists = [column for column in table if isinstance(column.dtype, pl.List)]
    texts = ([cell if cell is None else json.dumps(cell.to_list()) for cell in column] for column in lists)
    return table.with_columns(
        pl.Series(column.name, cells) for column, cells in zip(lists, texts, strict=True)
    )


def answer_sources(path, folder):
    """The answers to queries in one object of a file as other forms, by name."""
    answers = json.loads(path.read_text("utf-8"))
    named = [{"query_id": query, **answer} for query, answer in answers.items()]
    nested = [{"query_id": query, "response": answer} for query, answer in answers.items()]
    texts = {
        "beside.ndjson": "\n".join(map(json.dumps, named)),
        "around.jsonl": "\n".join(map(json.dumps, nested)) + "\n",
        "list.json": json.dumps(named, indent=1),
    }
    (folder / "answers").mkdir()
    for query, answer in answers.items():
        (folder / "answers" / f"{query}.json").write_text(json.dumps(answer, indent=2))
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name: str(folder / name) for name in [*texts, "answers"]}
