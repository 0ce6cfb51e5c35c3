"""Parse untrusted JSON: size limits, no duplicate keys, errors with line numbers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.data.text.json_depth import deeper
from rankgate.data.text.utf8 import BOM, decoded

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

LIMIT = 256 << 20
"""Bytes of one document, decompressed; as Python's objects they take several times as many."""

DEPTH = 64
"""Brackets and braces inside each other."""

VALUES, OBJECTS = 16_000_000, 4_000_000
"""Values, and objects among them, of one document; Python's take about 60 and 250 bytes each."""

_SHOWN = 40
_COMMA_LAST = re.compile(r",\s*[}\]]")
_CLOSING = ("}", "]")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:\n]|[^"{}\[\],:\n]+|"', re.DOTALL)


class _DoubleKeyError(ValueError):
    """An object with one key twice; its place is sought by `_second`."""


def document(source: InputFile, limit: int = LIMIT) -> Any:
    """The one JSON value of a file.

    Args:
        source: the file.
        limit: the most bytes that it may have.

    Raises:
        InputError: no JSON, a key twice in one object, too long or too deep, NaN or Infinity;
            with the line.
    """
    pieces, size = [], 0
    with source.open() as stream:
        while piece := source.read(stream, 1 << 20):
            size += len(piece)
            if size > limit:
                problem = f"more than {limit >> 20} MB in one JSON value; split it, or use JSONL."
                raise InputError(problem, source=source.label, code="too-large")
            pieces.append(piece)
    if not size:
        problem = "the file is empty; check whether it was written completely."
        raise InputError(problem, source=source.label, code="empty-file")
    return parsed(b"".join(pieces), source.label)


def parsed(data: bytes, label: str, line: int = 1) -> Any:
    """One JSON value from bytes.

    Args:
        data: the bytes.
        label: what errors call their origin.
        line: the number of their first line.

    Raises:
        InputError: as `document`.
    """
    text = decoded(data.removeprefix(BOM), label, line)
    if data.count(b",") > VALUES or data.count(b"{") > OBJECTS:
        problem = "too many values for one JSON document; split it, or use JSONL or CSV."
        raise InputError(problem, source=label, code="too-large")
    if data.count(b"{") + data.count(b"[") > DEPTH and deeper(data, DEPTH):
        problem = f"more than {DEPTH} brackets inside each other; no format needs so many."
        raise InputError(
            problem, source=label, line=line + max(_too_deep(text), 1) - 1, code="too-deep"
        )
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
        if "\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode()  # half a pair is no character
    except UnicodeEncodeError:
        problem = "an escape such as \\ud800 without its other half; write the whole character."
        raise InputError(problem, source=label, line=line, code="invalid-json") from None
    except json.JSONDecodeError as error:
        raise _not_json(text, error, label, line) from None
    except _DoubleKeyError as error:
        problem = f"key '{_short(str(error))}' appears twice in one object; remove one of them."
        raise InputError(
            problem, source=label, line=line + _second(text) - 1, code="duplicate-key"
        ) from None
    except ValueError as error:  # NaN, or a number of thousands of digits
        problem = f"not JSON: {str(error).split(';')[0]}."
        raise InputError(problem, source=label, line=line, code="invalid-json") from None
    return value


def _not_json(text: str, error: json.JSONDecodeError, label: str, line: int) -> InputError:
    """The error of text that is not JSON, the same in every version of Python.

    Since 3.13 Python reports a comma before a closing bracket where the comma is; before, it
    reported the bracket.
    """
    message, at = error.msg, error.pos
    after = _COMMA_LAST.match(text, at)
    before = text[:at].rstrip()
    if after or (text[at : at + 1] in _CLOSING and before.endswith(",")):
        message, at = "a comma before a closing bracket", (after.end() - 1 if after else at)
    column = at - text.rfind("\n", 0, at)
    problem = f"not JSON: {message} in column {column}."
    where = line + text.count("\n", 0, at)
    return InputError(problem, source=label, line=where, code="invalid-json")


def lines(source: InputFile) -> Iterator[tuple[int, Any]]:
    """The values of a file of one JSON value a line, each with its line; blank lines are skipped.

    Raises:
        InputError: as `document`; a line of more than 16 MB.
    """
    line = 0
    for piece in source.chunks():
        for text in piece.split(b"\n"):
            line += 1
            if text.strip().removeprefix(BOM):
                yield line, parsed(text.strip(), source.label, line)
        line -= piece.endswith(b"\n")


def objects(source: InputFile) -> Iterator[tuple[int, dict[str, Any]]]:
    """As `lines`, where every value is an object.

    Raises:
        InputError: as `lines`; a value that is not an object.
    """
    for line, value in lines(source):
        if not isinstance(value, dict):
            problem = f"{kind(value)}, where an object is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        yield line, value


def member(table: Mapping[str, Any], key: str, type_: type, where: str, label: str) -> Any:
    """What an object has under a key, checked to be of a type.

    Args:
        table: the object.
        key: the key.
        type_: ``str``, ``list``, ``dict``, ``int``, ``float`` (any number) or ``bool``.
        where: what the object is, for the error: ``queries[3]``.
        label: the file.

    Raises:
        InputError: nothing is there, or something else is.
    """
    if key not in table:
        raise InputError(f"{where} has no '{key}'.", source=label, code="missing-key")
    value = table[key]
    wanted = (int, float) if type_ is float else type_
    if not isinstance(value, wanted) or (isinstance(value, bool) and type_ is not bool):
        needed = _KINDS.get(type_, type_.__name__)
        problem = f"'{key}' of {where} is {kind(value)}, where {needed} is needed."
        raise InputError(problem, source=label, code="wrong-type")
    return value


def number(value: Any, where: str, label: str, line: int | None = None) -> float:
    """A finite number from a number or a string that writes one.

    Args:
        value: what is there.
        where: what it is, for the error: ``grade``.
        label: the file.
        line: its line, if known.

    Raises:
        InputError: it is not valid.
    """
    found = math.nan
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            found = math.nan if "_" in str(value) else float(value)
    if not math.isfinite(found):
        shown = _short(json.dumps(value, ensure_ascii=False, default=str))
        problem = f"{where} {shown} is not a finite number; write one such as 12.5."
        raise InputError(problem, source=label, line=line, code="not-a-number")
    return found


def identifier(value: Any, where: str, label: str, line: int | None = None) -> str:
    """An id: a string that is not empty, or a whole number as its digits.

    Arguments as of `number`.

    Raises:
        InputError: it is not valid.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    shown = _short(json.dumps(value, ensure_ascii=False, default=str))
    problem = f"{where} {shown} is not an id; write a string that is not empty, or a whole number."
    raise InputError(problem, source=label, line=line, code="invalid-id")


def kind(value: Any) -> str:
    """What a JSON value is, with its article.

    >>> kind([]), kind(None), kind(1.5), kind(True)
    ('a list', 'null', 'a number', 'true')
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _KINDS.get(type(value), "something else")


def dumped(value: Any, indent: int | None = None) -> str:
    """JSON text: UTF-8 as it is, no NaN, whole floats without a point.

    >>> dumped({"rating": 3.0, "text": "ä"})
    '{"rating": 3, "text": "ä"}'
    """
    return json.dumps(whole(value), ensure_ascii=False, allow_nan=False, indent=indent)


def whole(value: Any) -> Any:
    """The same value with floats that are whole numbers as integers."""
    if isinstance(value, dict):
        return {key: whole(inside) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [whole(inside) for inside in value]
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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DoubleKeyError(next(key for i, key in enumerate(keys) if key in keys[:i]))
    return found


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _too_deep(text: str) -> int:
    """The line where brackets get too deep; 0 if they do not."""
    depth, line = 0, 1
    for match in _WORD.finditer(text):
        word = match[0]
        line += word.count("\n")
        depth += (word in ("{", "[")) - (word in ("}", "]"))
        if depth > DEPTH:
            return line
    return 0


def _second(text: str) -> int:
    """The line of the first key that is in its object for the second time."""
    line, stack, last = 1, [], ""
    keys: list[set[str]] = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word in ("{", "["):
            stack.append(word)
            keys.append(set())
        elif word in ("}", "]") and stack:
            stack.pop()
            keys.pop()
        elif word == ":" and stack and stack[-1] == "{":
            if last in keys[-1]:
                return line
            keys[-1].add(last)
        elif word.startswith('"') and len(word) > 1:
            last = json.loads(word)
        line += word.count("\n")
    return line
