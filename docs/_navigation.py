"""The tree of pages in the sidebar, built once: Sphinx builds it anew for each of 270 pages."""

from __future__ import annotations

import re

from sphinx.util.osutil import relative_uri

LINK = '<a class="reference internal" href="'
TAG = re.compile(rf'(</?(?:ul|li)[^>]*>|{LINK}[^"]*">|<input [^>]*>)')


class Navigation:
    """The tree as the first page has it, and where each page is in it."""

    def __init__(self, html: str) -> None:
        """Find the elements around each link.

        Args:
            html: the tree of a page that is not in it.
        """
        self.parts = TAG.split(html)
        self.links: dict[int, str] = {}
        self.around: dict[str, list[int]] = {}
        self.boxes: dict[int, int] = {}
        opened: list[int] = []
        for place, part in enumerate(self.parts):
            if part.startswith(("<ul", "<li")):
                opened.append(place)
            elif part in {"</ul>", "</li>"}:
                opened.pop()
            elif part.startswith(LINK):
                self.links[place] = part[len(LINK) : -2]
                self.around[self.links[place]] = [*opened]
            elif part.startswith("<input"):
                self.boxes[opened[-1]] = place

    def seen_from(self, page: str) -> str:
        """The tree of one page: links from there, and what leads to it opened.

        Args:
            page: its address.
        """
        parts = list(self.parts)
        for place, target in self.links.items():
            parts[place] = f'{LINK}{relative_uri(page, target)}">'
            if target == page:
                parts[place] = '<a class="current reference internal" href="#">'
        around = self.around.get(page, [])
        for place in around:
            if parts[place] == "<ul>":
                parts[place] = '<ul class="current">'
            else:
                last = ' current-page">' if place == around[-1] else '">'
                parts[place] = re.sub(r"(toctree-l\d)", r"\1 current", parts[place])[:-2] + last
            if place in self.boxes:
                box = self.boxes[place]
                parts[box] = parts[box].replace(' class="', ' checked="" class="', 1)
        return "".join(parts)
