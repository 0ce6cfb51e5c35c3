"""A result in any of its forms, as text or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.forms.as_text import WIDTH

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

FORMS = ("text", "json", "csv", "markdown", "latex", "html")
"""The forms of every result, by the name that ``--format`` takes."""


def rendered(result: Result, form: str, width: int = WIDTH, **options: Any) -> str:
    """A result in one of `FORMS`, ending with a newline.

    Args:
        result: any result.
        form: one of `FORMS`.
        width: columns of text.
        options: as the result's ``document`` takes them (``to_dict`` for JSON).
    """
    if form == "json":
        from rankgate.core.present.forms import as_json

        return as_json.dumped(result.to_dict(**options))
    from rankgate.core.present.forms import documents as forms  # here only: JSON needs none of it

    document = result.document(**options)
    if form == "text":
        return forms.text(document, width)
    if form == "html":
        from rankgate.core.present.pages.page import page

        return page(document)
    ways = {"csv": forms.csv, "markdown": forms.markdown, "latex": forms.latex}
    return ways[form](document)
