"""The tables of the page about speed, between markers."""

from __future__ import annotations

from pathlib import Path

_PAGE = Path(__file__).parent.parent / "docs" / "speed.md"


def replace(name: str, text: str) -> None:
    """Put text between the markers of that name in the page."""
    page = _PAGE.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    text_before, _, remaining = page.partition(begin)
    _, _, text_after = remaining.partition(end)
    _PAGE.write_text(f"{text_before}{begin}\n{text}\n{end}{text_after}")
