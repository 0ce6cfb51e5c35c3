"""Recognise unsupported files (archives, Git LFS pointers, UTF-16) and name them in the error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_BEGINS = (
    (
        b"PK\x03\x04",
        "a zip archive, as Excel's workbooks are; unpack it, or save it as CSV.",
    ),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel; save the sheet as CSV."),
    (b"BZh91AY&SY", "packed with bzip2; unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "packed with xz; unpack it first (unxz)."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first."),
    (b"\x1f\x8b", "packed twice with gzip; unpack it once (gunzip)."),
    (b"\x28\xb5\x2f\xfd", "packed twice with zstd; unpack it once (unzstd)."),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (git lfs pull)."),
    (b"\xff\xfe\x00\x00", "UTF-32 text; convert it (iconv -f utf-32 -t utf-8)."),
    (b"\xff\xfe", "UTF-16 text; convert it (iconv -f utf-16 -t utf-8)."),
    (b"\xfe\xff", "UTF-16 text; convert it (iconv -f utf-16 -t utf-8)."),
)
"""How such files begin, and what to do about them."""

_TAR, _AT = b"ustar", 257
_PAGE = re.compile(rb"\s*(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_WIDE = 64  # bytes in which text of two bytes a character shows
_FEW, _TAB = 3, 9  # bytes that say nothing; the lowest that text has
_HALVES = {0: "be", 1: "le"}


def problem(head: bytes) -> str | None:
    """What a file is that begins so, and what to do; None where it may be of a format here."""
    for begins, problem in _BEGINS:
        if head.startswith(begins):
            return problem
    if head[_AT : _AT + len(_TAR)] == _TAR:
        return "a tar archive; unpack it first (tar -xf)."
    if _PAGE.match(head.removeprefix(BOM)):
        return "a web page, as servers send where a file is missing; download it again."
    for odd, order in _HALVES.items():
        zeros, letters = head[odd:_WIDE:2], head[1 - odd : _WIDE : 2]
        if len(head) > _FEW and not any(zeros) and letters.isascii() and min(letters) >= _TAB:
            return f"UTF-16 text; convert it (iconv -f utf-16{order} -t utf-8)."
    return None


def unknown_json(source: InputFile, head: bytes) -> InputError:
    """Why JSON is of no format: it is none, or it has another shape.

    Args:
        source: the file.
        head: its first bytes.
    """
    from rankgate.data.formats.tables import schemas
    from rankgate.data.text import json_text

    first = head.removeprefix(BOM).split(b"\n", 1)[0].strip()
    value = None
    try:
        value = json_text.parsed(first, source.label)
    except InputError:
        try:
            value = json_text.document(source)
        except InputError as fault:
            return fault
    rows = value if isinstance(value, list) and value and isinstance(value[0], dict) else []
    if rows and schemas.table_of(list(rows[0])):
        problem = "rows in one array; write one object per line, as jq -c '.[]' does."
    elif isinstance(value, dict) and schemas.table_of(list(value)):
        problem = (
            "an object over several lines, or in another one; write one plain object per line."
        )
    else:
        problem = "JSON that matches no known format; name the format, or see rankgate formats."
    return InputError(problem, source=source.label, code="unknown-format")
