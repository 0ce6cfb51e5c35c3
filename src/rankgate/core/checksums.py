"""A CRC-32 in the Parquet and Arrow files that rankgate writes, which finds any damage of a disk or a copy.

Readers find the footer of such a file from its end, and the data by the footer, so that all of them
pass over what is between data and footer. There is a mark with the CRC-32 of all other bytes.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

_MARK = b"rankgate crc-32:"
_SIZE = len(_MARK) + 8
"""Bytes of the mark and the number: a multiple of 8, so that the footer keeps its alignment."""
_MAGIC = {b"PAR1": 8, b"ARROW1": 10}
"""The ends of the files, with the bytes of the end and of the length of the footer before it."""
_BLOCK = 1 << 20


def add_checksum(path: Path) -> None:
    """Put the mark into a Parquet or Arrow file; other files stay as they are."""
    with path.open("r+b") as file:
        footer = _find_footer(file)
        if footer is None:
            return
        checksum = _crc(file, 0, file.seek(0, os.SEEK_END))
        file.seek(footer)
        end = file.read()
        file.seek(footer)
        file.write(_MARK + checksum.to_bytes(8, "little") + end)


def check_file(path: Path) -> None:
    """Check a file that has the mark; see `check_checksum`."""
    with path.open("rb") as file:
        check_checksum(file, str(path))


def check_checksum(file: BinaryIO, label: str) -> None:
    """Check a file that has the mark.

    Raises:
        InputError: other bytes than those that were written.
    """
    footer = _find_footer(file)
    if footer is None or footer < _SIZE:
        return
    file.seek(footer - _SIZE)
    mark = file.read(_SIZE)
    if mark.startswith(_MARK):
        end = file.seek(0, os.SEEK_END)
        checksum = _crc(file, footer, end, _crc(file, 0, footer - _SIZE))
        if checksum != int.from_bytes(mark[len(_MARK) :], "little"):
            problem = "damaged: its checksum is another one than when it was written; write it again."
            raise InputError(problem, source=label, code="damaged-file")


def _find_footer(file: BinaryIO) -> int | None:
    """Where the footer begins; None for other files."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - max(_MAGIC.values())))
    end = file.read()
    for magic, length in _MAGIC.items():
        if end.endswith(magic) and len(end) >= length:
            footer = size - length - int.from_bytes(end[-length : -len(magic)], "little")
            return footer if footer > 0 else None
    return None


def _crc(file: BinaryIO, begin: int, end: int, checksum: int = 0) -> int:
    """The CRC-32 of bytes of a file, after those of an earlier part."""
    file.seek(begin)
    while begin < end and (block := file.read(min(_BLOCK, end - begin))):
        checksum, begin = zlib.crc32(block, checksum), begin + len(block)
    return checksum
