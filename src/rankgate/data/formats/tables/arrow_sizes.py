"""How large an Arrow file is when its buffers are decompressed, from its metadata alone.

The footer of the file and the head of each message are flatbuffers; a compressed buffer begins
with its size, which decoders allocate before they read on.
"""

from __future__ import annotations

import struct
from typing import IO

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass

_MAGIC = b"ARROW1"
_TAIL = 10  # the footer's length and the magic
_PREFIX = 8  # of a message: a marker and the length of its head
_BLOCK, _NODE, _BUFFER = 24, 16, 16  # bytes of structs
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3
# the numbers of fields, from File.fbs and Message.fbs
_DICTIONARIES, _BATCHES = 2, 3
_HEADER_TYPE, _HEADER = 1, 2
_DATA = 1
_NODES, _BUFFERS, _COMPRESSION = 1, 2, 3


@dataclass(frozen=True)
class ArrowSizes:
    """What an Arrow file declares.

    Attributes:
        unpacked: bytes of its buffers.
        values: in its columns, null or not.
    """

    unpacked: int
    values: int


def arrow_sizes(stream: IO[bytes], size: int, label: str) -> ArrowSizes:
    """Add up what the batches of a file declare.

    Args:
        stream: the file; it can be looked into at any place.
        size: its bytes.
        label: what errors call it.

    Raises:
        InputError: a damaged file.
    """
    try:
        stream.seek(size - _TAIL)
        tail = stream.read(_TAIL)
        (length,) = struct.unpack("<i", tail[:4])
        magic = tail[4:] == _MAGIC and 0 < length <= size - _TAIL
        stream.seek(size - _TAIL - length if magic else size)
        footer = _Table.root(stream.read(length))  # nothing where it is no file of Arrow
        unpacked = values = 0
        for field in (_DICTIONARIES, _BATCHES):
            for block in footer.structs(field, _BLOCK):
                at, head, _, _ = struct.unpack("<qiiq", block)
                batch_bytes, batch_values = _batch(stream, at, head, size)
                unpacked, values = unpacked + batch_bytes, values + batch_values
    except (struct.error, ValueError, OSError, OverflowError):
        problem = "a damaged Arrow file; write it again."
        raise InputError(problem, source=label, code="damaged-file") from None
    return ArrowSizes(unpacked, values)


def _batch(stream: IO[bytes], at: int, head: int, size: int) -> tuple[int, int]:
    """The bytes of a batch's buffers, and its values."""
    if not 0 <= at <= at + head <= size or head < _PREFIX:
        raise ValueError
    stream.seek(at + _PREFIX)
    message = _Table.root(stream.read(head - _PREFIX))
    kind, batch = message.byte(_HEADER_TYPE), message.table(_HEADER)
    if kind == _DICTIONARY_BATCH:
        batch = batch.table(_DATA)
    elif kind != _RECORD_BATCH:
        raise ValueError
    values = sum(struct.unpack("<qq", node)[0] for node in batch.structs(_NODES, _NODE))
    compressed, unpacked = batch.has(_COMPRESSION), 0
    for buffer in batch.structs(_BUFFERS, _BUFFER):
        begin, length = struct.unpack("<qq", buffer)
        if begin < 0 or length < 0 or at + head + begin + length > size:
            raise ValueError
        if compressed and length >= _PREFIX:
            stream.seek(at + head + begin)
            (declared,) = struct.unpack("<q", stream.read(_PREFIX))
            length = length - _PREFIX if declared < 0 else declared  # -1: it is as it is
        unpacked += length
    return unpacked, values


class _Table:
    """A table of a flatbuffer: fields by number, which may be left out."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        offset = self._unpack("<i", at)
        self._fields = at - offset
        self._end = self._unpack("<H", self._fields)

    @classmethod
    def root(cls, data: bytes) -> _Table:
        """The outermost table."""
        return cls(data, struct.unpack_from("<I", data)[0])

    def _unpack(self, form: str, at: int) -> int:
        if at < 0:
            raise ValueError
        value: int = struct.unpack_from(form, self._data, at)[0]
        return value

    def _place(self, field: int) -> int:
        entry = 4 + 2 * field
        offset = self._unpack("<H", self._fields + entry) if entry < self._end else 0
        return self._at + offset if offset else 0

    def has(self, field: int) -> bool:
        """True if the field is there."""
        return bool(self._place(field))

    def byte(self, field: int) -> int:
        """A byte; 0 where it is left out."""
        at = self._place(field)
        return self._unpack("<B", at) if at else 0

    def table(self, field: int) -> _Table:
        """A table within."""
        at = self._place(field)
        if not at:
            raise ValueError
        return _Table(self._data, at + self._unpack("<I", at))

    def structs(self, field: int, size: int) -> list[bytes]:
        """An array of structs; empty where it is left out."""
        at = self._place(field)
        if not at:
            return []
        begin = at + self._unpack("<I", at)
        count = self._unpack("<I", begin)
        if begin + 4 + count * size > len(self._data):
            raise ValueError
        return [self._data[begin + 4 + i * size :][:size] for i in range(count)]
