"""Frozen results as plain values, and back, by the types of their fields.

Known types: text, numbers, booleans, None, tuples, mappings, frozen dataclasses, arrays of NumPy and
Polars frames (a list of rows). A class can declare

- ``SCHEMAS[field]``: the columns of a frame (`Columns`); without them the values keep their types;
- ``KEYS[field]``: the field's key in JSON, if it is not its name. ``qrels.sha256`` is a key in an
  object; an empty key puts the keys of the field's own object beside the others, and a mapping has
  those of no other field; several keys are those of a tuple's members;
- ``DERIVED``: properties that are written, before the fields, and not read;
- ``WRITTEN``: fields and properties in the order in which they are written, instead of both;
- ``OPTIONAL``: fields that are left out while they are empty;
- ``PARTS[field]``: the option of ``to_dict`` that asks for it, and the option's default; where it is
  left out, it is read as an empty table;
- ``READ[field]``: a function of all values that makes a field, where JSON has no such value.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import Schema


_NO_PARTS: Mapping[str, bool] = MappingProxyType({})


class InputHash(NamedTuple):
    """The name and the SHA-256 of an input."""

    name: str
    sha256: str


def encode_rows(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as plain values."""
    columns = [encode_column(column) for column in table]
    return [dict(zip(table.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def encode(
    value: Any,
    parts: Mapping[str, bool] = _NO_PARTS,
    encode_frame: Callable[[pl.DataFrame], Any] = encode_rows,
) -> Any:
    """A field as plain values, with the parts that ``to_dict`` takes; NaN and infinite numbers are None.

    >>> encode((1.5, float("nan"), {3: "a"}))
    [1.5, None, {'3': 'a'}]
    """
    if is_frame(value):
        return encode_frame(value)
    if hasattr(value, "to_dict"):
        return _encode_declared(value, parts, encode_frame)
    if is_dataclass(value) and not isinstance(value, type):
        return encode_fields(value, parts, encode_frame)
    if hasattr(value, "_asdict"):  # a named tuple
        value = value._asdict()
    if hasattr(value, "tolist"):  # an array
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): encode(content, parts, encode_frame) for key, content in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [encode(member, parts, encode_frame) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _encode_declared(
    value: Any, parts: Mapping[str, bool], encode_frame: Callable[[pl.DataFrame], Any]
) -> dict[str, Any]:
    """The values of ``to_dict``; frames of a class with its own ``to_dict`` are lists of rows."""
    is_declared = getattr(type(value).to_dict, "__qualname__", "") == "Coded.to_dict"  # not one of its own
    values: dict[str, Any] = value.encoded(parts, encode_frame) if is_declared else value.to_dict(**parts)
    return values


def encode_column(column: pl.Series) -> list[Any]:
    """The values of a column as plain values; only floats and nested values need work."""
    import polars as pl

    if column.dtype.is_float():
        return pl.select(pl.when(column.is_finite()).then(column)).to_series().to_list()
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return [encode(value) for value in column.to_list()]
    return column.to_list()


def stored_fields(cls: Any) -> list[str]:
    """The names of the fields that JSON has.

    A field with ``stored`` False in its metadata is left out: it is only for this process.
    """
    return [field.name for field in fields(cls) if field.metadata.get("stored", True)]


def encode_fields(
    value: Any,
    parts: Mapping[str, bool] = _NO_PARTS,
    encode_frame: Callable[[pl.DataFrame], Any] = encode_rows,
) -> dict[str, Any]:
    """The fields of a dataclass as plain values, by their keys in JSON."""
    optional, options = getattr(value, "OPTIONAL", ()), getattr(value, "PARTS", {})
    written = getattr(value, "WRITTEN", None) or (*getattr(value, "DERIVED", ()), *stored_fields(value))
    values: dict[str, Any] = {}
    for name in written:
        option, is_usual = options.get(name, ("", True))
        if not parts.get(option, is_usual):
            continue
        content = encode(getattr(value, name), parts, encode_frame)
        if name not in optional or (len(content) if is_frame(content) else content):
            keys = _keys(value, name)
            for key, member in zip(keys, content if len(keys) > 1 else [content], strict=True):
                path, _, last = key.rpartition(".")
                target = values.setdefault(path, {}) if path else values
                target.update({last: member} if last else member)
    return values


def _keys(cls: Any, name: str) -> tuple[str, ...]:
    """The keys in JSON of a field, or of the members of its tuple."""
    keys = getattr(cls, "KEYS", {}).get(name, name)
    return (keys,) if isinstance(keys, str) else keys


def is_frame(value: object) -> bool:
    """True for a Polars frame; Polars is not loaded for the check."""
    return "polars" in sys.modules and isinstance(value, sys.modules["polars"].DataFrame)


def decode(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass from plain values; a missing field keeps its default.

    Raises:
        TypeError, ValueError: a value does not fit its field.
    """
    schemas: Mapping[str, Schema] = getattr(cls, "SCHEMAS", {})
    hints, makers = _hints(cls), getattr(cls, "READ", {})
    contents: dict[str, Any] = {}
    for name in stored_fields(cls):
        keys = _keys(cls, name)
        path, _, key = keys[0].rpartition(".")
        source = values.get(path, {}) if path else values
        if not key:
            contents[name] = _own_values(cls, name, values)
        elif key in source and name not in makers:
            contents[name] = source[key] if len(keys) == 1 else [source[k.rpartition(".")[2]] for k in keys]
        elif name in getattr(cls, "PARTS", ()):
            contents[name] = []
    fields_read = {
        name: _decode(hints[name], content, schemas.get(name, {})) for name, content in contents.items()
    }
    return fields_read | {name: make(values) for name, make in makers.items()}


def _own_values(cls: Any, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a field without a key: all values, or those that no other field has for a mapping."""
    if get_origin(_hints(cls)[name]) not in (Mapping, dict):
        return values
    others = {"schema_version", *(cls.head() if hasattr(cls, "head") else ())}
    others.update(key for field in fields(cls) for key in _keys(cls, field.name))
    return {key: value for key, value in values.items() if key not in others}


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields, including those that only type checkers import."""
    return get_type_hints(cls, localns=_AnnotationNames())


class _AnnotationNames(dict[str, Any]):
    """Names that a module imports only for type checkers."""

    def __missing__(self, name: str) -> Any:
        import polars as pl

        known_types = {
            "pl": pl,
            "Mapping": Mapping,
            "Sequence": Sequence,
            "Literal": Literal,
            "Schema": Mapping,
            "Columns": Mapping,
            "Layout": Sequence,
            "Texts": Sequence,
            "Json": Any,
            "JsonObject": Mapping[str, Any],
        }
        if name in known_types:
            return known_types[name]
        if name in {"Floats", "Ints", "Flags"}:
            from rankgate.core import arrays

            return getattr(arrays, name)
        raise KeyError(name)


def _decode(hint: Any, value: Any, schema: Schema = MappingProxyType({})) -> Any:
    import polars as pl

    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None:
            return None
        inner_types = [inner_type for inner_type in arguments if inner_type is not type(None)]
        return _decode(inner_types[0], value, schema) if len(inner_types) == 1 else value
    if hint is pl.DataFrame:
        return frame(value, schema)
    if isinstance(hint, type) and is_dataclass(hint):
        make = getattr(hint, "from_dict", None)
        return make(value) if make else hint(**decode(hint, value))
    if hasattr(hint, "_asdict"):
        return hint(**value)
    if getattr(origin, "__name__", "") == "ndarray":
        return sys.modules["numpy"].array(value, *get_args(arguments[1]))
    if origin is tuple:
        is_variadic = len(arguments) == 2 and arguments[1] is Ellipsis  # tuple[X, ...]
        kinds = [arguments[0]] * len(value) if is_variadic else arguments
        return tuple(_decode(kind, member) for kind, member in zip(kinds, value, strict=True))
    if origin in (Mapping, dict) and len(arguments) == 2:  # key and value
        read_key = arguments[0] if arguments[0] in (int, float) else lambda name: name
        return {read_key(name): _decode(arguments[1], member) for name, member in value.items()}
    if hint is float:
        return math.nan if value is None else float(value)
    return value


def fits(value: Any, hint: Any) -> bool:
    """True if a value of JSON has a type: a TypedDict, fields of a dataclass, a list, text, a number.

    >>> fits({"a": [1, 2]}, dict[str, list[int]]), fits({"a": [1, "2"]}, dict[str, list[int]])
    (True, False)
    """
    members = get_args(hint)
    if is_typeddict(hint):
        hints = get_type_hints(hint)
        is_whole = isinstance(value, dict) and value.keys() >= hint.__required_keys__
        return is_whole and all(fits(value[name], hints[name]) for name in hints.keys() & value.keys())
    if isinstance(hint, type) and is_dataclass(hint):
        hints = _hints(hint)
        is_known = isinstance(value, dict) and value.keys() <= hints.keys()
        return is_known and all(fits(value[name], hints[name]) for name in value)
    if get_origin(hint) in (Union, UnionType):
        return any(fits(value, member) for member in members)
    if get_origin(hint) is list:
        return isinstance(value, list) and all(fits(item, members[0]) for item in value)
    if get_origin(hint) is dict:
        return isinstance(value, dict) and all(fits(item, members[1]) for item in value.values())
    is_flag = isinstance(value, bool)
    kinds = (int, float) if hint is float else hint
    return hint is Any or (isinstance(value, kinds) and is_flag == (hint is bool))


def frame(rows: Sequence[Mapping[str, Any]], schema: Schema) -> pl.DataFrame:
    """A frame of rows, with the columns of the schema first and all other columns unchanged."""
    import polars as pl

    table = pl.DataFrame(list(rows), infer_schema_length=None)
    if not len(table):
        return pl.DataFrame(schema=dict(schema))
    schema_columns = [
        pl.col(name).cast(kind) if name in table.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema.items()
    ]
    other_names = [name for name in table.columns if name not in schema]
    return table.select(*schema_columns, *other_names)
