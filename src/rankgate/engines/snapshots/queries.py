"""The queries that an engine is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.declare.parameter import literal
from rankgate.core.errors import InputError
from rankgate.data import contents_of
from rankgate.data.columns import ALIASES
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.streams.source import InputFile, source
from rankgate.data.text.utf8 import BOM, decoded
from rankgate.engines.engine import Query

if TYPE_CHECKING:
    import polars as pl

QueriesLike: TypeAlias = "str | Path | Mapping[str, str] | pl.DataFrame | list[Query]"
"""Queries: a file in any format that holds their texts, ``{query_id: text}``, or a frame.

Other columns are parameters of the engine, where it has parameters of their names."""


def queries_of(given: QueriesLike) -> list[Query]:
    """Every query with its text, in order.

    Raises:
        InputError: no queries, no texts, a query twice or without a text.
    """
    label = str(given) if isinstance(given, str | Path) else "queries"
    if isinstance(given, list):
        return given
    rows = list(_rows(given, label))
    if not rows:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    seen: set[str] = set()
    for query_id, text, line, _ in rows:
        if query_id in seen:
            problem = f"query {query_id!r} is there twice; keep one."
            raise InputError(problem, source=label, line=line, code="duplicate-query")
        if text is None or not str(text).strip():
            problem = f"query {query_id!r} has no text; give it one, or leave it out."
            raise InputError(problem, source=label, line=line, code="no-such-content")
        seen.add(query_id)
    return [Query(str(query_id), str(text), values) for query_id, text, _, values in rows]


def _rows(given: Any, label: str) -> list[tuple[Any, Any, int | None, Mapping[str, Any]]]:
    """Ids and texts, their lines where these are known, and other columns."""
    if isinstance(given, Mapping):
        return [(query_id, text, None, {}) for query_id, text in given.items()]
    if isinstance(given, str | Path) and (rows := _two_columns(source(given))):
        return rows
    table = polars_frame(given, "queries") if is_frame(given) else contents_of(given).queries
    if table is None or not {"query_id", "text"} <= set(table.columns):
        problem = "it holds no texts of queries; columns query_id and text are needed."
        raise InputError(problem, source=label, code="no-such-content")
    return [
        (row.pop("query_id"), row.pop("text"), None, _values(row))
        for row in table.iter_rows(named=True)
    ]


def _values(row: Mapping[str, Any]) -> dict[str, Any]:
    """Cells as a command line's values of parameters, without those that are empty."""
    return {
        name: literal(value) if isinstance(value, str) else value
        for name, value in row.items()
        if value not in (None, "")
    }


def _is_header(first: str, second: str) -> bool:
    """True if two cells name columns; a query may well be called title, or query."""
    id_names, text_names = ALIASES["query_id"], ALIASES["text"]
    first, second = first.strip().lower(), second.strip().lower()
    return first in id_names or (first in text_names and second in id_names)


def _two_columns(place: InputFile) -> list[tuple[str, str, int | None, Mapping[str, Any]]]:
    """Ids, texts and lines of a file without a header and with one tab a line; else nothing.

    Raises:
        InputError: it is not UTF-8, with the line.
    """
    data = b"".join(place.chunks())
    lines = [
        (number, line)
        for number, line in enumerate(data.removeprefix(BOM).split(b"\n"), 1)
        if line.strip()
    ]
    if not lines or any(line.count(b"\t") != 1 for _, line in lines):
        return []
    text = decoded(data, place.label).removeprefix("\ufeff").split("\n")
    rows = [text[number - 1].rstrip("\r").split("\t") for number, _ in lines]
    if _is_header(*rows[0]):
        return []
    return [
        (query_id.strip(), words.strip(), number, {})
        for (number, _), (query_id, words) in zip(lines, rows, strict=True)
    ]
