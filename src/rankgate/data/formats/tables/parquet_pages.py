"""Check the page headers of a Parquet file before decompressing.

Polars trusts the numbers in a file: a page that declares 2⁶⁰ values, or a gigabyte behind a
kilobyte, ends the whole process for want of memory, which nobody can catch. Footer and page
headers are in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import IO, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

UNPACKED = 1 << 30
"""Bytes of one column's pages in one row group, unpacked, at most."""

_MAGIC = b"PAR1"
_TAIL = 8  # the footer's length and the magic
_HEADER = 1 << 16  # bytes of a page's header at most; it may hold the least and greatest value
_DEPTH = 16
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE = 1, 2, 3, 4, 5, 6, 7
_BINARY, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_LONG_LIST = 15
# the numbers of fields, from parquet.thrift
_GROUPS, _ROWS, _COLUMNS, _ROWS_IN_GROUP, _META = 4, 3, 1, 3, 3
_PATH, _COUNT, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 3, 5, 6, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _VALUES = 2, 3, 1
_DATA, _DICTIONARY, _DATA_2 = 5, 7, 8


class _LiesError(ValueError):
    """The file declares what cannot be."""


@dataclass(frozen=True)
class FooterSchema:
    """What a footer declares.

    Attributes:
        rows: in all row groups.
        chunks: for each column of each row group where its pages begin, their bytes as they are
            stored and unpacked, and the most values they may have.
    """

    rows: int
    chunks: tuple[tuple[int, int, int, int], ...]


def refuse_lies(stream: IO[bytes], size: int, label: str) -> FooterSchema:
    """Check that the pages of a file are as long as they can be.

    Args:
        stream: the file; it can be looked into at any place.
        size: its bytes.
        label: what errors call it.

    Raises:
        InputError: a damaged footer or page, or more than ``UNPACKED`` bytes in one column.
    """
    try:
        found = _footer(stream, size)
        for at, packed, unpacked, rows in found.chunks:
            if unpacked > UNPACKED:
                problem = f"a column of more than {UNPACKED >> 20} MB in one row group; split it."
                raise InputError(problem, source=label, code="too-large")
            _pages(stream, at, packed, unpacked, rows)
    except (_LiesError, IndexError, TypeError, AttributeError, KeyError, OSError, OverflowError):
        problem = "a damaged Parquet file; write it again."
        raise InputError(problem, source=label, code="damaged-file") from None
    return found


def _footer(stream: IO[bytes], size: int) -> FooterSchema:
    if size < _TAIL:
        raise _LiesError
    stream.seek(size - _TAIL)
    tail = stream.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > size - _TAIL - len(_MAGIC):
        raise _LiesError
    stream.seek(size - _TAIL - length)
    meta = _Thrift(stream.read(length)).struct()
    chunks = []
    for group in meta[_GROUPS]:
        rows = group[_ROWS_IN_GROUP]
        for column in group[_COLUMNS]:
            result = column[_META]
            at = min(result[_DATA_AT], result.get(_DICTIONARY_AT) or result[_DATA_AT])
            packed, unpacked = result[_PACKED], result[_UNPACKED]
            # a column of lists has more values than rows; nobody reads one here
            most = rows if len(result[_PATH]) == 1 else result[_COUNT]
            if min(at, packed, unpacked, most) < 0 or at + packed > size:
                raise _LiesError
            chunks.append((at, packed, unpacked, most))
    if meta[_ROWS] != sum(group[_ROWS_IN_GROUP] for group in meta[_GROUPS]):
        raise _LiesError
    return FooterSchema(meta[_ROWS], tuple(chunks))


def _pages(stream: IO[bytes], at: int, packed: int, unpacked: int, most: int) -> None:
    """Walk through the pages of a column: no more values than rows, no more bytes than declared."""
    end, values, result = at + packed, 0, 0
    while at < end and values < most:
        stream.seek(at)
        reader = _Thrift(stream.read(min(_HEADER, end - at)))
        page = reader.struct()
        length, data = page[_PAGE_PACKED], page.get(_DATA) or page.get(_DATA_2)
        dictionary = page.get(_DICTIONARY)
        result += page[_PAGE_UNPACKED] + reader.at
        if length < 0 or page[_PAGE_UNPACKED] < 0 or result > max(unpacked, 0):
            raise _LiesError
        if data:
            values += data[_VALUES]
            if not 0 <= data[_VALUES] <= most or values > most:
                raise _LiesError
        elif dictionary and not 0 <= dictionary[_VALUES] <= 8 * page[_PAGE_UNPACKED]:
            raise _LiesError
        at += reader.at + length
    if at > end:
        raise _LiesError


class _Thrift:
    """Thrift's compact protocol: structs as dictionaries by the numbers of their fields."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = divmod(head, 16)
            number = number + step if step else self._signed()
            found[number] = self._value(kind, depth)
        return found

    def _value(self, kind: int, depth: int, *, listed: bool = False) -> Any:  # noqa: PLR0911 - one return per type
        if depth > _DEPTH:
            raise _LiesError
        if kind in {_TRUE, _FALSE}:
            return self._byte() == _TRUE if listed else kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in {_SHORT, _INT, _LONG}:
            return self._signed()
        if kind == _DOUBLE:
            return self._take(8)
        if kind == _BINARY:
            return self._take(self._unsigned())
        if kind in {_LIST, _SET}:
            return self._list(depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise _LiesError  # maps are in no footer

    def _list(self, depth: int) -> list[Any]:
        length, kind = divmod(self._byte(), 16)
        length = self._unsigned() if length == _LONG_LIST else length
        if length > len(self._data) - self.at:
            raise _LiesError
        return [self._value(kind, depth + 1, listed=True) for _ in range(length)]

    def _byte(self) -> int:
        value = self._data[self.at]
        self.at += 1
        return value

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise _LiesError
        self.at += size
        return self._data[self.at - size : self.at]

    def _unsigned(self) -> int:
        value = shift = 0
        while shift < 70:  # ten bytes of seven bits
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:  # the last byte
                return value
            shift += 7
        raise _LiesError

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
