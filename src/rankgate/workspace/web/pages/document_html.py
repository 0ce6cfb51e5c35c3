"""HTML and Markdown fields of documents, without scripts and without loading other files.

nh3 keeps only allowed tags and attributes, without scripts, styles, forms and event handlers. The
output is well formed. Then heading levels are lowered below those of the page, images that the page
may not load become text, and the words of the query are highlighted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.errors import require
from rankgate.workspace.web.pages.highlighting import QueryWords, Segments, mark_words
from rankgate.workspace.web.rendering import replace_invisible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

    from rankgate.workspace.web.pages.document_card import ImageAddress

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_TAGS = _HEADINGS | {
    *("a", "abbr", "address", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption"),
    *("cite", "code", "col", "colgroup", "dd", "del", "dfn", "div", "dl", "dt", "em", "figcaption"),
    *("figure", "footer", "header", "hr", "i", "img", "ins", "kbd", "li", "main", "nav", "ol"),
    *("p", "pre", "q", "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strike"),
    *("strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "time", "tr", "u"),
    *("ul", "var", "wbr"),
}
_SECTIONS = {"address", "article", "aside", "footer", "header", "main", "nav", "section"}
"""Tags that become plain blocks, because the page has its own landmarks."""

_DROPPED = {
    *("script", "style", "template", "title", "svg", "math", "noscript", "noframes", "noembed"),
    *("iframe", "frameset", "object", "embed", "applet", "audio", "video", "canvas", "textarea"),
    *("select", "option", "xmp", "plaintext"),
}
"""Tags that are removed with their contents."""

_ATTRIBUTES = {
    "*": {"dir", "lang"},
    "a": {"href"},
    "img": {"src", "alt"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_SCHEMES = {"http", "https", "data"}

_TAG = re.compile(r'<(/?)([a-z0-9]+)((?:[^">]|"[^"]*")*+)>')
"""A pattern for tags written by nh3; a quoted value may contain the characters of tags."""

_PIECES = re.compile(r'(<(?:[^">]|"[^"]*")*+>)')
_VALUE = re.compile(r' ([a-z]+)="([^"]*)"')
_SPACES = re.compile(r"\s+")

ImageOf = Callable[[str], "ImageAddress | None"]
"""The type of a function that returns the address of an image for the page."""


def render_html(text: str, query_words: QueryWords, image_of: ImageOf) -> str:
    """Render the HTML of a document safely, with highlighted words of the query.

    Args:
        text: the text of the document.
        query_words: the words to highlight.
        image_of: a function that decides about images by their addresses.

    >>> render_html("<h1 onclick=x>A <b>bike</b></h1><script>x</script>", QueryWords(), len)
    '<h2>A <b>bike</b></h2>'
    """
    require("documents in HTML need nh3", "nh3")
    import nh3

    clean = nh3.clean(
        replace_invisible(text),
        tags=set(_TAGS),
        clean_content_tags=set(_DROPPED),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_filter_attribute,
        url_schemes=set(_SCHEMES),
        link_rel="noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    writer = _TagWriter(image_of)
    pieces = []
    for piece in _PIECES.split(clean):
        if piece.startswith("<"):
            pieces.append(writer.write(piece))
        elif piece:
            pieces += [
                f"<mark>{html.escape(segment, quote=False)}</mark>"
                if is_marked
                else html.escape(segment, quote=False)
                for segment, is_marked in mark_words(html.unescape(piece), query_words)
            ]
    return "".join(pieces)


def render_markdown(text: str, query_words: QueryWords, image_of: ImageOf) -> str:
    """Render the Markdown of a document as safe HTML, with highlighted words of the query."""
    return render_html(_parser().render(text), query_words, image_of)


def plain_text(rendered: str) -> str:
    """The text of HTML from `render_html`, on one line."""
    without_tags = _PIECES.sub(lambda tag: "" if tag[0] in _INLINE else " ", rendered)
    return _SPACES.sub(" ", html.unescape(without_tags)).strip()


_INLINE = frozenset({"<mark>", "</mark>", "<b>", "</b>", "<em>", "</em>", "<i>", "</i>", "<wbr>"})
"""Tags that occur within words."""


def mark_plain(rendered: str, query_words: QueryWords) -> Segments:
    """The text of rendered HTML in segments with highlights, for lists."""
    return mark_words(plain_text(rendered), query_words)


def _filter_attribute(tag: str, name: str, value: str) -> str | None:
    """The allowed value of an attribute; links may lead only to the web."""
    if tag == "a" and name == "href":
        return value if value.lower().startswith(("http://", "https://")) else None
    return value


class _TagWriter:
    """A writer of tags in order, with heading levels below those of the page.

    Args:
        image_of: a function that decides about images by their addresses.
    """

    def __init__(self, image_of: ImageOf) -> None:
        self._image_of = image_of
        self._levels: list[int] = []

    def write(self, tag: str) -> str:
        match = _TAG.fullmatch(tag)
        if match is None:  # nh3 writes no other tag; if it does, keep the text
            return html.escape(tag)
        slash, name, attributes = match.groups()
        if name == "img":
            return self._image(attributes)
        if name in _HEADINGS:
            return f"<{slash}h{self._level(int(name[1]), is_end=bool(slash))}{attributes}>"
        return f"<{slash}div{attributes}>" if name in _SECTIONS else tag

    def _level(self, level: int, *, is_end: bool) -> int:
        """The level of a heading, at most one below the previous one: no level is skipped."""
        if not is_end:
            while self._levels and self._levels[-1] >= level:
                self._levels.pop()
            self._levels.append(level)
        return min(6, 1 + len(self._levels))

    def _image(self, attributes: str) -> str:
        values = {name: html.unescape(value) for name, value in _VALUE.findall(attributes)}
        alt = values.get("alt", "")
        image = self._image_of(values.get("src", ""))
        if image is None:
            return f'<span class="dim">[{html.escape(alt)}]</span>' if alt else ""
        address = html.escape(image.address)
        if image.is_shown:
            return (
                f'<img src="{address}" alt="{html.escape(alt)}" loading="lazy" referrerpolicy="no-referrer">'
            )
        return f'<span class="dim">[{html.escape(alt or "image")}]</span>'


@cache
def _parser() -> MarkdownIt:
    require("documents in Markdown need markdown-it", "markdown_it")
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
