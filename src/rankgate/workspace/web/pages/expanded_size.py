"""How large an upload becomes in memory, before a reader unpacks it."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.formats.tables.arrow_sizes import arrow_sizes
from rankgate.data.formats.tables.parquet_pages import refuse_lies
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from pathlib import Path

_PARQUET, _ARROW, _LZ4 = b"PAR1", b"ARROW1", b"\x04\x22\x4d\x18"
_VALUE = 8
"""Bytes that a value takes at least, where a column repeats it without storing it again."""
_PIECE = 1 << 20
_LAYERS = 3  # lz4 within lz4, within gzip


def refuse_huge(place: Path, content: bytes, most: float) -> None:
    """Check how large a compressed file is when it is unpacked, without keeping all of it.

    Raises:
        InputError: it is larger, or damaged.
    """
    if _size(place, content, most) > max(most, len(content)):
        problem = f"it unpacks to more than {most / (1 << 20):,.0f} MB; send a smaller part of it."
        raise InputError(problem, source=place.name, code="too-large")


def _size(place: Path, content: bytes, most: float) -> int:
    if zipfile.is_zipfile(io.BytesIO(content)):  # a workbook
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            return sum(part.file_size for part in parts.infolist())
    size, file = 0, InputFile(place)
    columnar: list[bytes] = []
    with file.open() as stream:
        while size <= most and (piece := file.read(stream, _PIECE)):
            if columnar or (not size and _is_columnar(piece)):
                columnar.append(piece)
            size += len(piece)
    if size <= most and columnar:
        return max(size, _columnar_size(b"".join(columnar), most, place.name))
    return size


def _is_columnar(start: bytes) -> bool:
    return start.startswith((_PARQUET, _ARROW, _LZ4))


def _columnar_size(content: bytes, most: float, label: str) -> int:
    """The bytes of a format that compresses within the file."""
    size = len(content)
    if content.startswith(_PARQUET):
        found = refuse_lies(io.BytesIO(content), size, label)
        return max(sum(unpacked for _, _, unpacked, _ in found.chunks),
                   _VALUE * sum(values for *_, values in found.chunks))  # fmt: skip
    if content.startswith(_ARROW):
        declared = arrow_sizes(io.BytesIO(content), size, label)
        return max(declared.unpacked, _VALUE * declared.values)
    for _ in range(_LAYERS):
        if not content.startswith(_LZ4):
            break
        content = _unpacked(content, most)
        size = max(size, len(content))
    return size


def _unpacked(content: bytes, most: float) -> bytes:
    """The bytes of an LZ4 frame, to little more than the limit; the reader reports damages."""
    try:
        import lz4.frame
    except ImportError:  # nothing reads it here
        return b""
    reader, pieces, size = lz4.frame.LZ4FrameDecompressor(), [], 0
    try:
        piece = reader.decompress(content, _PIECE)
        while size <= most:
            pieces.append(piece)
            size += len(piece)
            if reader.eof or not (piece or not reader.needs_input):
                break
            piece = reader.decompress(b"", _PIECE)
    except RuntimeError:
        return b""
    return b"".join(pieces)
