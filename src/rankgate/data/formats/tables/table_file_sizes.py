"""Sizes that Arrow and Parquet files declare, checked before decompressing.

The decompressed size of an Arrow file's buffers is computed from its metadata alone. The footer of
the file and the header of each message are flatbuffers. A compressed buffer begins with its size,
which decoders allocate before they read further.

The page headers of a Parquet file are checked because Polars trusts the numbers in a file. A page
that declares 2⁶⁰ values, or a gigabyte in a kilobyte of data, ends the process for lack of memory,
and a program cannot catch that. Footer and page headers are in Thrift's compact protocol.
"""

from __future__ import annotations

import struct
from typing import IO, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

_ARROW_MAGIC = b"ARROW1"
_ARROW_TAIL = 10  # the footer's length and the magic
_PREFIX = 8  # of a message: a marker and the length of its header
_BLOCK, _NODE, _BUFFER = 24, 16, 16  # bytes of structs
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
# numbers of fields, from File.fbs and Message.fbs
_DICTIONARIES, _BATCHES = 2, 3
_HEADER_TYPE, _HEADER_FIELD = 1, 2
_DATA_FIELD = 1
_NODES, _BUFFERS, _COMPRESSION = 1, 2, 3


@dataclass(frozen=True)
class ArrowSizes:
    """The sizes that an Arrow file declares.

    Attributes:
        unpacked: bytes of its buffers.
        values: the number of values in its columns, including nulls.
    """

    unpacked: int
    values: int


def read_arrow_sizes(stream: IO[bytes], size: int, label: str) -> ArrowSizes:
    """Add up the sizes that the batches of a file declare.

    Args:
        stream: the file; it must be seekable.
        size: the number of its bytes.
        label: its name in errors.

    Raises:
        InputError: the file is damaged.
    """
    try:
        stream.seek(size - _ARROW_TAIL)
        tail = stream.read(_ARROW_TAIL)
        (length,) = struct.unpack("<i", tail[:4])
        has_magic = tail[4:] == _ARROW_MAGIC and 0 < length <= size - _ARROW_TAIL
        stream.seek(size - _ARROW_TAIL - length if has_magic else size)
        footer = _Table.root(stream.read(length))  # empty if the file is not an Arrow file
        unpacked = values = 0
        for field in (_DICTIONARIES, _BATCHES):
            for block in footer.structs(field, _BLOCK):
                offset, header_length, _, _ = struct.unpack("<qiiq", block)
                batch_bytes, batch_values = _batch_sizes(stream, offset, header_length, size)
                unpacked, values = unpacked + batch_bytes, values + batch_values
    except (struct.error, ValueError, OSError, OverflowError):
        problem = "a damaged Arrow file; write it again."
        raise InputError(problem, source=label, code="damaged-file") from None
    return ArrowSizes(unpacked, values)


def _batch_sizes(stream: IO[bytes], offset: int, header_length: int, size: int) -> tuple[int, int]:
    """The number of bytes of a batch's buffers, and of its values."""
    if not 0 <= offset <= offset + header_length <= size or header_length < _PREFIX:
        raise ValueError
    stream.seek(offset + _PREFIX)
    message = _Table.root(stream.read(header_length - _PREFIX))
    kind, batch = message.byte(_HEADER_TYPE), message.table(_HEADER_FIELD)
    if kind == _DICTIONARY_BATCH:
        batch = batch.table(_DATA_FIELD)
    elif kind != _RECORD_BATCH:
        raise ValueError
    values = sum(struct.unpack("<qq", node)[0] for node in batch.structs(_NODES, _NODE))
    is_compressed, unpacked = batch.has(_COMPRESSION), 0
    for buffer in batch.structs(_BUFFERS, _BUFFER):
        buffer_start, length = struct.unpack("<qq", buffer)
        if buffer_start < 0 or length < 0 or offset + header_length + buffer_start + length > size:
            raise ValueError
        if is_compressed and length >= _PREFIX:
            stream.seek(offset + header_length + buffer_start)
            (declared,) = struct.unpack("<q", stream.read(_PREFIX))
            length = length - _PREFIX if declared < 0 else declared  # -1: it is as it is
        unpacked += length
    return unpacked, values


class _Table:
    """A table of a flatbuffer: fields by number; a field may be missing."""

    def __init__(self, data: bytes, position: int) -> None:
        self._data, self._at = data, position
        table_offset = self._unpack("<i", position)
        self._fields = position - table_offset
        self._end = self._unpack("<H", self._fields)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        """The outermost table."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def _unpack(self, format_: str, position: int) -> int:
        if position < 0:
            raise ValueError
        value: int = struct.unpack_from(format_, self._data, position)[0]
        return value

    def _field_offset(self, field: int) -> int:
        entry_offset = 4 + 2 * field
        offset = self._unpack("<H", self._fields + entry_offset) if entry_offset < self._end else 0
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        """True if the field exists."""
        return bool(self._field_offset(field))

    def byte(self, field: int) -> int:
        """A byte; 0 if the field is missing."""
        position = self._field_offset(field)
        return self._unpack("<B", position) if position else 0

    def table(self, field: int) -> _Table:
        """An inner table."""
        position = self._field_offset(field)
        if not position:
            raise ValueError
        return _Table(self._data, position + self._unpack("<I", position))

    def structs(self, field: int, size: int) -> list[bytes]:
        """An array of structs; empty if the field is missing."""
        position = self._field_offset(field)
        if not position:
            return []
        start = position + self._unpack("<I", position)
        count = self._unpack("<I", start)
        if start + 4 + count * size > len(self._data):
            raise ValueError
        return [self._data[start + 4 + i * size :][:size] for i in range(count)]


MAX_UNPACKED_BYTES = 1 << 30
"""Bytes of one column's pages in one row group, unpacked, at most."""

_PARQUET_MAGIC = b"PAR1"
_PARQUET_TAIL = 8  # the footer's length and the magic
_PAGE_HEADER_LENGTH = 1 << 16  # the largest size of a page header; it may hold the lowest and greatest value
_DEPTH = 16
_TRUE, _FALSE, _BYTE, _SHORT, _INT, _LONG, _DOUBLE = 1, 2, 3, 4, 5, 6, 7
_BINARY, _LIST, _SET, _MAP, _STRUCT = 8, 9, 10, 11, 12
_LONG_LIST = 15
# numbers of fields, from parquet.thrift
_GROUPS, _ROWS, _COLUMNS, _ROWS_IN_GROUP, _META = 4, 3, 1, 3, 3
_PATH, _COUNT, _UNPACKED, _PACKED, _DATA_AT, _DICTIONARY_AT = 3, 5, 6, 7, 9, 11
_PAGE_UNPACKED, _PAGE_PACKED, _VALUES = 2, 3, 1
_DATA_SIZE, _DICTIONARY, _DATA_2 = 5, 7, 8


class _DamageError(ValueError):
    """The file declares sizes that are impossible."""


@dataclass(frozen=True)
class FooterSchema:
    """The sizes that a footer declares.

    Attributes:
        rows: the number of rows in all row groups.
        chunks: for each column of each row group the offset of its pages, their stored bytes and
            unpacked bytes, and the largest possible number of values.
    """

    rows: int
    chunks: tuple[tuple[int, int, int, int], ...]


def check_parquet_sizes(stream: IO[bytes], size: int, label: str) -> FooterSchema:
    """Check that the pages of a file do not declare impossible sizes.

    Args:
        stream: the file; it must be seekable.
        size: the number of its bytes.
        label: its name in errors.

    Raises:
        InputError: the footer or a page is damaged, or a column has more than ``UNPACKED`` bytes.
    """
    try:
        footer = _read_footer(stream, size)
        for offset, packed_size, unpacked_size, rows in footer.chunks:
            if unpacked_size > MAX_UNPACKED_BYTES:
                megabytes = MAX_UNPACKED_BYTES >> 20
                problem = f"a column of more than {megabytes} MB in one row group; split it."
                raise InputError(problem, source=label, code="too-large")
            _check_pages(stream, offset, packed_size, unpacked_size, rows)
    except (_DamageError, IndexError, TypeError, AttributeError, KeyError, OSError, OverflowError):
        problem = "a damaged Parquet file; write it again."
        raise InputError(problem, source=label, code="damaged-file") from None
    return footer


def _read_footer(stream: IO[bytes], size: int) -> FooterSchema:
    if size < _PARQUET_TAIL:
        raise _DamageError
    stream.seek(size - _PARQUET_TAIL)
    tail = stream.read(_PARQUET_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _PARQUET_MAGIC or length > size - _PARQUET_TAIL - len(_PARQUET_MAGIC):
        raise _DamageError
    stream.seek(size - _PARQUET_TAIL - length)
    meta = _Thrift(stream.read(length)).struct()
    column_chunks = []
    for group in meta[_GROUPS]:
        rows = group[_ROWS_IN_GROUP]
        for column in group[_COLUMNS]:
            column_meta = column[_META]
            offset = min(column_meta[_DATA_AT], column_meta.get(_DICTIONARY_AT) or column_meta[_DATA_AT])
            packed_size, unpacked_size = column_meta[_PACKED], column_meta[_UNPACKED]
            # a column of lists has more values than rows; such columns are not read here
            max_values = rows if len(column_meta[_PATH]) == 1 else column_meta[_COUNT]
            if min(offset, packed_size, unpacked_size, max_values) < 0 or offset + packed_size > size:
                raise _DamageError
            column_chunks.append((offset, packed_size, unpacked_size, max_values))
    if meta[_ROWS] != sum(group[_ROWS_IN_GROUP] for group in meta[_GROUPS]):
        raise _DamageError
    return FooterSchema(meta[_ROWS], tuple(column_chunks))


def _check_pages(
    stream: IO[bytes], offset: int, packed_size: int, unpacked_size: int, max_values: int
) -> None:
    """Check the pages of a column: no more values than rows, no more bytes than declared."""
    end, values, total_unpacked = offset + packed_size, 0, 0
    while offset < end and values < max_values:
        stream.seek(offset)
        reader = _Thrift(stream.read(min(_PAGE_HEADER_LENGTH, end - offset)))
        page_header = reader.struct()
        length, data = (page_header[_PAGE_PACKED], page_header.get(_DATA_SIZE) or page_header.get(_DATA_2))
        dictionary = page_header.get(_DICTIONARY)
        total_unpacked += page_header[_PAGE_UNPACKED] + reader.at
        if length < 0 or page_header[_PAGE_UNPACKED] < 0 or total_unpacked > max(unpacked_size, 0):
            raise _DamageError
        if data:
            values += data[_VALUES]
            if not 0 <= data[_VALUES] <= max_values or values > max_values:
                raise _DamageError
        elif dictionary and not 0 <= dictionary[_VALUES] <= 8 * page_header[_PAGE_UNPACKED]:
            raise _DamageError
        offset += reader.at + length
    if offset > end:
        raise _DamageError


class _Thrift:
    """A parser of Thrift's compact protocol: structs are dictionaries by field number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while field_header := self._byte():
            step, kind = divmod(field_header, 16)
            number = number + step if step else self._signed()
            fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int, *, listed: bool = False) -> Any:  # noqa: PLR0911 - one return per type
        if depth > _DEPTH:
            raise _DamageError
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
        raise _DamageError  # footers contain no maps

    def _list(self, depth: int) -> list[Any]:
        length, kind = divmod(self._byte(), 16)
        length = self._unsigned() if length == _LONG_LIST else length
        if length > len(self._data) - self.at:
            raise _DamageError
        return [self._value(kind, depth + 1, listed=True) for _ in range(length)]

    def _byte(self) -> int:
        value = self._data[self.at]
        self.at += 1
        return value

    def _take(self, size: int) -> bytes:
        if size > len(self._data) - self.at:
            raise _DamageError
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
        raise _DamageError

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
