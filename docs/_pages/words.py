"""Small parts of Markdown that all made pages share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rankgate.core.present.markup_tables import escape_markdown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MADE = "<!-- made from the code by docs/_pages; changes here are lost -->\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of Markdown cells; the caller escapes characters that may break a cell."""
    lines = [head, [":--"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def code(text: object) -> str:
    """A word as code that stays one cell of a table."""
    plain = str(text).replace("|", "\\|")
    return f"`` {plain} ``" if "`" in plain else f"`{plain}`"


def prose(text: str) -> str:
    """A sentence of a docstring or of help; text between backticks is code."""
    parts = re.split(r"``?([^`]+)``?", text)
    return "".join(
        code(part_text) if index % 2 else escape_markdown(part_text) for index, part_text in enumerate(parts)
    )


def toctree(pages: Iterable[str], *, hidden: bool = True, caption: str = "") -> str:
    """The pages below this one."""
    options = [":hidden:"] * hidden + ([f":caption: {caption}"] if caption else [])
    return "\n".join(["```{toctree}", *options, "", *pages, "```", ""])


def label(name: str) -> str:
    """A heading that another page can name."""
    return f"({name})=\n"


__all__ = ["MADE", "code", "label", "prose", "table", "toctree"]
