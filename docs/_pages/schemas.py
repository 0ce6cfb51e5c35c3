"""JSON schemas of results: from the types of their fields, and where they write their own JSON, from it.

``RANKGATE_SCHEMAS=write pytest tests/present/test_results.py -k schema`` writes ``docs/schemas``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

import polars as pl

from rankgate.core.present.base_result import Result
from rankgate.core.present.codec import _hints, encode, stored_fields

if TYPE_CHECKING:
    from rankgate.core.present.columns import Columns

FOLDER = Path(__file__).parents[1] / "schemas"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OF_DATA = frozenset({"per_query", "mean", "means", "values", "parameters", "special", "axes", "forced"})
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}

_PAGE = """# JSON of results

Every command with `--format json` writes one result: `schema_version`, `kind`, and the keys of its kind. Keys
are stable within a `schema_version`; more may be added. Numbers that are undefined are null, and
numbers keep full precision. Each kind has a JSON schema (2020-12), against which the tests check what
commands write. [Tables of results](result-tables.md) has the columns of each table.

| kind | keys | schema |
| :-- | :-- | :-- |
"""


def pages() -> Iterator[tuple[str, str]]:
    """The page of kinds by its place below ``reference``."""
    rows = []
    for path in sorted(FOLDER.glob("*.json")):
        schema = json.loads(path.read_text())
        keys = [name for name in schema["properties"] if name not in {"schema_version", "kind"}]
        link = f"[{path.name}](https://github.com/rankgate/rankgate/blob/main/docs/schemas/{path.name})"
        rows.append(f"| `{path.stem}` | {', '.join(f'`{key}`' for key in keys)} | {link} |")
    yield "results.md", _PAGE + "\n".join(rows) + "\n"


def schema_of(result: Result) -> dict[str, Any]:
    """The schema of a result's JSON."""
    cls, values = type(result), json.loads(json.dumps(result.to_dict()))
    has_own_form = cls.to_dict is not Result.to_dict or _is_ordered(cls)
    schema = _with_tables(_learned(values), result, values) if has_own_form else _object(cls, result)
    constants = _head(cls)
    return {
        "$schema": _DRAFT,
        "title": cls.kind,
        "description": " ".join((cls.__doc__ or "").split("\n\n")[0].split()),
        "type": "object",
        "properties": constants
        | {k: v for k, v in schema.get("properties", {}).items() if k not in constants},
        "required": ["schema_version", "kind"],
    }


def _is_ordered(cls: type) -> bool:
    """True if JSON is not simply the fields of a class."""
    return any(getattr(cls, name, ()) for name in ("WRITTEN", "PARTS"))


def _head(cls: type[Result]) -> dict[str, Any]:
    """The keys that every result begins with."""
    return {"schema_version": {"const": cls.schema_version}, "kind": {"const": cls.kind}}


def _object(cls: type, value: Any) -> dict[str, Any]:
    """A dataclass: a property for each field and each derived value, at its key."""
    keys: Mapping[str, str] = getattr(cls, "KEYS", {})
    tables: Mapping[str, Columns] = getattr(cls, "SCHEMAS", {})
    hints = _hints(cls)
    properties = _head(cls) if issubclass(cls, Result) else {}
    for name in (*getattr(cls, "DERIVED", ()), *stored_fields(cls)):
        member = getattr(value, name, None)
        if name in tables:
            schema = tables[name].json_schema()
        else:
            schema = _typed(hints[name], member) if name in hints else _learned(encode(member))
        path, _, key = keys.get(name, name).rpartition(".")
        target = (
            properties.setdefault(path, {"type": "object", "properties": {}})["properties"]
            if path
            else properties
        )
        target.update({key: schema} if key else schema["properties"])
    return {"type": "object", "properties": properties}


def _with_tables(schema: dict[str, Any], value: Any, json_values: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a dataclass that writes its own JSON, with the columns of its tables."""
    keys: Mapping[str, str] = getattr(value, "KEYS", {})
    tables: Mapping[str, Columns] = getattr(value, "SCHEMAS", {})
    properties = dict(schema.get("properties", {}))
    for attribute in fields(value):
        key, member = keys.get(attribute.name, attribute.name), getattr(value, attribute.name)
        json_member = json_values.get(key)
        if attribute.name in tables and isinstance(json_member, list):
            properties[key] = tables[attribute.name].json_schema()
        elif is_dataclass(member) and isinstance(json_member, dict):
            properties[key] = _with_tables(properties.get(key, {}), member, json_member)
        elif _is_objects(member) and _is_objects(json_member):
            array = properties.get(key, {"type": ["array", "null"]})
            items = _with_tables(array.get("items", {}), member[0], json_member[0])
            properties[key] = {**array, "items": items} if items else array
    return {**schema, "properties": properties} if properties else schema


def _is_objects(value: Any) -> bool:
    """True for dataclasses in a row, or their JSON."""
    is_row = isinstance(value, tuple | list) and bool(value)
    return is_row and (isinstance(value[0], dict) or is_dataclass(value[0]))


def _typed(hint: Any, value: Any) -> dict[str, Any]:
    """The schema of a type, or of a value if the type writes its own JSON."""
    if hint in _TYPES:
        return {"type": [_TYPES[hint], "null"]} if hint is float else {"type": _TYPES[hint]}
    if hint is pl.DataFrame:
        return {"type": "array", "items": {"type": "object"}}
    if hasattr(hint, "_fields"):  # a named tuple
        members = {name: _typed(member, getattr(value, name, None)) for name, member in _hints(hint).items()}
        return {"type": "object", "properties": members, "required": list(members)}
    if isinstance(hint, type) and is_dataclass(hint):
        return _of_class(hint, value)
    return _generic(get_origin(hint), get_args(hint), value)


def _of_class(cls: type, value: Any) -> dict[str, Any]:
    """A dataclass, by its fields or by the JSON that it writes itself."""
    if getattr(cls, "to_dict", Result.to_dict) is Result.to_dict and not _is_ordered(cls):
        return _object(cls, value)
    return _learned(json.loads(json.dumps(encode(value)))) if value else {"type": "object"}


def _generic(origin: Any, inside: Sequence[Any], value: Any) -> dict[str, Any]:
    """A union, a choice, a list or a mapping."""
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, UnionType):
        parts = [_typed(member, value) for member in inside if member is not NoneType]
        return {"anyOf": [*parts, {"type": "null"}] if NoneType in inside else parts}
    if origin in (tuple, list, Sequence, frozenset):
        is_repeated = origin is not tuple or inside[1:] == (Ellipsis,)
        first = next(iter(value), None) if isinstance(value, Iterable) else None
        return {"type": "array", "items": _typed(inside[0], first) if is_repeated and inside else {}}
    if origin in (Mapping, dict) and inside:
        first = next(iter(value.values()), None) if isinstance(value, Mapping) else None
        return {"type": "object", "additionalProperties": _typed(inside[1], first)}
    return {}


def _learned(value: Any) -> dict[str, Any]:
    """The shape of JSON: its keys, and the types that values are sure to have."""
    if isinstance(value, dict):
        if not all(_NAME.fullmatch(key) for key in value):
            return {"type": ["object", "null"]}
        return {
            "type": ["object", "null"],
            "properties": {
                key: {"type": ["object", "null"]}
                if key in _OF_DATA and isinstance(child, dict)
                else _learned(child)
                for key, child in value.items()
            },
        }
    if isinstance(value, list):
        shapes = [_learned(child) for child in value]
        uniform = bool(shapes) and all(shape == shapes[0] for shape in shapes)
        return {"type": ["array", "null"]} | ({"items": shapes[0]} if uniform else {})
    if isinstance(value, bool):
        return {"type": ["boolean", "null"]}
    if isinstance(value, int | float):
        return {"type": ["number", "null"]}
    return {"type": ["string", "null"]} if isinstance(value, str) else {}
