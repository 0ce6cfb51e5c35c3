"""A guideline in Markdown as HTML: no HTML of its own, no images, links of the web only."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.extras import require
from rankgate.workspace.web.cache import Cache
from rankgate.workspace.web.render import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


@cache
def _parser() -> MarkdownIt:
    require("guidelines need markdown-it", "markdown_it")
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


_GUIDELINES: Cache[str] = Cache(100)


def guideline_html(text: str) -> str:
    """The guideline; what is HTML in it is shown as text."""
    return _GUIDELINES.get(text, lambda: _rendered(text))


def _rendered(text: str) -> str:
    tokens = _parser().parse(visible(text))
    for each in tokens:
        if each.type.startswith("heading"):  # the page has its own headings above
            each.tag = f"h{min(6, int(each.tag[1]) + 1)}"
    return str(_parser().renderer.render(tokens, _parser().options, {}))
