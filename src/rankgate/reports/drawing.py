"""Pictures by the names of their kinds, in the form that a file's name asks for."""

from __future__ import annotations

from typing import Any

from rankgate.errors import UsageError
from rankgate.present.charts.picture import FORMS
from rankgate.present.suffixes import form_of
from rankgate.reports.kinds import kind


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
    return kind(name).draw(result).written(form_of(place, FORMS), theme, scale)


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
