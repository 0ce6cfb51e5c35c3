"""The tables of the pages about speed, between markers."""

from __future__ import annotations

from pathlib import Path

_DOCS = Path(__file__).parent.parent / "docs"
_PAGES = (_DOCS / "speed.md", _DOCS / "speed-figures.md")


def replace(name: str, text: str) -> None:
    """Put text between the markers of that name, in the page that has them."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    page = next(page for page in _PAGES if begin in page.read_text())
    text_before, _, remaining = page.read_text().partition(begin)
    _, _, text_after = remaining.partition(end)
    page.write_text(f"{text_before}{begin}\n{text}\n{end}{text_after}")
