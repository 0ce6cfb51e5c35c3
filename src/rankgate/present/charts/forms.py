"""A picture in the form that a file's name asks for."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.present.charts.page import page
from rankgate.reports.kinds import kind

if TYPE_CHECKING:
    from rankgate.present.charts.picture import Picture

FORMS = ("svg", "png", "pdf", "html", "json")
"""What a picture can be written as."""


def drawn(name: str, result: Any, place: str, theme: str = "", scale: float = 2.0) -> str | bytes:  # noqa: ANN401
    """A kind of picture of a result, in the form that the place's suffix says.

    Args:
        name: of the kind.
        result: what it needs.
        place: a file's name.
        theme: light or dark; empty is as the reader prefers where the form can, else light.
        scale: pixels to a point, of PNG.

    Raises:
        UsageError: an unknown kind or suffix; a result that gives no picture.
        MissingExtraError: Altair or its converter is not installed.
    """
    form = form_of(place)
    return written(kind(name).draw(result), form, theme, scale)


def written(told: Picture, form: str, theme: str = "", scale: float = 2.0) -> str | bytes:
    """A picture in one of `FORMS`."""
    if form == "png":
        return told.png(theme or "light", scale)
    if form == "pdf":
        return told.pdf(theme or "light")
    if form == "html":
        return page(told)
    if form == "json":
        return told.json(theme or "light")
    return told.svg(theme or "auto") + "\n"


def form_of(place: str) -> str:
    """The form of a file's name.

    Raises:
        UsageError: its suffix is none of `FORMS`.

    >>> form_of("deltas.SVG")
    'svg'
    """
    form = PurePath(place).suffix.lower().lstrip(".")
    if form not in FORMS:
        raise UsageError(
            f"{place}: a picture's name ends in .{', .'.join(FORMS)}.", code="unknown-format"
        )
    return form


def in_text(name: str, result: Any, width: int) -> str:  # noqa: ANN401 - as above
    """The same as bars of characters.

    Raises:
        UsageError: the kind has no such form.
    """
    found = kind(name).text
    if found is None:
        raise UsageError(
            f"{name} has no form for the terminal; name a file with -o, such as {name}.svg.",
            code="binary-output",
        )
    return found(result, width)
