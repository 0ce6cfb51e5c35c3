"""The queries that an engine is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.data import contents_of
from rankgate.data.columns import ALIASES
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.streams.source import InputFile, source
from rankgate.engines.engine import Query
from rankgate.errors import InputError

if TYPE_CHECKING:
    import polars as pl

QueriesLike: TypeAlias = "str | Path | Mapping[str, str] | pl.DataFrame"
"""Queries: a file in any format that holds their texts, ``{query_id: text}``, or a frame."""


def queries_of(given: QueriesLike) -> list[Query]:
    """Every query with its text, in order.

    Raises:
        InputError: no queries, no texts, a query twice or without a text.
    """
    label = str(given) if isinstance(given, str | Path) else "queries"
    rows = list(_rows(given, label))
    if not rows:
        raise InputError("there are no queries in it.", source=label, code="no-queries")
    seen: set[str] = set()
    for query_id, text, line in rows:
        if query_id in seen:
            problem = f"query {query_id!r} is there twice; keep one."
            raise InputError(problem, source=label, line=line, code="duplicate-query")
        if text is None or not str(text).strip():
            problem = f"query {query_id!r} has no text; give it one, or leave it out."
            raise InputError(problem, source=label, line=line, code="no-such-content")
        seen.add(query_id)
    return [Query(str(query_id), str(text)) for query_id, text, _ in rows]


def _rows(given: QueriesLike, label: str) -> list[tuple[Any, Any, int | None]]:
    """Ids and texts, and their lines where these are known."""
    if isinstance(given, Mapping):
        return [(query_id, text, None) for query_id, text in given.items()]
    if isinstance(given, str | Path) and (rows := _two_columns(source(given))):
        return rows
    table = polars_frame(given, "queries") if is_frame(given) else contents_of(given).queries  # type: ignore[arg-type]
    if table is None or not {"query_id", "text"} <= set(table.columns):
        problem = "it holds no texts of queries; columns query_id and text are needed."
        raise InputError(problem, source=label, code="no-such-content")
    return [(*row, None) for row in table.select("query_id", "text").iter_rows()]


def _two_columns(place: InputFile) -> list[tuple[str, str, int | None]]:
    """Ids, texts and lines of a file without a header and with one tab a line; else nothing."""
    text = b"".join(place.chunks()).removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    rows = [line.rstrip("\r").split("\t") for _, line in lines]
    named = {*ALIASES["query_id"], *ALIASES["text"]}
    if not rows or any(len(row) != 2 for row in rows) or {*map(str.lower, rows[0])} & named:
        return []
    return [
        (query_id.strip(), words.strip(), number)
        for (number, _), (query_id, words) in zip(lines, rows, strict=True)
    ]
