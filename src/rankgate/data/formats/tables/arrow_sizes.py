"""The decompressed size of an Arrow file's buffers, from its metadata alone.

The footer of the file and the header of each message are flatbuffers; a compressed buffer begins
with its size, which decoders allocate before they read on.
"""

from __future__ import annotations

import struct
from typing import IO

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

_MAGIC = b"ARROW1"
_TAIL = 10  # the footer's length and the magic
_PREFIX = 8  # of a message: a marker and the length of its header
_BLOCK, _NODE, _BUFFER = 24, 16, 16  # bytes of structs
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
# the numbers of fields, from File.fbs and Message.fbs
_DICTIONARIES, _BATCHES = 2, 3
_HEADER_TYPE, _HEADER = 1, 2
_DATA = 1
_NODES, _BUFFERS, _COMPRESSION = 1, 2, 3


@dataclass(frozen=True)
class ArrowSizes:
    """The sizes that an Arrow file declares.

    Attributes:
        unpacked: bytes of its buffers.
        values: the number of values in its columns, null or not.
    """

    unpacked: int
    values: int


def read_arrow_sizes(stream: IO[bytes], size: int, label: str) -> ArrowSizes:
    """Add up the sizes that the batches of a file declare.

    Args:
        stream: the file; it must be seekable.
        size: its bytes.
        label: its name in errors.

    Raises:
        InputError: a damaged file.
    """
    try:
        stream.seek(size - _TAIL)
        tail = stream.read(_TAIL)
        (length,) = struct.unpack("<i", tail[:4])
        has_magic = tail[4:] == _MAGIC and 0 < length <= size - _TAIL
        stream.seek(size - _TAIL - length if has_magic else size)
        footer = _Table.root(stream.read(length))  # nothing where it is no file of Arrow
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
    """The bytes of a batch's buffers, and its values."""
    if not 0 <= offset <= offset + header_length <= size or header_length < _PREFIX:
        raise ValueError
    stream.seek(offset + _PREFIX)
    message = _Table.root(stream.read(header_length - _PREFIX))
    kind, batch = message.byte(_HEADER_TYPE), message.table(_HEADER)
    if kind == _DICTIONARY_BATCH:
        batch = batch.table(_DATA)
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
    """A table of a flatbuffer: fields by number, which may be left out."""

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

    def _place(self, field: int) -> int:
        entry_offset = 4 + 2 * field
        offset = self._unpack("<H", self._fields + entry_offset) if entry_offset < self._end else 0
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        """True if the field is there."""
        return bool(self._place(field))

    def byte(self, field: int) -> int:
        """A byte; 0 if it is left out."""
        position = self._place(field)
        return self._unpack("<B", position) if position else 0

    def table(self, field: int) -> _Table:
        """An inner table."""
        position = self._place(field)
        if not position:
            raise ValueError
        return _Table(self._data, position + self._unpack("<I", position))

    def structs(self, field: int, size: int) -> list[bytes]:
        """An array of structs; empty if it is left out."""
        position = self._place(field)
        if not position:
            return []
        start = position + self._unpack("<I", position)
        count = self._unpack("<I", start)
        if start + 4 + count * size > len(self._data):
            raise ValueError
        return [self._data[start + 4 + i * size :][:size] for i in range(count)]
