"""Answers of tools: a result as JSON and text, of limited size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.write_results import render_result

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.core.value_types import Json, JsonObject


MAX_QUOTED = 200
"""Characters of an argument that an error quotes."""

_LONGEST_ERROR = 1_000
_ENVELOPE = 500  # bytes of the message around an answer
_MAX_FIELDS = 40  # names in an object above which it is cut like a list
_TEXT_DIVISOR = 4  # the share of an answer that its text may take, as a divisor
_REASONS = {
    "mean": "no query has a value: see the counts and the undefined cases of the metric",
    "p_value": "too few queries with different values for a test",
    "p_raw": "too few queries with different values for a test",
    "interval": "too few queries with different values for an interval",
    "delta": "no query has a value in both runs",
    "value": "the metric is undefined here: see its undefined cases",
}


@dataclass(frozen=True)
class Page:
    """The part of an answer that is returned.

    Attributes:
        rows: the largest number of rows of each table.
        offset: the number of rows of each table that earlier answers returned.
        largest: the largest size of the whole answer, in bytes.
    """

    rows: int
    offset: int
    largest: int


def content_of(result: Result) -> dict[str, Any]:
    """A result as ``text``, as the command prints it, and as JSON in ``result``."""
    values = json.loads(render_result(result, "json"))
    content = {"text": render_result(result, "text"), "result": values}
    empty = dict(_empty_figures(values, ""))
    return content | ({"empty": empty} if empty else {})


def index_of(result: Result) -> dict[str, Any]:
    """The names and titles of a list of declared objects; a tool gives the details of one."""
    entries = {
        name: [{key: row.get(key) for key in ("name", "title")} for row in rows]
        for name, rows in json.loads(render_result(result, "json")).items()
        if isinstance(rows, list)
    }
    return {"text": render_result(result, "text"), "result": entries}


def answer_of(content: JsonObject, page: Page) -> dict[str, Any]:
    """Content with as many rows of its tables as fit.

    ``shortened`` has the full length of each part that was cut, by its path. ``next_offset`` gives
    the offset of the rows after this answer; it is null after the last row.
    """
    rows, text_size = page.rows, page.largest // _TEXT_DIVISOR
    while True:
        shortened: dict[str, int] = {}
        answer: dict[str, Any] = _shorten(dict(content), "", Page(rows, page.offset, text_size), shortened)
        lengths = [length for path, length in shortened.items() if path != "text"]
        has_more = max(lengths, default=0) > page.offset + rows
        answer |= {"shortened": shortened, "next_offset": page.offset + rows if has_more else None}
        if _answer_size(answer) <= page.largest:
            return answer
        if rows == 1 and text_size <= MAX_QUOTED:
            return _sizes_only(content, page)
        rows, text_size = max(1, rows // 2), max(MAX_QUOTED, text_size // 2)


def error_text(message: str, arguments: JsonObject) -> str:
    """An error that quotes at most `MAX_QUOTED` characters of each argument."""
    for text in sorted(_texts_of_arguments(arguments), key=len, reverse=True):
        for spelling in {text, repr(text)[1:-1]} if len(text) > MAX_QUOTED else ():
            message = message.replace(spelling, f"{spelling[:MAX_QUOTED]}…")
    return message if len(message) <= _LONGEST_ERROR else f"{message[:_LONGEST_ERROR]}…"


def _answer_size(answer: JsonObject) -> int:
    """The size of an answer in bytes as sent: as text, and as an object."""
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    payload = json.dumps(text, ensure_ascii=False) + json.dumps(answer, ensure_ascii=False)
    return len(payload.encode()) + _ENVELOPE


def _shorten(value: Json, path: str, page: Page, shortened: dict[str, int]) -> Any:  # noqa: ANN401
    """A value with long lists, objects and texts cut; their lengths go into ``shortened``."""
    if isinstance(value, dict):
        names = list(value)
        if len(names) > max(page.rows, _MAX_FIELDS):
            shortened[path] = len(names)
            names = names[page.offset : page.offset + page.rows]
        return {name: _shorten(value[name], f"{path}.{name}".lstrip("."), page, shortened) for name in names}
    if isinstance(value, list):
        rows = range(len(value))
        if len(value) > page.rows:
            shortened[path] = len(value)
            rows = rows[page.offset : page.offset + page.rows]
        return [_shorten(value[row], f"{path}[{row}]", page, shortened) for row in rows]
    if isinstance(value, str) and len(value) > page.largest:
        if path != "text":
            return f"{value[: page.largest]}…"
        shortened[path] = len(value)
        return "" if page.offset else f"{value[: page.largest]}…"
    return value


def _sizes_only(content: JsonObject, page: Page) -> dict[str, Any]:
    """The answer with sizes only, for results too large for even one row per table."""
    sizes = {name: len(json.dumps(member)) for name, member in content.items()}
    text = (
        f"one row of each table is larger than an answer of {page.largest:,} bytes; ask for less, or start "
        "with a larger --answer-bytes"
    )
    return {"text": text, "shortened": sizes, "next_offset": None}


def _empty_figures(value: Json, path: str) -> list[tuple[str, str]]:
    """The paths of figures without a value, with their reasons."""
    if isinstance(value, dict):
        pairs = []
        for name, member in value.items():
            reason = _REASONS["mean"] if path.endswith("mean") else _REASONS.get(name)
            member_path = f"{path}.{name}".lstrip(".")
            pairs += (
                [(member_path, reason)] if member is None and reason else _empty_figures(member, member_path)
            )
        return pairs
    if isinstance(value, list):
        return [pair for row, member in enumerate(value) for pair in _empty_figures(member, f"{path}[{row}]")]
    return []


def _texts_of_arguments(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for member in value.values() for text in _texts_of_arguments(member)]
    return (
        [text for member in value for text in _texts_of_arguments(member)] if isinstance(value, list) else []
    )
