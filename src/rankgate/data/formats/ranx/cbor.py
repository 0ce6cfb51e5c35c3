"""CBOR (RFC 8949), as much of it as maps of names and numbers need."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from rankgate.data.text.json_text import DEPTH, OBJECTS, VALUES
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNSIGNED, _NEGATIVE, _TEXT, _ARRAY, _MAP, _SIMPLE = 0, 1, 3, 4, 5, 7
_FLOATS = {25: ">e", 26: ">f", 27: ">d"}
_PLAIN = {20: False, 21: True, 22: None}
_WIDTHS = {24: 1, 25: 2, 26: 4, 27: 8}
_ENDLESS = 31  # a map or list whose end is a byte of its own
_BREAK = 0xFF


def decoded(data: bytes, label: str) -> Any:  # noqa: ANN401 - whatever CBOR holds
    """The one value of some bytes.

    Args:
        data: the bytes.
        label: what errors call their origin.

    Raises:
        InputError: cut off, damaged, too deep, a key twice, or kinds of values that are not
            maps, lists, texts, numbers, true, false and null.
    """
    reader = _Reader(data, label)
    value = reader.value(0)
    if reader.at != len(data):
        raise reader.fault("bytes behind the value's end")
    return value


def encoded(table: dict[str, dict[str, float]]) -> Iterator[bytes]:
    """A map of maps of numbers, whole ones (of type ``int``) as integers."""
    yield _head(_MAP, len(table))
    for query, row in table.items():
        yield _text(query)
        yield _head(_MAP, len(row))
        for document, value in row.items():
            yield _text(document)
            yield _number(value)


def _text(text: str) -> bytes:
    data = text.encode()
    return _head(_TEXT, len(data)) + data


def _number(value: float) -> bytes:
    if isinstance(value, int):
        return _head(_UNSIGNED, value) if value >= 0 else _head(_NEGATIVE, -1 - value)
    return b"\xfb" + struct.pack(">d", value)


def _head(kind: int, number: int) -> bytes:
    """The first bytes of an item: its kind, and its length or value in as few as it needs."""
    if number < min(_WIDTHS):
        return bytes([kind << 5 | number])
    code, width = next((c, w) for c, w in _WIDTHS.items() if number < 1 << 8 * w)
    return bytes([kind << 5 | code]) + number.to_bytes(width, "big")


class _Reader:
    """Walks through the bytes; every step looks whether they are there."""

    def __init__(self, data: bytes, label: str) -> None:
        self._data, self._label = data, label
        self.at = 0
        self._values = self._objects = 0

    def fault(self, what: str) -> InputError:
        problem = f"no CBOR as ranx writes it: {what} at byte {self.at}; write the file again."
        return InputError(problem, source=self._label, code="invalid-syntax")

    def value(self, depth: int) -> Any:  # noqa: ANN401 - whatever CBOR holds
        self._values += 1
        if depth > DEPTH or self._values > VALUES:
            raise self.fault("too many values, or too many inside each other,")
        kind, code = divmod(self._take(1)[0], 32)
        if kind == _SIMPLE:
            return self._simple(code)
        size = -1 if code == _ENDLESS and kind in {_ARRAY, _MAP} else self._size(code)
        if kind == _UNSIGNED:
            return size
        if kind == _NEGATIVE:
            return -1 - size
        if kind == _TEXT:
            return self._string(size)
        if kind == _ARRAY:
            return [self.value(depth + 1) for _ in self._items(size)]
        if kind == _MAP:
            return self._map(size, depth)
        raise self.fault("a kind of value that is not known here")

    def _simple(self, code: int) -> float | bool | None:
        if code in _FLOATS:
            number: float = struct.unpack(_FLOATS[code], self._take(_WIDTHS[code]))[0]
            return number
        if code not in _PLAIN:
            raise self.fault("a value that is not known here")
        return _PLAIN[code]

    def _map(self, size: int, depth: int) -> dict[str, Any]:
        self._objects += 1
        if self._objects > OBJECTS:
            raise self.fault("too many maps")
        found: dict[str, Any] = {}
        for _ in self._items(size):
            key = self.value(depth + 1)
            if not isinstance(key, str) or key in found:
                raise self.fault("a key that is no text, or stands twice,")
            found[key] = self.value(depth + 1)
        return found

    def _items(self, size: int) -> Iterator[None]:
        """Once for each item; until the break where their number is not told."""
        if size > len(self._data) - self.at:  # each item has a byte at least
            raise self.fault("the end is missing")
        while size:
            if size < 0 and self._data[self.at : self.at + 1] == bytes([_BREAK]):
                self.at += 1
                return
            yield
            size -= size > 0

    def _size(self, code: int) -> int:
        if code < min(_WIDTHS):
            return code
        if code not in _WIDTHS:
            raise self.fault("a length that is not known here")
        return int.from_bytes(self._take(_WIDTHS[code]), "big")

    def _string(self, size: int) -> str:
        try:
            return self._take(size).decode()
        except UnicodeDecodeError:
            raise self.fault("a text that is not UTF-8") from None

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise self.fault("the end is missing")
        taken = self._data[self.at : end]
        self.at = end
        return taken
