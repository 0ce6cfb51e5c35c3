"""JSON of any shape: lists or records by query, or rows with lists, perhaps inside other objects.

A file is read as the same object in Python. Only the place of the rankings or rows is looked for:
the only part of the document that could be them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.answers.clients import is_answer
from rankgate.data.column_names import ALIASES
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.table import find_schema, input_kind_of
from rankgate.data.formats.tables import memory_tables
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.text import json_text
from rankgate.data.text.text_values import BOM
from rankgate.data.unfold import LIST_COLUMN, QUERY_IDS, QUERY_TEXTS, RANKED, RELEVANT

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.streams.source import InputFile, InputKind


Content = TypeVar("Content")

_QUERY_KEYS = frozenset((*ALIASES["query_id"], *QUERY_TEXTS, *QUERY_IDS))
_STRING = rb'"(?:[^"\\]|\\.)*+"\s*+'
# the list after "columns" holds names of columns, as pandas and Weights & Biases write tables
_FIRST_LISTS = re.compile(
    rb"\{\s*+(?!\"columns\")"
    + _STRING
    + rb":\s*+\[\s*+(?:"
    + _STRING
    + rb"(?:,\s*+"
    + _STRING
    + rb")*+)?+\]\s*+(?:(?<!\[\])\}|,\s*+"
    + _STRING
    + rb":\s*+\[)",
    re.DOTALL,
)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """An object of queries, each a list of documents."""
    if _FIRST_LISTS.match(first_bytes.removeprefix(BOM).lstrip()):
        return "an object of queries, each a list of documents"
    return None


def find_table(value: Json, number: str = "score") -> Any:
    """The rankings or rows in a JSON value; None if no part, or more than one, could be them.

    >>> find_table({"mode": "text", "relevant_docs": {"q": ["d"]}}, "grade")
    {'q': ['d']}
    >>> find_table({"examples": [{"query": "q", "gold": ["d"]}]})
    [{'query': 'q', 'gold': ['d']}]

    Args:
        value: the value.
        number: ``grade`` or ``score``, where a document has judgments and a run.
    """
    if not isinstance(value, Mapping):
        return value if isinstance(value, list) and value and all(map(is_record, value)) else None
    value = {key: member for key, member in value.items() if member is not None}  # null says nothing
    if _are_lists(ids := value.get("ids")):  # Chroma returns lists of ids without their queries
        return {str(position): row for position, row in enumerate(ids)}
    if columns := _rows_of_columns(value):
        return columns
    if is_record(value) and any(not isinstance(value.get(key), list | dict | None) for key in _QUERY_KEYS):
        return [value]
    if any(value.values()) and all(map(_holds_documents, value.values())):
        return value
    tables = {
        key: table
        for key, member in value.items()
        if (table := find_table(member, number)) is not None
        and (number == "grade" or RANKED.search(key) or not RELEVANT.search(key))
    }
    if len(tables) > 1:
        pattern = RELEVANT if number == "grade" else RANKED
        tables = {key: table for key, table in tables.items() if pattern.search(key)}
    return next(iter(tables.values())) if len(tables) == 1 else None


def has_table(source: InputFile) -> bool:
    """True for valid JSON with a part that could be rankings or rows with queries."""
    try:
        value = json_text.read_document(source)
    except InputError:
        return False
    return _are_lists(value) or any(find_table(value, number) is not None for number in ("score", "grade"))


def _are_lists(value: object) -> TypeGuard[list[Any]]:
    """True for lists of ids alone, or rows of ids and numbers without names, as Python reads them."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, list) and row and all(map(_is_plain, row)) for row in value)
        and any(isinstance(cell, str) for row in value for cell in row)
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def is_record(value: object) -> bool:
    """True for an object with a query and anything else: a row, or one of a product's records."""
    if not isinstance(value, Mapping):
        return False
    inner = (key for member in value.values() if isinstance(member, Mapping) for key in member)
    return len(value) > 1 and any(str(key).lower() in _QUERY_KEYS for key in (*value, *inner))


def _holds_documents(value: object) -> bool:
    """True for the documents of a query: ids, pairs or objects in a list, or numbers by id."""
    if isinstance(value, Mapping):
        has_numbers = all(
            isinstance(number, int | float) and not isinstance(number, bool) for number in value.values()
        )
        return (has_numbers and bool(value)) or is_answer(value)
    return isinstance(value, list) and all(
        (_is_plain(document) and not isinstance(document, float))
        or _is_pair(document)
        or (isinstance(document, dict) and "query" not in document)
        for document in value
    )


def _is_pair(value: object) -> bool:
    """True for a document and its score."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[1], int | float)


def _rows_of_columns(value: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The rows of an object with a list for each column, one of them of queries."""
    columns = list(value.values())
    is_table = any(key.lower() in _QUERY_KEYS for key in value) and all(
        isinstance(column, list) and len(column) == len(columns[0]) for column in columns
    )
    has_lists = is_table and any(isinstance(cell, list) for column in columns for cell in column)
    return [dict(zip(value, row, strict=True)) for row in zip(*columns, strict=True)] if has_lists else None


def _table_in(source: InputFile, number: str) -> Any:
    """The rankings or rows of a file.

    Raises:
        InputError: the JSON is invalid, or no part of it could be them.
    """
    value = json_text.read_document(source)
    table = value if _are_lists(value) else find_table(value, number)
    if table is None:
        keys = ", ".join(list(value)[:10]) if isinstance(value, dict) else json_text.describe_type(value)
        problem = (
            f"no part of it could be rankings or rows with queries ({keys}); write {{query: [document]}}, or "
            "name the parts of rows as in --columns query=inputs.query,docs=outputs.documents."
        )
        code = "no-judgments" if number == "grade" else "no-rankings"
        raise InputError(problem, source=source.label, code=code)
    if isinstance(table, dict) and any(
        _is_pair(row[0]) for row in table.values() if row and isinstance(row, list)
    ):
        return {query: [tuple(pair) for pair in row] for query, row in table.items()}
    return table


def _cells(row: Any) -> Any:
    return row.values() if isinstance(row, Mapping) else row


def _read_as(read: Callable[[Any, str, str], Content], number: str, source: InputFile) -> Content:
    """Read the file as the same object in Python.

    Raises:
        InputError: as for the object; the message names the file.
    """
    table = _table_in(source, number)
    if isinstance(table, list) and (source.paths or not any(map(_is_plain, _cells(table[0])))):
        raise InputError("rows without the named columns.", source=source.label, code="missing-column")
    try:
        return read(table, source.stem, source.label)
    except InputError as error:
        raise InputError(
            error.problem, source=source.label, code=error.code, suggestions=error.suggestions
        ) from None


def read(source: InputFile) -> FileContents:
    """The run that the lists or records are; judgments if they are asked for, or the file names them so.

    Every document of a list of judgments has grade 1. Those of a run are in their order, the best
    first, or in that of their scores.

    Raises:
        InputError: rows, whose lists say what they hold.
    """
    if (source.read_as or _input_kind(source)) == "qrels":
        return FileContents(qrels=_read_as(memory_tables.qrels_of_table, "grade", source))
    return FileContents(runs=(_read_as(memory_tables.run_of_table, "score", source),))


def _input_kind(source: InputFile) -> InputKind:
    value = json_text.read_document(source)
    rows = find_table(value)
    if rows is None and not _are_lists(value):
        return "qrels"
    if not isinstance(rows, list):
        return "run"
    input_kind = input_kind_of(find_schema(list(rows[0])))
    if input_kind is None:
        problem = f"the keys {', '.join(list(rows[0])[:10])} match no known table."
        raise InputError(problem, source=source.label, code="unknown-format")
    return input_kind


def table(source: InputFile) -> pl.LazyFrame:
    """The rows; lists by query have the columns ``query_id`` and ``docs``.

    Raises:
        InputError: there are no rows, or one column has values of different types.
    """
    has_run = find_table(json_text.read_document(source)) is not None
    value = _table_in(source, "score" if has_run else "grade")
    rows = (
        [{"query_id": key, LIST_COLUMN: member} for key, member in value.items()]
        if isinstance(value, Mapping)
        else value
    )
    if _are_lists(value):
        raise InputError("rows without names.", source=source.label, code="missing-column")
    try:
        return pl.LazyFrame(rows, infer_schema_length=None)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        problem = f"a column mixes types: {str(error).splitlines()[0]}; use one type."
        raise InputError(problem, source=source.label, code="wrong-type") from None


FORMAT = Format(
    name="json-lists",
    title="JSON with lists of documents, in rows or by query",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    table=lambda source: FrameTable(source, table(source)),
    holds=("qrels", "runs"),
    detail=(
        'An object of queries, each a list of documents, the best first: {"q1": ["d1", "d2"]}; of pairs of '
        "document and score, or of objects with an id and perhaps a score. Or rows with a query and lists, "
        "alone or inside another object. As judgments, each document of a list has grade 1. --columns names "
        "the parts by their paths: query=inputs.query,docs=outputs.documents,doc=metadata.doc_id,score=score."
    ),
)
