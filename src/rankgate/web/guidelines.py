"""A guideline in Markdown as HTML: no HTML of its own, no images, links of the web only."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rankgate.errors import MissingExtraError
from rankgate.web.render import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


@cache
def _parser() -> MarkdownIt:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        message = "the server needs more packages; pip install 'rankgate[serve]'."
        raise MissingExtraError(message) from None
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


@lru_cache(maxsize=100)
def guideline_html(text: str) -> str:
    """The guideline; what is HTML in it is shown as text."""
    tokens = _parser().parse(visible(text))
    for each in tokens:
        if each.type.startswith("heading"):  # the page has its own headings above
            each.tag = f"h{min(6, int(each.tag[1]) + 1)}"
    return str(_parser().renderer.render(tokens, _parser().options, {}))
