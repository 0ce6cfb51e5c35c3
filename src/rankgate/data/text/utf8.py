"""Bytes as text."""

from __future__ import annotations

from collections.abc import Iterable

from rankgate.core.errors import InputError

BOM = b"\xef\xbb\xbf"
"""The byte order mark that a file may begin with."""

NOT_UTF8 = "not UTF-8 text; convert the file, for example with iconv -f latin1 -t utf-8."


def refuse_surrogates(ids: Iterable[str], label: str) -> None:
    """Check that ids are text: half of a surrogate pair alone cannot be written as UTF-8.

    Raises:
        InputError: an id that is not.
    """
    for id_ in ids:
        try:
            id_.encode()
        except UnicodeEncodeError:
            problem = f"id {id_!a} holds half of a surrogate pair, which is no character."
            raise InputError(problem, source=label, code="invalid-id") from None


def decode_utf8(data: bytes, label: str, line: int = 1) -> str:
    """The text of bytes whose first line has this number.

    Raises:
        InputError: they are not UTF-8; with the line.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        error_line = line + data.count(b"\n", 0, error.start)
        raise InputError(NOT_UTF8, source=label, line=error_line, code="not-utf8") from None
