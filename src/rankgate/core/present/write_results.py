"""Write results as JSON, or in any of their forms, as text or in a file.

JSON holds plain values in full precision: the same bytes for the same result.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.output_files import find_form, save_file
from rankgate.core.present.text_tables import WIDTH

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.document_model import Document


def to_json(result: Mapping[str, object]) -> str:
    r"""One document with a newline at its end; undefined numbers are null.

    >>> to_json({"mean": {"AP": float("nan")}}).replace("\n", "")
    '{  "mean": {    "AP": null  }}'
    """
    return "".join(_json_pieces(result, "\n")) + "\n"


def result_json(result: WritableResult, parts: Mapping[str, bool]) -> Iterator[str]:
    """The JSON of a result in pieces, so that a large table is never in memory as text.

    Args:
        result: any result.
        parts: as the result's ``to_dict`` takes them.
    """
    from rankgate.core.present.codec import encode

    piece = io.StringIO()
    for text in _json_pieces(encode(result, parts, lambda table: table), "\n"):
        if piece.write(text) and piece.tell() > _PIECE:
            yield piece.getvalue()
            piece = io.StringIO()
    yield f"{piece.getvalue()}\n"


_PIECE = 1 << 20  # letters
_ROWS_PER_TEXT = 1 << 12
_SCALARS = {str, int, float, bool, type(None)}


def _json_pieces(value: Any, margin: str) -> Iterator[str]:  # noqa: ANN401 - any JSON value, or a frame
    """As `json.dumps` with an indent of 2, whose encoder in Python takes twice as long.

    Args:
        value: any JSON value; a frame is the list of its rows.
        margin: a line break and the indent of the line in which the value begins.
    """
    if hasattr(value, "iter_slices"):  # a frame
        yield from _table_pieces(value, margin)
        return
    if not value or not isinstance(value, dict | list | tuple):
        yield _encode_json(value, margin)
        return
    inner = f"{margin}  "
    members = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, members)):  # written in C, as one line with breaks in it
        text = _encode_json(value, inner)
        yield f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}"
        return
    names = [f"{_encode_key(key)}: " for key in value] if isinstance(value, dict) else [""] * len(value)
    begin, end = "{}" if isinstance(value, dict) else "[]"
    for name, member in zip(names, members, strict=True):
        yield f"{begin}{inner}{name}"
        yield from _json_pieces(member, inner)
        begin = ","
    yield f"{margin}{end}"


def _table_pieces(table: pl.DataFrame, margin: str) -> Iterator[str]:
    """The rows of a frame, some of them at a time."""
    inner = f"{margin}    "
    cells = (f"{inner}{_encode_key(name)}: ".replace("%", "%%") + "%s" for name in table.columns)
    template = f"{margin}  {{{','.join(cells)}{margin}  }}"
    begin = "["
    for rows in table.iter_slices(_ROWS_PER_TEXT) if len(table) else ():
        columns = [_cell_texts(column, inner) for column in rows]
        yield begin + ",".join([template % row for row in zip(*columns, strict=True)])
        begin = ","
    yield f"{margin}]" if begin == "," else "[]"


def _cell_texts(column: pl.Series, margin: str) -> list[str]:
    import polars as pl

    from rankgate.core.present.codec import encode_column

    values = encode_column(column)
    if column.dtype.is_float():
        return ["null" if value is None else repr(value) for value in values]
    if column.dtype.is_nested() or column.dtype == pl.Object:
        return ["".join(_json_pieces(value, margin)) for value in values]
    texts = {value: _encode_json(value, margin) for value in set(values)}
    return [texts[value] for value in values]


def _encode_key(key: object) -> str:
    text = _encode_json(key, "")
    return text if text[0] == '"' else f'"{text}"'


def _encode_json(value: object, margin: str) -> str:
    """A scalar, or a container of scalars with a break after each member."""
    encode = _json_encoder(f",{margin}").encode
    try:
        return encode(value)
    except ValueError:  # a number is not finite
        return encode(_without_nan(value))


@lru_cache
def _json_encoder(separator: str) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(separator, ": "))


def _without_nan(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_nan(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


FORMS = ("text", "json", "csv", "markdown", "latex", "html")
"""The forms of every result, by the name that ``--format`` takes."""


class WritableResult(Protocol):
    """A result that this module can write; a protocol, because results import this module."""

    def document(self, **options: Any) -> Document:
        """Headline, warnings, tables and paragraphs."""
        ...

    def to_dict(self, **parts: bool) -> dict[str, Any]:
        """Plain values for JSON."""
        ...

    @property
    def saved_parts(self) -> dict[str, bool]:
        """The parts of `to_dict` to save."""
        ...

    def to_polars(self) -> pl.DataFrame:
        """The main table."""
        ...


def render_result(result: WritableResult, form: str, width: int = WIDTH, **options: Any) -> str:
    """A result in one of `FORMS`, ending with a newline.

    Args:
        result: any result.
        form: one of `FORMS`.
        width: columns of text.
        options: as the result's ``document`` takes them (``to_dict`` for JSON).
    """
    if form == "json":
        return "".join(result_json(result, options))
    return render_document(result.document(**options), form, width)


def render_document(document: Document, form: str, width: int = WIDTH) -> str:
    """A document in one of `FORMS` but JSON, ending with a newline."""
    from rankgate.core.present import document_forms as forms  # JSON does not need it

    if form == "text":
        return forms.render_text(document, width)
    if form == "html":
        from rankgate.core.present.pages.page import document_page

        return document_page(document)
    writers = {"csv": forms.render_csv, "markdown": forms.render_markdown, "latex": forms.render_latex}
    return writers[form](document)


def save_result(result: WritableResult, path: str | Path) -> Path:
    """Write a result in the form that the file's suffix names; return the path.

    Raises:
        UsageError: the suffix is unknown, the result has no table, or the file cannot be written.
    """
    form = find_form(path, (*FORMS, "parquet"))
    if form == "json":
        save_file(path, result_json(result, result.saved_parts))
    elif form == "parquet":
        file = io.BytesIO()
        result.to_polars().write_parquet(file)
        save_file(path, file.getvalue())
    else:
        save_file(path, render_result(result, form))
    return Path(path)
