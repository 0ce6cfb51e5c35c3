"""Write results as JSON, or in any of their forms, as text or in a file.

JSON holds plain values in full precision: the same bytes for the same result.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rankgate.core.output_files import find_form, save_file
from rankgate.core.present.text_tables import WIDTH

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.document_model import Document
    from rankgate.core.value_types import Json


def to_json(result: Mapping[str, object]) -> str:
    r"""One document with a newline at its end; undefined numbers are null.

    >>> to_json({"mean": {"AP": float("nan")}}).replace("\n", "")
    '{  "mean": {    "AP": null  }}'
    """
    return _indent_json(result, "\n") + "\n"


_SCALARS = {str, int, float, bool, type(None)}


def _indent_json(value: object, margin: str) -> str:
    """As `json.dumps` with an indent of 2, whose encoder in Python takes twice as long.

    Args:
        value: any JSON value.
        margin: a line break and the indent of the line in which the value begins.
    """
    if not value or not isinstance(value, dict | list | tuple):
        return _encode_json(value, margin)
    inner = f"{margin}  "
    members = value.values() if isinstance(value, dict) else value
    if _SCALARS.issuperset(map(type, members)):  # written in C, as one line with breaks in it
        text = _encode_json(value, inner)
        return f"{text[0]}{inner}{text[1:-1]}{margin}{text[-1]}"
    texts = [_indent_json(member, inner) for member in members]
    if isinstance(value, dict):
        keys = [_encode_json(key, margin) for key in value]
        names = [key if key[0] == '"' else f'"{key}"' for key in keys]
        texts = [f"{name}: {text}" for name, text in zip(names, texts, strict=True)]
    text = f",{inner}".join(texts)
    return f"{{{inner}{text}{margin}}}" if isinstance(value, dict) else f"[{inner}{text}{margin}]"


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

    def values_to_save(self) -> dict[str, Any]:
        """All values to save."""
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
        values: dict[str, Json] = result.to_dict(**options)
        return to_json(values)
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
        save_file(path, to_json(result.values_to_save()))
    elif form == "parquet":
        file = io.BytesIO()
        result.to_polars().write_parquet(file)
        save_file(path, file.getvalue())
    else:
        save_file(path, render_result(result, form))
    return Path(path)
