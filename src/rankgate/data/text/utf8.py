"""Bytes as text."""

from __future__ import annotations

from rankgate.errors import InputError

BOM = b"\xef\xbb\xbf"
"""The byte order mark that a file may begin with."""

NOT_UTF8 = "not UTF-8 text; convert the file, for example with iconv -f latin1 -t utf-8."


def decoded(data: bytes, label: str, line: int = 1) -> str:
    """The text of bytes whose first line has this number.

    Raises:
        InputError: they are not UTF-8; with the line.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = line + data.count(b"\n", 0, error.start)
        raise InputError(NOT_UTF8, source=label, line=where, code="not-utf8") from None
