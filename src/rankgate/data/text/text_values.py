"""Values of text files: bytes as text, numbers, normalized spellings, points in time.

Numbers are read as files write them. Texts that look the same are normalised to one spelling:
Unicode forms, ligatures, quotes, soft hyphens. Points in time are read in the formats of products.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

from rankgate.core.errors import InputError

BOM = b"\xef\xbb\xbf"
"""The byte order mark that a file may begin with."""

NOT_UTF8 = "not UTF-8 text; convert the file, for example with iconv -f latin1 -t utf-8."


def refuse_surrogates(ids: Iterable[str], label: str) -> None:
    """Check that ids are valid text: half of a surrogate pair cannot be written as UTF-8.

    Raises:
        InputError: an id is not valid text.
    """
    for id_ in ids:
        try:
            id_.encode()
        except UnicodeEncodeError:
            problem = f"id {id_!a} holds half of a surrogate pair, which is not a character."
            raise InputError(problem, source=label, code="invalid-id") from None


def decode_utf8(data: bytes, label: str, line: int = 1) -> str:
    """The text of bytes; `line` is the number of the first line.

    Raises:
        InputError: the bytes are not UTF-8; the message has the line.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        error_line = line + data.count(b"\n", 0, error.start)
        raise InputError(NOT_UTF8, source=label, line=error_line, code="not-utf8") from None


_MAX_SHOWN_LENGTH = 40


def number_fault(text: str, name: str) -> str:
    """The reason why a text is not a finite number; empty if it is a finite number."""
    short_text = text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"
    value = _number(text)
    if value is None:
        return f"{name} '{short_text}' is not a number; write one such as 12.5."
    if not math.isfinite(value):
        return f"{name} '{short_text}' is not a finite number; write one such as 12.5."
    return ""


_PYTHON_ONLY = frozenset("_xX")  # letters of numbers that Python alone reads


def _number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and _PYTHON_ONLY.isdisjoint(text) else None
    except ValueError:
        return None


_SPELLINGS = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
)


def normalize_text(text: str) -> str:
    r"""A text in Unicode's form NFKC, in lower case, with plain quotes and hyphens.

    Soft hyphens and other characters without a width are left out.

    >>> normalize_text("The \u201cof\ufb01ce\u201d, Cafe\u0301 and co\u00adoperate")
    'the "office", café and cooperate'
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).translate(_SPELLINGS).casefold()


def parse_time(text: str, name: str, label: str, line: int | None = None) -> datetime:
    """A point in time from ISO 8601 or Rails' ``2026-01-31 12:00:00 UTC``; without a zone, UTC.

    Args:
        text: the text to read.
        name: its name, for the error.
        label: the file.
        line: its line, if known.

    Raises:
        InputError: the text is not a valid point in time.

    >>> parse_time("2026-01-31 12:00:00 UTC", "time", "file").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    plain_text = text.strip().removesuffix(" UTC").strip()
    try:
        time = datetime.fromisoformat(plain_text)
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        problem = f"{name} '{text[:40]}' is not a point in time such as 2026-01-31T12:00:00Z."
        raise InputError(problem, source=label, line=line, code="not-a-time") from None


def format_time(time: datetime | None, *, zone: bool = True) -> str | None:
    """ISO 8601 in UTC, without unnecessary digits.

    >>> format_time(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00Z'
    """
    if time is None:
        return None
    return time.astimezone(UTC).replace(tzinfo=None).isoformat() + ("Z" if zone else "")
