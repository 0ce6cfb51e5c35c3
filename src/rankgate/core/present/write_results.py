"""Write results as JSON, or in any of their forms, as text or in a file.

JSON holds plain values in full precision: the same bytes for the same result.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping
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
    return json.dumps(_without_nan(result), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _without_nan(value: object) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _without_nan(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


FORMS = ("text", "json", "csv", "markdown", "latex", "html")
"""The forms of every result, by the name that ``--format`` takes."""


class WritableResult(Protocol):
    """A result that this module can write; a protocol, because results import this module."""

    def document(self, **options: Any) -> Document:
        """Headline, warnings, tables and paragraphs."""
        ...

    def to_dict(self) -> dict[str, Any]:
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
    from rankgate.core.present import document_forms as forms  # JSON does not need it

    document = result.document(**options)
    if form == "text":
        return forms.render_text(document, width)
    if form == "html":
        from rankgate.core.present.pages.page import document_page

        return document_page(document)
    writers = {
        "csv": forms.render_csv,
        "markdown": forms.render_markdown,
        "latex": forms.render_latex,
    }
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
