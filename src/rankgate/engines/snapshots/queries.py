"""The queries of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.declare.parameter import parse_literal
from rankgate.core.errors import InputError
from rankgate.data import contents_of
from rankgate.data.columns import ALIASES
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.formats.registry import split_prefix
from rankgate.data.streams.source import InputFile, open_source
from rankgate.data.text.utf8 import BOM, decode_utf8
from rankgate.engines.engine import Query

if TYPE_CHECKING:
    import polars as pl

QueriesLike: TypeAlias = "str | Path | Mapping[str, str] | pl.DataFrame | list[Query]"
"""Queries: a file in any format that holds their texts, ``{query_id: text}``, or a frame.

Other columns are parameters of the engine, where it has parameters of their names."""


def queries_of(queries: QueriesLike) -> list[Query]:
    """Every query with its text, in order.

    Raises:
        InputError: no queries, no texts, a query twice or without a text.
    """
    label = str(queries) if isinstance(queries, str | Path) else "queries"
    if isinstance(queries, list):
        return queries
    rows = list(_rows(queries, label))
    if not rows:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    seen_ids: set[str] = set()
    for query_id, text, line, _ in rows:
        if query_id in seen_ids:
            problem = f"query {query_id!r} is there twice; keep one."
            raise InputError(problem, source=label, line=line, code="duplicate-query")
        if text is None or not str(text).strip():
            problem = f"query {query_id!r} has no text; give it one, or leave it out."
            raise InputError(problem, source=label, line=line, code="no-such-content")
        seen_ids.add(query_id)
    return [Query(str(query_id), str(text), values) for query_id, text, _, values in rows]


def _rows(queries: Any, label: str) -> list[tuple[Any, Any, int | None, Mapping[str, Any]]]:
    """Ids and texts, their lines where they are known, and other columns."""
    if isinstance(queries, Mapping):
        return [(query_id, text, None, {}) for query_id, text in queries.items()]
    if isinstance(queries, str | Path) and split_prefix(queries)[0] is None:
        rows = _two_columns(open_source(queries))
        if rows:
            return rows
    table = polars_frame(queries, "queries") if is_frame(queries) else contents_of(queries).queries
    if table is None or not {"query_id", "text"} <= set(table.columns):
        problem = "it holds no texts of queries; columns query_id and text are needed."
        raise InputError(problem, source=label, code="no-such-content")
    return [
        (row.pop("query_id"), row.pop("text"), None, _values(row))
        for row in table.iter_rows(named=True)
    ]


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as parameter values of a command line, without empty cells."""
    return {
        name: parse_literal(value) if isinstance(value, str) else value
        for name, value in row.items()
        if value not in (None, "")
    }


def _is_header(first: str, second: str) -> bool:
    """True if two cells name columns; a query may also be called title, or query."""
    id_names, text_names = ALIASES["query_id"], ALIASES["text"]
    first, second = first.strip().lower(), second.strip().lower()
    return first in id_names or (first in text_names and second in id_names)


def _two_columns(input_file: InputFile) -> list[tuple[str, str, int | None, Mapping[str, Any]]]:
    """Ids, texts and lines of a file without a header and with one tab a line; else empty.

    Raises:
        InputError: it is not UTF-8, with the line.
    """
    data = b"".join(input_file.chunks())
    lines = [
        (number, line)
        for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1)
        if line.strip()
    ]
    if not lines or any(line.count(b"\t") != 1 for _, line in lines):
        return []
    text = decode_utf8(data, input_file.label).removeprefix("\ufeff").split("\n")
    rows = [text[number - 1].rstrip("\r").split("\t") for number, _ in lines]
    if _is_header(*rows[0]):
        return []
    return [
        (query_id.strip(), query_text.strip(), number, {})
        for (number, _), (query_id, query_text) in zip(lines, rows, strict=True)
    ]
