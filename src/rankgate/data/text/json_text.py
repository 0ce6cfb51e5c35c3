"""Parse untrusted JSON: limits of size and depth, unique keys, errors with lines and paths.

The nesting depth is limited before JSON is parsed. The parser limits the size, rejects duplicate
keys and raises errors with line numbers. Then a reader takes values from documents, with errors
that name the path. The key paths at the beginning of a JSON file are read to distinguish formats.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

import numpy as np

from rankgate.core.errors import InputError
from rankgate.data.text.text_values import BOM, decode_utf8

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


T = TypeVar("T")

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_BLOCK_SIZE = 1 << 20
_STEP = np.zeros(256, np.int8)
_STEP[[*b"{["]] = 1
_STEP[[*b"}]"]] = -1


def exceeds_depth(data: bytes, limit: int) -> bool:
    r"""True if more than ``limit`` brackets are nested, outside strings.

    The result is exact up to the first syntax error, where a parser stops.

    >>> exceeds_depth(b'[["[[["]]', 2), exceeds_depth(b'[[["\\"[["]]]', 2)
    (False, True)
    """
    depth, in_string = 0, False
    codes = np.frombuffer(_ESCAPED.sub(b"__", data) if b"\\" in data else data, np.uint8)
    for begin in range(0, len(codes), _BLOCK_SIZE):
        piece = codes[begin : begin + _BLOCK_SIZE]
        is_quoted = np.bitwise_xor.accumulate(piece == ord('"')) ^ in_string
        in_string = bool(is_quoted[-1])
        steps = np.where(is_quoted, 0, _STEP[piece])
        depths = depth + np.cumsum(steps, dtype=np.int64)
        if depths.max() > limit:
            return True
        depth = int(depths[-1])
    return False


LIMIT = 256 << 20
"""Bytes of one document, decompressed; as Python's objects they take several times as many."""

DEPTH = 64
"""Brackets and braces inside each other."""

VALUES, OBJECTS = 16_000_000, 4_000_000
"""Values, and objects among them, of one document; Python's take about 60 and 250 bytes each."""

_MAX_SHOWN_LENGTH = 40
_COMMA_LAST = re.compile(r",\s*[}\]]")
_CLOSING = ("}", "]")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^"{}\[\],:\n]+|"', re.DOTALL)


class _DuplicateKeyError(ValueError):
    """A key appears twice in an object; `_find_duplicate_key_line` finds its line."""


def read_document(source: InputFile, limit: int = LIMIT) -> Any:
    """Read the single JSON value of a file.

    Args:
        source: the file.
        limit: the largest number of bytes.

    Raises:
        InputError: the text is not JSON, an object has a key twice, the text is too long or too
            deep, or contains NaN or Infinity; the message has the line.
    """
    chunks, size = [], 0
    with source.open() as stream:
        while chunk := source.read(stream, 1 << 20):
            size += len(chunk)
            if size > limit:
                problem = f"more than {limit >> 20} MB in one JSON value; split it, or use JSONL."
                raise InputError(problem, source=source.label, code="too-large")
            chunks.append(chunk)
    if not size:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return parse_json(b"".join(chunks), source.label)


def parse_json(data: bytes, label: str, line: int = 1) -> Json:
    """Read a single JSON value from bytes.

    Args:
        data: the bytes.
        label: the name of the source in errors.
        line: the number of the first line.

    Raises:
        InputError: see `read_document`.
    """
    text = decode_utf8(data.removeprefix(BOM), label, line)
    if data.count(b",") > VALUES or data.count(b"{") > OBJECTS:
        problem = "too many values for one JSON document; split it, or use JSONL or CSV."
        raise InputError(problem, source=label, code="too-large")
    if data.count(b"{") + data.count(b"[") > DEPTH and exceeds_depth(data, DEPTH):
        problem = f"more than {DEPTH} brackets inside each other; no format needs so many."
        raise InputError(
            problem, source=label, line=line + max(_find_too_deep_line(text), 1) - 1, code="too-deep"
        )
    try:
        value: Json = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_refuse_constant)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # fails on half a pair
    except UnicodeEncodeError:
        problem = "an escape such as \\ud800 without its other half; write the whole character."
        raise InputError(problem, source=label, line=line, code="invalid-json") from None
    except json.JSONDecodeError as error:
        raise _not_json(text, error, label, line) from None
    except _DuplicateKeyError as error:
        problem = f"key '{_short(str(error))}' appears twice in one object; remove one of them."
        raise InputError(
            problem, source=label, line=line + _find_duplicate_key_line(text) - 1, code="duplicate-key"
        ) from None
    except ValueError as error:  # NaN, or a number with thousands of digits
        problem = f"not JSON: {str(error).split(';')[0]}."
        raise InputError(problem, source=label, line=line, code="invalid-json") from None
    return value


def _not_json(text: str, error: json.JSONDecodeError, label: str, line: int) -> InputError:
    """The error for text that is not JSON, the same in every version of Python.

    For a comma before a closing bracket, Python from 3.13 reports the position of the comma, and
    earlier versions that of the bracket.
    """
    message, offset = error.msg, error.pos
    comma_match = _COMMA_LAST.match(text, offset)
    text_before = text[:offset].rstrip()
    if comma_match or (text[offset : offset + 1] in _CLOSING and text_before.endswith(",")):
        message, offset = (
            "a comma before a closing bracket",
            (comma_match.end() - 1 if comma_match else offset),
        )
    column = offset - text.rfind("\n", 0, offset)
    problem = f"not JSON: {message} in column {column}."
    error_line = line + text.count("\n", 0, offset)
    return InputError(problem, source=label, line=error_line, code="invalid-json")


def read_json_lines(source: InputFile) -> Iterator[tuple[int, Json]]:
    """The values of a file of one JSON value a line, each with its line; blank lines are skipped.

    Raises:
        InputError: see `read_document`; or a line has more than 16 MB.
    """
    line = 0
    for chunk in source.chunks():
        for text in BytesIO(chunk):
            line += 1
            if text.strip().removeprefix(BOM):
                yield line, parse_json(text.strip(), source.label, line)


def read_json_objects(source: InputFile) -> Iterator[tuple[int, dict[str, Json]]]:
    """As `read_json_lines`, with a check that every value is an object.

    Raises:
        InputError: see `read_json_lines`; or a value is not an object.
    """
    for line, value in read_json_lines(source):
        if not isinstance(value, dict):
            problem = f"{describe_type(value)}, where an object is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        yield line, value


def member(table: JsonObject, key: str, type_: type[T], object_path: str, label: str) -> T:
    """The value of an object's key, after a check of its type.

    Args:
        table: the object.
        key: the key.
        type_: ``str``, ``list``, ``dict``, ``int``, ``float`` (any number) or ``bool``.
        object_path: the path of the object, for the error: ``queries[3]``.
        label: the file.

    Raises:
        InputError: the value is missing, or has another type.
    """
    if key not in table:
        raise InputError(f"{object_path} has no '{key}'.", source=label, code="missing-key")
    value = table[key]
    expected_type = (int, float) if type_ is float else type_
    if not isinstance(value, expected_type) or (isinstance(value, bool) and type_ is not bool):
        type_label = _KINDS.get(type_, type_.__name__)
        problem = f"'{key}' of {object_path} is {describe_type(value)}, where {type_label} is needed."
        raise InputError(problem, source=label, code="wrong-type")
    return cast("T", value)


def number(value: Json, name: str, label: str, line: int | None = None) -> float:
    """A finite number from a JSON number or a string.

    Args:
        value: the value in the file.
        name: its name for the error: ``grade``.
        label: the file.
        line: its line, if known.

    Raises:
        InputError: the value is not a finite number.
    """
    parsed_number = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            parsed_number = math.nan if "_" in str(value) else float(value)
    if not math.isfinite(parsed_number):
        value_text = _short(json.dumps(value, ensure_ascii=False, default=str))
        problem = f"{name} {value_text} is not a finite number; write one such as 12.5."
        raise InputError(problem, source=label, line=line, code="not-a-number")
    return parsed_number


def identifier(value: Json, name: str, label: str, line: int | None = None) -> str:
    """An id from a string that is not empty, or from a whole number.

    For the arguments see `number`.

    Raises:
        InputError: the value is not a valid id.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    value_text = _short(json.dumps(value, ensure_ascii=False, default=str))
    problem = f"{name} {value_text} is not an id; write a string that is not empty, or a whole number."
    raise InputError(problem, source=label, line=line, code="invalid-id")


def describe_type(value: Json) -> str:
    """The name of the type of a JSON value, with an article.

    >>> describe_type([]), describe_type(None), describe_type(1.5), describe_type(True)
    ('a list', 'null', 'a number', 'true')
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _KINDS.get(type(value), "something else")


def format_json(value: Json, indent: int | None = None) -> str:
    """Write JSON text: UTF-8 without escapes, no NaN, whole floats without a decimal point.

    >>> format_json({"rating": 3.0, "text": "ä"})
    '{"rating": 3, "text": "ä"}'
    """
    return json.dumps(whole_numbers(value), ensure_ascii=False, allow_nan=False, indent=indent)


def whole_numbers(value: Json) -> Any:
    """The same value with integers instead of floats that are whole numbers."""
    if isinstance(value, dict):
        return {key: whole_numbers(member_value) for key, member_value in value.items()}
    if isinstance(value, list | tuple):
        return [whole_numbers(inside) for inside in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


_KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
    bool: "true or false",
}


def unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """A JSON object as a dictionary; a duplicate key is an error."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKeyError(next(key for i, key in enumerate(keys) if key in keys[:i]))
    return members


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _short(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"


def _find_too_deep_line(text: str) -> int:
    """The line where brackets are nested too deeply; 0 if they are not."""
    depth, line = 0, 1
    for match in _WORD.finditer(text):
        symbol = match[0]
        line += symbol.count("\n")
        depth += (symbol in ("{", "[")) - (symbol in ("}", "]"))
        if depth > DEPTH:
            return line
    return 0


def _find_duplicate_key_line(text: str) -> int:
    """The line of the first key that appears in its object for the second time."""
    line, stack, last_string = 1, [], ""
    keys: list[set[str]] = []
    for match in _WORD.finditer(text):
        symbol = match[0]
        if symbol in ("{", "["):
            stack.append(symbol)
            keys.append(set())
        elif symbol in ("}", "]") and stack:
            stack.pop()
            keys.pop()
        elif symbol == ":" and stack and stack[-1] == "{":
            if last_string in keys[-1]:
                return line
            keys[-1].add(last_string)
        elif symbol.startswith('"') and len(symbol) > 1:
            last_string = json.loads(symbol)
        line += symbol.count("\n")
    return line


TOP = "the document"
"""The name of the outermost value in errors."""


def require_object(value: Json, source: InputFile) -> dict[str, Json]:
    """Check that a document is an object, and return it.

    Raises:
        InputError: the document is not an object.
    """
    if not isinstance(value, dict):
        raise InputError(
            f"{describe_type(value)}, where an object is needed.", source=source.label, code="wrong-type"
        )
    return value


def list_objects(values: Json, list_path: str, label: str) -> Iterator[tuple[str, dict[str, Json]]]:
    """The objects of a list, each with its JSON path.

    Args:
        values: the value to check.
        list_path: its JSON path, such as ``queries``; empty for the document itself.
        label: the file.

    Raises:
        InputError: the value is not a list, or an element is not an object.
    """
    if not isinstance(values, list):
        list_name = f"'{list_path}'" if list_path else TOP
        raise InputError(
            f"{list_name} is {describe_type(values)}, where a list is needed.",
            source=label,
            code="wrong-type",
        )
    for index, value in enumerate(values):
        object_path = f"{list_path}[{index}]"
        if not isinstance(value, dict):
            problem = f"{object_path} is {describe_type(value)}, where an object is needed."
            raise InputError(problem, source=label, code="wrong-type")
        yield object_path, value


def objects_under_key(
    table: JsonObject, key: str, path: str, label: str
) -> Iterator[tuple[str, dict[str, Json]]]:
    """The objects of the list under a required key; see `list_objects`."""
    if key not in table:
        raise InputError(f"{path or TOP} has no '{key}'.", source=label, code="missing-key")
    yield from list_objects(table[key], f"{path}.{key}" if path else key, label)


def read_id(table: JsonObject, key: str, path: str, label: str) -> str:
    """The id under a required key.

    Raises:
        InputError: the key is missing.
    """
    if key not in table:
        raise InputError(f"{path or TOP} has no '{key}'.", source=label, code="missing-key")
    return identifier(table[key], f"'{key}' of {path or TOP}", label)


def read_text(table: JsonObject, key: str, path: str, label: str) -> str | None:
    """The string under a key; None if the key is missing or null.

    Raises:
        InputError: the value has another type.
    """
    if table.get(key) is None:
        return None
    return member(table, key, str, path or TOP, label)


def read_object(table: JsonObject, key: str, path: str, label: str) -> dict[str, Json]:
    """The object under a key; empty if the key is missing or null.

    Raises:
        InputError: the value has another type.
    """
    if table.get(key) is None:
        return {}
    return member(table, key, dict, path or TOP, label)


_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_MAX_TOKENS = 20_000  # tokens to read


@lru_cache(maxsize=4)
def find_key_paths(first_bytes: bytes) -> frozenset[str]:
    """The paths of all keys in JSON or JSON lines; the text may be cut off or not be JSON.

    Keys are joined by dots; ``[]`` follows a path that holds a list.

    >>> sorted(find_key_paths(b'{"queries": [{"text": "a", "n": {"x": 1}}, {"te'))
    ['queries', 'queries[]', 'queries[].n', 'queries[].n.x', 'queries[].text']
    >>> sorted(find_key_paths(b'[{"id": 1}]'))
    ['[]', '[].id']
    """
    key_paths: set[str] = set()
    stack: list[tuple[bytes, str]] = []  # each open bracket, with the path of its contents
    key, last_string = "", b""
    for token_count, match in enumerate(_TOKEN.finditer(first_bytes.removeprefix(BOM))):
        token = match[0]
        if token_count > _MAX_TOKENS or len(stack) > DEPTH:
            break
        path = stack[-1][1] if stack else ""
        if token == b":" and stack and stack[-1][0] == b"{":
            name = last_string[1:-1].decode(errors="replace")
            key = f"{path}.{name}" if path else name
            key_paths.add(key)
        elif token in {b"{", b"["}:
            inner_path = key or path
            if token == b"[":
                inner_path += "[]"
                key_paths.add(inner_path)
            stack.append((token, inner_path))
            key = ""
        elif token in {b"}", b"]"}:
            if not stack:
                break
            stack.pop()
            key = ""
        elif token == b",":
            key = ""
        elif token.startswith(b'"'):
            last_string = token
    return frozenset(key_paths)


def has_keys(first_bytes: bytes, *paths: str) -> bool:
    """True if the beginning of a file has all of these keys."""
    return set(paths) <= find_key_paths(first_bytes)


def matches_key(first_bytes: bytes, pattern: str) -> bool:
    """True if a pattern matches a complete path of a key."""
    path_pattern = re.compile(pattern)
    return any(path_pattern.fullmatch(path) for path in find_key_paths(first_bytes))
