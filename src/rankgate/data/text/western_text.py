"""Text of western Europe in Windows-1252, as spreadsheets save it: known by evidence, and decoded."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_LETTERS = frozenset("àâäáãåæçèéêëìíîïñòóôöõøœùúûüßÀÂÄÁÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÖÕØŒÙÚÛÜ")
_TYPOGRAPHY = frozenset("€£§©®°ªº´·…–—‘’‚“”„«»¡¿×½¼\xa0")
_WORD = re.compile(rf"\w*[{''.join(_LETTERS)}]\w*")
_SEPARATORS = re.compile(rb"[,;|\t]")
_BEGINNING = 1 << 16  # bytes to look at


def decode_western(input_file: InputFile) -> InputFile:
    """The file as UTF-8 if it is a table in Windows-1252; every other file unchanged.

    Every byte beyond ASCII at its beginning has to be a letter of western Europe or a sign of
    typography: text of other encodings gives other letters. The first such word is kept as
    `InputFile.western_word`, for a caution.
    """
    path = input_file.path
    if input_file.form is not None or (path is not None and not path.is_file()):
        return input_file
    word = _western_word(input_file.head(_BEGINNING))
    if not word:
        return input_file
    text = input_file.everything().decode("cp1252", errors="replace")
    return replace(input_file, content=text.encode(), western_word=word)


def _western_word(first_bytes: bytes) -> str:
    try:
        first_bytes.decode()
    except UnicodeDecodeError as error:
        is_cut_off = error.start >= len(first_bytes) - 3 and len(first_bytes) == _BEGINNING
    else:
        return ""
    is_json = first_bytes.lstrip()[:1] in (b"{", b"[")
    if (
        is_cut_off
        or is_json
        or b"\x00" in first_bytes
        or not _SEPARATORS.search(first_bytes.split(b"\n", 1)[0])
    ):
        return ""
    try:
        text = first_bytes.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    word = _WORD.search(text)
    signs = {sign for sign in text if not sign.isascii()}
    return word[0] if word and signs <= _LETTERS | _TYPOGRAPHY else ""
