"""Recognise unsupported files (archives, Git LFS pointers, UTF-16) and name them in the error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_MAGIC_BYTES = (
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel; save it as .xlsx, or the sheet as CSV."),
    (b"BZh91AY&SY", "packed twice with bzip2; unpack it once (bunzip2)."),
    (b"\xfd7zXZ\x00", "packed twice with xz; unpack it once (unxz)."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first."),
    (b"\x1f\x8b", "packed twice with gzip; unpack it once (gunzip)."),
    (b"\x28\xb5\x2f\xfd", "packed twice with zstd; unpack it once (unzstd)."),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (git lfs pull)."),
    (b"\xff\xfe\x00\x00", "UTF-32 text; convert it (iconv -f utf-32 -t utf-8)."),
    (b"\xff\xfe", "UTF-16 text; convert it (iconv -f utf-16 -t utf-8)."),
    (b"\xfe\xff", "UTF-16 text; convert it (iconv -f utf-16 -t utf-8)."),
)
"""The beginnings of such files, and advice for each."""

_ZIP = b"PK"
_TAR, _AT = b"ustar", 257
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_UTF16_BYTES = 64  # bytes in which text of two bytes a character shows
_FEW, _TAB = 3, 9  # bytes that say nothing; the lowest that text has
_HALVES = {0: "be", 1: "le"}


def unsupported_problem(first_bytes: bytes) -> str | None:
    """The kind of an unsupported file, and advice; None if a format here may read it."""
    if first_bytes.startswith(_ZIP):
        from rankgate.data.formats.tables.excel import WORKBOOK, ZIP

        if first_bytes.startswith(ZIP) and WORKBOOK not in first_bytes:
            return "a zip archive; unpack it first (unzip)."
    for begins, problem in _MAGIC_BYTES:
        if first_bytes.startswith(begins):
            return problem
    if first_bytes[_AT : _AT + len(_TAR)] == _TAR:
        return "a tar archive; unpack it first (tar -xf)."
    if _PAGE.match(first_bytes.removeprefix(BOM)):
        return "a web page, as servers send where a file is missing; download it again."
    for parity, order in _HALVES.items():
        zeros, letters = (
            first_bytes[parity:_UTF16_BYTES:2],
            first_bytes[1 - parity : _UTF16_BYTES : 2],
        )
        if (
            len(first_bytes) > _FEW
            and not any(zeros)
            and letters.isascii()
            and min(letters) >= _TAB
        ):
            return f"UTF-16 text; convert it (iconv -f utf-16{order} -t utf-8)."
    return None


def unknown_json_error(source: InputFile, first_bytes: bytes) -> InputError:
    """The error for JSON that fits no format: it is not JSON, or has another shape.

    Args:
        source: the file.
        first_bytes: its first bytes.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.text import json_text

    first_line = first_bytes.removeprefix(BOM).split(b"\n", 1)[0].strip()
    value = None
    try:
        value = json_text.parse_json(first_line, source.label)
    except InputError:
        try:
            value = json_text.read_document(source)
        except InputError as fault:
            return fault
    rows = value if isinstance(value, list) and value and isinstance(value[0], dict) else []
    if rows and schemas.find_schema(list(rows[0])):
        problem = "rows in one array; write one object per line, as jq -c '.[]' does."
    elif isinstance(value, dict) and schemas.find_schema(list(value)):
        problem = (
            "an object over several lines, or in another one; write one plain object per line."
        )
    else:
        problem = "JSON that matches no known format; name the format, or see rankgate formats."
    return InputError(problem, source=source.label, code="unknown-format")
