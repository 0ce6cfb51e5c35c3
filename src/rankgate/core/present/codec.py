"""Frozen results as plain values, and back, by the types of their fields.

Known types: text, numbers, booleans, None, tuples, mappings, frozen dataclasses and Polars frames
(a list of rows). A frame's columns and their types are in the class as ``SCHEMAS[field]``; a
frame without one keeps the types that its values have. A field that has another name in JSON is in
the class as ``KEYS[field]``.
"""

from __future__ import annotations

import math
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

if TYPE_CHECKING:
    import polars as pl


class Named(NamedTuple):
    """What was read, by its name and its SHA-256."""

    name: str
    sha256: str


def encoded(value: Any) -> Any:
    """A field as plain values; NaN and infinite numbers are None.

    >>> encoded((1.5, float("nan"), {3: "a"}))
    [1.5, None, {'3': 'a'}]
    """
    if _is_frame(value):
        return [encoded(row) for row in value.iter_rows(named=True)]
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return fields_of(value)
    if isinstance(value, Named):
        return value._asdict()
    if isinstance(value, Mapping):
        return {str(key): encoded(each) for key, each in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [encoded(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def fields_of(value: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain values, by their keys in JSON."""
    keys = getattr(value, "KEYS", {})
    return {
        keys.get(each.name, each.name): encoded(getattr(value, each.name)) for each in fields(value)
    }


def _is_frame(value: object) -> bool:
    """Whether something is a Polars frame; a result without frames does not load Polars."""
    return "polars" in sys.modules and isinstance(value, sys.modules["polars"].DataFrame)


def decoded(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a dataclass from plain values; a field that is missing keeps its default.

    Raises:
        TypeError, ValueError: a value that its field cannot hold.
    """
    schemas: Mapping[str, Mapping[str, Any]] = getattr(cls, "SCHEMAS", {})
    keys: Mapping[str, str] = getattr(cls, "KEYS", {})
    hints = _hints(cls)
    places = {each.name: keys.get(each.name, each.name) for each in fields(cls) if each.init}
    return {
        name: frame(values[key], schemas[name])
        if name in schemas
        else _decoded(hints[name], values[key])
        for name, key in places.items()
        if key in values
    }


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The types of the fields, those that only type checkers import included."""
    return get_type_hints(cls, localns=_Known())


class _Known(dict[str, Any]):
    """Names that a module imports for type checkers alone; unknown ones are taken as they come."""

    def __missing__(self, name: str) -> Any:
        import polars as pl

        known = {"pl": pl, "Mapping": Mapping, "Sequence": Sequence, "Literal": Literal}
        if name in known:
            return known[name]
        raise KeyError(name)


def _decoded(hint: Any, value: Any) -> Any:
    import polars as pl

    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        chosen = [each for each in inside if each is not type(None)]
        return _decoded(chosen[0], value) if len(chosen) == 1 else value
    if hint is pl.DataFrame:
        return frame(value, {})
    if isinstance(hint, type) and is_dataclass(hint):
        make = getattr(hint, "from_dict", None)
        return make(value) if make else hint(**decoded(hint, value))
    if hint is Named:
        return Named(**value)
    if origin is tuple:
        several = len(inside) == 2 and inside[1] is Ellipsis  # tuple[X, ...]
        kinds = [inside[0]] * len(value) if several else inside
        return tuple(_decoded(kind, each) for kind, each in zip(kinds, value, strict=True))
    if origin in (Mapping, dict) and len(inside) == 2:  # key and value
        key = inside[0] if inside[0] in (int, float) else lambda name: name
        return {key(name): _decoded(inside[1], each) for name, each in value.items()}
    if hint is float and value is not None:
        return float(value)
    return value


def frame(rows: Sequence[Mapping[str, Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """A frame of rows, with the columns of the schema first and any others as they are."""
    import polars as pl

    found = pl.DataFrame(list(rows), infer_schema_length=None)
    if not len(found):
        return pl.DataFrame(schema=dict(schema))
    known = [
        pl.col(name).cast(kind) if name in found.columns else pl.lit(None, kind).alias(name)
        for name, kind in schema.items()
    ]
    others = [name for name in found.columns if name not in schema]
    return found.select(*known, *others)
