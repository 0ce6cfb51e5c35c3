"""Parse untrusted JSON: limits of size and depth, unique keys, errors with lines and paths.

The nesting depth is limited before JSON is parsed. The parser limits the size, rejects duplicate
keys and raises errors with line numbers. Readers of formats take values from records, which are
objects with their paths and lines for errors. The key paths at the beginning of a JSON file are read
to distinguish formats.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
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
    code, error_line = "invalid-json", line
    try:
        value: Json = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_refuse_constant)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # fails on half a pair
    except UnicodeEncodeError:
        problem = "an escape such as \\ud800 without its other half; write the whole character."
    except json.JSONDecodeError as error:
        raise _not_json(text, error, label, line) from None
    except _DuplicateKeyError as error:
        problem = f"key '{_short(str(error))}' appears twice in one object; remove one of them."
        code, error_line = "duplicate-key", line + _find_duplicate_key_line(text) - 1
    except ValueError as error:  # NaN, or a number with thousands of digits
        problem = f"not JSON: {str(error).split(';')[0]}."
    else:
        return value
    raise InputError(problem, source=label, line=error_line, code=code)


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
        problem = f"{name} {_short_value(value)} is not a finite number; write one such as 12.5."
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
    problem = (
        f"{name} {_short_value(value)} is not an id; write a string that is not empty, or a whole number."
    )
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


def _short_value(value: Json) -> str:
    return _short(json.dumps(value, ensure_ascii=False, default=str))


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
    line, last_string = 1, ""
    open_objects: list[set[str] | None] = []  # the keys of each open object; None for a list
    for match in _WORD.finditer(text):
        symbol = match[0]
        keys = open_objects[-1] if open_objects else None
        if symbol in ("{", "["):
            open_objects.append(set() if symbol == "{" else None)
        elif symbol in ("}", "]") and open_objects:
            open_objects.pop()
        elif symbol == ":" and keys is not None:
            if last_string in keys:
                return line
            keys.add(last_string)
        elif symbol.startswith('"') and len(symbol) > 1:
            last_string = json.loads(symbol)
        line += symbol.count("\n")
    return line


TOP = "the document"
"""The name of the outermost value in errors."""


class JsonRecord(dict[str, Any]):
    """A JSON object with its path and its line in a file, which its errors name.

    Attributes:
        label: the file.
        path: the JSON path, such as ``queries[3]``; empty for the document or the line itself.
        line: the line, if each line has one object.
    """

    __slots__ = ("label", "line", "path")

    def __init__(self, fields: JsonObject, label: str, path: str = "", line: int | None = None) -> None:
        super().__init__(fields)
        self.label, self.path, self.line = label, path, line

    @property
    def location_text(self) -> str:
        """The path; the line or ``the document`` for the outermost object."""
        return self.path or (TOP if self.line is None else f"line {self.line}")

    def path_of(self, key: str) -> str:
        """The JSON path of a key."""
        return f"{self.path}.{key}" if self.path else key

    def error(self, problem: str, code: str = "wrong-type") -> InputError:
        """An error with the file and the line of this object."""
        return InputError(problem, source=self.label, line=self.line, code=code)

    def require(self, key: str, type_: type[T] | None = None) -> T:
        """The value of a key that must be there.

        Raises:
            InputError: the key is missing, or its value has another type.
        """
        if key not in self:
            raise self.error(f"{self.location_text} has no '{key}'.", "missing-key")
        if type_ is not None and not isinstance(self[key], type_):
            owner = f"'{key}' of {self.location_text}" if self.path or self.line is None else f"'{key}'"
            problem = f"{owner} is {describe_type(self[key])}, where {_KINDS[type_]} is needed."
            raise self.error(problem)
        return cast("T", self[key])

    def optional(self, key: str, type_: type[T]) -> T | None:
        """The value of a key; None if it is missing or null; see `require`."""
        return None if self.get(key) is None else self.require(key, type_)

    def text(self, key: str) -> str | None:
        """The string under a key; None if it is missing or null; see `require`."""
        return self.optional(key, str)

    def id(self, key: str) -> str:
        """The id under a key that must be there; see `require` and `identifier`."""
        return self.as_id(self.require(key), f"'{key}' of {self.location_text}")

    def as_list(self, value: Json, name: str) -> list[Any]:
        """A value of this object as a list.

        Raises:
            InputError: the value is not a list.
        """
        if not isinstance(value, list):
            raise self.error(f"'{name}' is {describe_type(value)}, where a list is needed.")
        return value

    def as_id(self, value: Json, name: str) -> str:
        """A value of this object as an id; see `identifier`."""
        return identifier(value, name, self.label, self.line)

    def number(self, key: str) -> float | None:
        """The number under a key; None if it is missing or null; see `number`."""
        return None if self.get(key) is None else number(self[key], self.path_of(key), self.label, self.line)

    def record(self, key: str) -> JsonRecord:
        """The object under a key; empty if it is missing or null; see `require`."""
        return JsonRecord(self.optional(key, dict) or {}, self.label, self.path_of(key), self.line)

    def records(self, key: str, *, required: bool = False, nullable: bool = False) -> Iterator[JsonRecord]:
        """The objects of the list under a key; none if it is missing.

        Args:
            key: the key.
            required: True if the key must be there.
            nullable: True if null is an empty list.

        Raises:
            InputError: the key is required and missing, the value is not a list, or an element is
                not an object.
        """
        elements = self.require(key) if required else self.get(key, [])
        if not (nullable and elements is None):
            yield from _list_records(elements, self.label, self.path_of(key), self.line)

    def values_except(self, *keys: str) -> dict[str, Any]:
        """The other keys with their values, to be written again as they were."""
        return {key: value for key, value in self.items() if key not in keys}

    def texts(self, *except_keys: str) -> dict[str, str | None]:
        """The other keys with their values as texts; see `cell_text`."""
        return {key: cell_text(value) for key, value in self.values_except(*except_keys).items()}


def _list_records(
    elements: Json, label: str, path: str = "", line: int | None = None
) -> Iterator[JsonRecord]:
    if not isinstance(elements, list):
        list_name = f"'{path}'" if path else TOP
        problem = f"{list_name} is {describe_type(elements)}, where a list is needed."
        raise InputError(problem, source=label, line=line, code="wrong-type")
    for index, element in enumerate(elements):
        element_path = f"{path}[{index}]"
        if not isinstance(element, dict):
            problem = f"{element_path} is {describe_type(element)}, where an object is needed."
            raise InputError(problem, source=label, line=line, code="wrong-type")
        yield JsonRecord(element, label, element_path, line)


def read_record(source: InputFile) -> JsonRecord:
    """The object that a file holds; see `read_document`.

    Raises:
        InputError: the document is not an object.
    """
    return JsonRecord(require_object(read_document(source), source), source.label)


def read_records(source: InputFile) -> Iterator[JsonRecord]:
    """The objects of the list that a file holds; see `read_document`.

    Raises:
        InputError: the document is not a list, or an element is not an object.
    """
    return _list_records(read_document(source), source.label)


def read_line_records(source: InputFile) -> Iterator[JsonRecord]:
    """The objects of a file of one object a line; see `read_json_objects`."""
    return (JsonRecord(fields, source.label, line=line) for line, fields in read_json_objects(source))


def read_query_lines(
    source: InputFile, read_id: Callable[[JsonRecord], str], noun: str = "query", nouns: str = "queries"
) -> Iterator[tuple[str, JsonRecord]]:
    """The objects of a file of one query a line, each with its id.

    Args:
        source: the file.
        read_id: reads the id of an object.
        noun: the noun for an object in errors.
        nouns: its plural.

    Raises:
        InputError: see `read_json_objects`; or two objects have one id, or there are none.
    """
    ids_so_far: set[str] = set()
    for record in read_line_records(source):
        id_ = read_id(record)
        if id_ in ids_so_far:
            raise record.error(f"{noun} '{id_}' is already in an earlier line; keep one.", "duplicate-query")
        ids_so_far.add(id_)
        yield id_, record
    if not ids_so_far:
        raise InputError(f"there are no {nouns} in it.", source=source.label, code="no-queries")


def cell_text(value: Json) -> str | None:
    """A JSON value as a string: strings unchanged, other values as JSON, null as null."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(whole_numbers(value), ensure_ascii=False)


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


def detect_keys(
    *alternatives: tuple[str | bytes, ...], first_line: bool = False
) -> Callable[[bytes, str], str | None]:
    """A test that the beginning of a file has keys, with the reason for the user.

    >>> detect = detect_keys(("a list of tasks", "[].id", "[].data|[].fields.*"))
    >>> detect(b'[{"id": 1, "fields": {"text": "a"}}]', "")
    'a list of tasks'

    Args:
        alternatives: a reason and the paths that must all be there, as `find_key_paths` writes
            them; ``|`` separates paths of which one is enough, ``*`` is any part of a path, and
            ``!`` begins paths that must not be there. Bytes are a pattern that the beginning
            contains.
        first_line: True to search only the first line.
    """

    def sniff(first_bytes: bytes, _name: str) -> str | None:
        line = first_bytes.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
        key_paths = find_key_paths(line if first_line else first_bytes)
        for reason, *patterns in alternatives:
            if all(
                re.search(pattern, first_bytes)
                if isinstance(pattern, bytes)
                else _has_path(key_paths, pattern.removeprefix("!")) != pattern.startswith("!")
                for pattern in patterns
            ):
                return str(reason)
        return None

    reasons = "; or ".join(dict.fromkeys(str(reason) for reason, *_ in alternatives))
    sniff.__doc__ = f"{reasons[:1].upper()}{reasons[1:]}."
    return sniff


def _has_path(key_paths: frozenset[str], pattern: str) -> bool:
    """True if a path of `detect_keys` is among the paths of a file."""
    for path in pattern.split("|"):
        expression = re.compile(re.escape(path).replace(r"\*", ".+"))
        if path in key_paths or ("*" in path and any(map(expression.fullmatch, key_paths))):
            return True
    return False
