"""A guideline in Markdown as HTML: no HTML of its own, no images, links of the web only."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.extras import require
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.render import replace_invisible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


@cache
def _parser() -> MarkdownIt:
    require("guidelines need markdown-it", "markdown_it")
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


_GUIDELINES: Cache[str] = Cache(100)


def render_guideline(text: str) -> str:
    """The guideline; what is HTML in it is shown as text."""
    return _GUIDELINES.get(text, lambda: _render_markdown(text))


def _render_markdown(text: str) -> str:
    tokens = _parser().parse(replace_invisible(text))
    for token in tokens:
        if token.type.startswith("heading"):  # the page has its own headings above
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return str(_parser().renderer.render(tokens, _parser().options, {}))
