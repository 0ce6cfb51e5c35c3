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
        open_elements: list[int] = []
        for index, fragment in enumerate(self.parts):
            if fragment.startswith(("<ul", "<li")):
                open_elements.append(index)
            elif fragment in {"</ul>", "</li>"}:
                open_elements.pop()
            elif fragment.startswith(LINK):
                self.links[index] = fragment[len(LINK) : -2]
                self.around[self.links[index]] = [*open_elements]
            elif fragment.startswith("<input"):
                self.boxes[open_elements[-1]] = index

    def seen_from(self, page: str) -> str:
        """The tree of one page: links from there, and what leads to it opened.

        Args:
            page: its address.
        """
        parts = list(self.parts)
        for index, target in self.links.items():
            parts[index] = f'{LINK}{relative_uri(page, target)}">'
            if target == page:
                parts[index] = '<a class="current reference internal" href="#">'
        ancestors = self.around.get(page, [])
        for index in ancestors:
            if parts[index] == "<ul>":
                parts[index] = '<ul class="current">'
            else:
                last = ' current-page">' if index == ancestors[-1] else '">'
                parts[index] = re.sub(r"(toctree-l\d)", r"\1 current", parts[index])[:-2] + last
            if index in self.boxes:
                box = self.boxes[index]
                parts[box] = parts[box].replace(' class="', ' checked="" class="', 1)
        return "".join(parts)
