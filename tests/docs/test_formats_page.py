"""The page of formats is the table of formats."""

from __future__ import annotations

from pathlib import Path

from rankgate.files.documents.formats import page
from rankgate.files.formats import format_facts

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_page_is_fresh():
    """If this fails, ``rankgate formats --format markdown > docs/formats.md`` writes it anew."""
    assert PAGE.read_text() == page(format_facts())
