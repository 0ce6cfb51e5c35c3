"""Fields of a collection: their kinds from the declarations, and values in TOML and JSON.

A kind is read from the annotation of a field, so that files, requests and tools of assistants
accept a new field without further code.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.declare.parameter import parse_docstring_section

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.declare.toml_file import TomlFile
    from rankgate.core.value_types import JsonObject

RESERVED_TEXTS: Mapping[str, tuple[str, ...]] = {"sample": ("random",), "saw": ("none", "unknown", "sealed")}
"""By field, accepted texts that do not name a table."""

TABLE_KINDS = ("judgments", "run", "table")
"""Kinds of fields that hold a table, which a text can name."""

_KIND_OF_TYPE = {
    "Items": "items",
    "Predicted": "predicted",
    "ColumnsLike": "columns",
    "QrelsLike": "judgments",
    "RunLike": "run",
    "TableLike": "table",
    "TagsLike": "table",
    "LogLike": "table",
    "Selection": "selection",
    "Mapping[str, float]": "grades",
    "Sequence[str]": "names",
    "Iterable[object]": "catalogue",
    "bool": "flag",
    "str": "text",
}
"""The kind of value for each type in the annotation of a field."""


@functools.cache
def field_kinds(value: type) -> Mapping[str, str]:
    """The kind of value of each field of a collection, or of an object in it, by field."""
    return {
        field_.name: next(
            _KIND_OF_TYPE[option] for option in str(field_.type).split(" | ") if option in _KIND_OF_TYPE
        )
        for field_ in dataclasses.fields(value)
    }


def read_field(file: TomlFile, kind: str, value: Any, path: tuple[str, ...], *, rows: bool = False) -> Any:
    """The value of a field in a file of TOML or an object of JSON.

    Args:
        file: the file, for errors.
        kind: the kind of the field, from `field_kinds`.
        value: the value in the file.
        path: the keys of the value.
        rows: True if the value may be the table itself: an array of rows, or for judgments and runs
            ``{query: {doc: number}}``.

    Raises:
        InputError: the value has another kind; the message has the line.
    """
    name = path[-1]
    if kind in TABLE_KINDS:
        fits = _table_shape(kind) if rows else _is_text
        problem = f"is {'a name, or an array of rows' if rows else 'the path of a file in quotes'}."
    else:
        fits, problem = _VALUE_TESTS[kind]
    if not fits(value):
        raise file.error(f"{name} {problem}", *path)
    if kind == "names":
        return tuple(value)
    return _make_frame(value) if kind in TABLE_KINDS and isinstance(value, list) else value


def _table_shape(kind: str) -> Callable[[Any], bool]:
    """A function that tests for the name or rows of a table, or numbers by query."""

    def fits(value: object) -> bool:
        if isinstance(value, list):
            return bool(value) and all(map(_is_row, value))
        if isinstance(value, dict):
            return kind != "table" and all(map(_is_numbers, value.values()))
        return isinstance(value, str)

    return fits


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_row(value: object) -> bool:
    """True for a mapping of column names to cells."""
    return isinstance(value, dict) and all(
        cell is None or isinstance(cell, str | int | float) for cell in value.values()
    )


def _is_numbers(value: object) -> bool:
    """True for a mapping of names to numbers."""
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _make_frame(rows: Sequence[JsonObject]) -> pl.DataFrame:
    """Rows as a frame; a column that contains text, true or false becomes a column of texts."""
    import polars as pl

    names = dict.fromkeys(name for row in rows for name in row)
    return pl.DataFrame({name: _make_column([row.get(name) for row in rows]) for name in names})


def _make_column(values: Sequence[Any]) -> pl.Series:
    import polars as pl

    cells = [value for value in values if value is not None]
    if all(map(_is_number, cells)) and all(abs(value) < _NUMBER_LIMIT for value in cells):
        is_whole = all(isinstance(value, int) for value in cells)
        return pl.Series(values, dtype=pl.Int64 if is_whole else pl.Float64, strict=False)
    cell_texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in cells]
    next_text = iter(cell_texts)
    return pl.Series([None if value is None else next(next_text) for value in values], dtype=pl.String)


_NUMBER_LIMIT = 2**63
"""The limit of numbers that stay numbers; larger ones, which may be ids, become texts."""

_VALUE_TESTS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "columns": (
        lambda value: (
            isinstance(value, str)
            or (isinstance(value, dict) and all(isinstance(name, str) for name in value.values()))
        ),
        "is a text as in query=term,doc=sku, or a table.",
    ),
    "grades": (
        lambda value: isinstance(value, dict),
        "is a table of labels, as in { Exact = 3, Partial = 1 }.",
    ),
    "names": (
        lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
        'is a list of columns, as in ["price"].',
    ),
    "catalogue": (
        lambda value: isinstance(value, int | list) and not isinstance(value, bool),
        "is the number of items, or a list of their ids.",
    ),
    "flag": (lambda value: isinstance(value, bool), "is true or false."),
    **dict.fromkeys(("text", "selection"), (_is_text, "must be a quoted string.")),
}
"""By kind of a field, a test of its value and the text of the error."""

_ROWS: JsonObject = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
}
_BY_QUERY: JsonObject = {
    "type": "object",
    "additionalProperties": {"type": "object", "additionalProperties": {"type": "number"}},
}
_TEXT: JsonObject = {"type": "string"}
_ALTERNATIVES: Mapping[str, Sequence[JsonObject]] = {
    "judgments": [_TEXT, _ROWS, _BY_QUERY],
    "run": [_TEXT, _ROWS, _BY_QUERY],
    "table": [_TEXT, _ROWS],
    "columns": [_TEXT, {"type": "object", "additionalProperties": _TEXT}],
    "catalogue": [
        {"type": "integer", "minimum": 0},
        {"type": "array", "items": {"type": ["string", "number"]}},
    ],
}
"""By kind of a field that has several forms, the JSON schema of each form."""

_SCHEMAS: Mapping[str, JsonObject] = {
    **{kind: {"anyOf": forms} for kind, forms in _ALTERNATIVES.items()},
    "grades": {"type": "object", "additionalProperties": {"type": "number"}},
    "names": {"type": "array", "items": _TEXT},
    "flag": {"type": "boolean"},
    "text": _TEXT,
    "selection": _TEXT,
}
"""By kind of a field, the JSON schema of its value."""


def json_schema(value: type, parts: Mapping[str, type]) -> JsonObject:
    """The JSON schema of an object with the fields of a value, with their descriptions.

    Args:
        value: the class.
        parts: the classes of values that are themselves objects, by kind; the first field alone may
            stand for such an object.
    """
    help_of = parse_docstring_section(value.__doc__ or "", "Attributes")
    properties: dict[str, JsonObject] = {}
    for name, kind in field_kinds(value).items():
        if kind in parts:
            first = next(iter(field_kinds(parts[kind]).values()))
            forms = [json_schema(parts[kind], {}), *_ALTERNATIVES[first]]
            schema: JsonObject = {"anyOf": forms}
        else:
            schema = _SCHEMAS[kind]
        properties[name] = {**schema, "description": help_of[name].replace("`", "")}
    return {"type": "object", "properties": properties, "additionalProperties": False}
