"""The page of checks is the table of checks."""

from __future__ import annotations

from pathlib import Path

from rankgate.files.documents.validation import render_checks
from rankgate.files.validate import checks

PAGE = Path(__file__).parents[2] / "docs" / "validate.md"


def test_the_page_is_fresh():
    """If this fails, ``rankgate validate --list --format markdown > docs/validate.md`` does it."""
    assert PAGE.read_text() == render_checks(checks(), "markdown")
