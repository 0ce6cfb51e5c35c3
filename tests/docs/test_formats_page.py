"""The page docs/formats.md is made from the code."""

from __future__ import annotations

import importlib
from pathlib import Path

from support.programs import importable

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_fresh():
    """If this fails, ``python docs/_seen/make.py`` writes it."""
    with importable(DOCS):
        page = importlib.import_module("_pages.formats").page()
    assert (DOCS / "formats.md").read_text() == page
