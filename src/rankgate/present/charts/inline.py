"""A picture inside a page that allows styles by their hash alone."""

from __future__ import annotations

from typing import Any

from rankgate.errors import MissingExtraError, UsageError
from rankgate.present.charts.style import swaps
from rankgate.reports.kinds import kind

STYLE = (
    "figure.picture{margin:1.5rem 0;overflow-x:auto}"
    "figure.picture svg{display:block;max-width:100%;height:auto}"
    f"{swaps('figure.picture ')}"
)
"""For the page's own style: light or dark as its reader prefers."""


def figure(name: str, result: Any) -> str:  # noqa: ANN401 - each kind has its own
    """A kind of picture of a result as HTML; nothing where the extra or something to draw lacks."""
    try:
        drawn = kind(name).draw(result).svg("light")
    except (MissingExtraError, UsageError):
        return ""
    return f'<figure class="picture">{drawn}</figure>'
