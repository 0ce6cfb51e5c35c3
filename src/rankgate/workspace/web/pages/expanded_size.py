"""The size of an upload in memory, before a reader unpacks it."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.formats.tables.arrow_sizes import read_arrow_sizes
from rankgate.data.formats.tables.parquet_pages import check_parquet_sizes
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from pathlib import Path

_PARQUET, _ARROW, _LZ4 = b"PAR1", b"ARROW1", b"\x04\x22\x4d\x18"
_MIN_VALUE_BYTES = 8
"""Bytes that a value takes at least, where a column repeats it without storing it again."""
_CHUNK_BYTES = 1 << 20
_MAX_LAYERS = 3  # lz4 within lz4, within gzip


def refuse_huge(path: Path, content: bytes, size_limit: float) -> None:
    """Refuse a compressed file that unpacks to too much, without keeping all of it.

    Raises:
        InputError: it is larger, or damaged.
    """
    if _expanded_size(path, content, size_limit) > max(size_limit, len(content)):
        problem = (
            f"it unpacks to more than {size_limit / (1 << 20):,.0f} MB; send a smaller part of it."
        )
        raise InputError(problem, source=path.name, code="too-large")


def _expanded_size(path: Path, content: bytes, size_limit: float) -> int:
    if zipfile.is_zipfile(io.BytesIO(content)):  # a workbook
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sum(member.file_size for member in archive.infolist())
    size, file = 0, InputFile(path)
    columnar: list[bytes] = []
    with file.open() as stream:
        while size <= size_limit and (chunk := file.read(stream, _CHUNK_BYTES)):
            if columnar or (not size and _is_columnar(chunk)):
                columnar.append(chunk)
            size += len(chunk)
    if size <= size_limit and columnar:
        return max(size, _columnar_size(b"".join(columnar), size_limit, path.name))
    return size


def _is_columnar(start: bytes) -> bool:
    return start.startswith((_PARQUET, _ARROW, _LZ4))


def _columnar_size(content: bytes, size_limit: float, label: str) -> int:
    """The bytes of a format that compresses within the file."""
    size = len(content)
    if content.startswith(_PARQUET):
        metadata = check_parquet_sizes(io.BytesIO(content), size, label)
        return max(
            sum(unpacked for _, _, unpacked, _ in metadata.chunks),
            _MIN_VALUE_BYTES * sum(values for *_, values in metadata.chunks),
        )
    if content.startswith(_ARROW):
        arrow_size = read_arrow_sizes(io.BytesIO(content), size, label)
        return max(arrow_size.unpacked, _MIN_VALUE_BYTES * arrow_size.values)
    for _ in range(_MAX_LAYERS):
        if not content.startswith(_LZ4):
            break
        content = _unpack_lz4(content, size_limit)
        size = max(size, len(content))
    return size


def _unpack_lz4(content: bytes, size_limit: float) -> bytes:
    """The bytes of an LZ4 frame, to little more than the limit; the reader reports damages."""
    try:
        import lz4.frame
    except ImportError:  # nothing reads it here
        return b""
    reader, chunks, size = lz4.frame.LZ4FrameDecompressor(), [], 0
    try:
        chunk = reader.decompress(content, _CHUNK_BYTES)
        while size <= size_limit:
            chunks.append(chunk)
            size += len(chunk)
            if reader.eof or not (chunk or not reader.needs_input):
                break
            chunk = reader.decompress(b"", _CHUNK_BYTES)
    except RuntimeError:
        return b""
    return b"".join(chunks)
