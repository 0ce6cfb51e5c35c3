"""The pages that people see are fresh, and as wide as they should be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rankgate.core.console.terminal_output import colour_text
from rankgate.core.present.text_tables import text_width
from support.programs import tool

ROOT = Path(__file__).parents[2]
seen = tool("docs/_seen/make.py")

ESCAPE = re.compile(r"\x1b\[\d+m")


@pytest.fixture(scope="module")
def pages():
    """The pictures of the manual are in `test_manual`."""
    return dict(seen.pages())


def test_every_page_is_fresh(pages):
    """If this fails, ``python docs/_seen/make.py`` rewrites them; check the changes."""
    stale = [path.name for path, text in pages.items() if path.read_text() != text]
    assert stale == []


def test_no_page_is_left_over(pages):
    page_files = {path for path in seen.HERE.iterdir() if path.suffix in (".txt", ".ansi")}
    assert page_files == {path for path in pages if path.parent == seen.HERE}


@pytest.mark.parametrize("width", seen.WIDTHS)
def test_no_line_is_wider_than_the_page(pages, width):
    texts = {path: text for path, text in pages.items() if path.name.endswith(f"{width}.txt")}
    assert len(texts) == 9
    for path, text in texts.items():
        assert max(map(text_width, text.splitlines())) <= width, path.name
        assert not any(line != line.rstrip() for line in text.splitlines()), path.name


def test_the_wide_page_is_used(pages):
    lengths = {
        width: len(pages[seen.HERE / f"conventions-show-trec.{width}.txt"].splitlines())
        for width in seen.WIDTHS
    }
    assert lengths[160] < lengths[80]


def test_colour_changes_nothing_but_colour(pages):
    coloured = {path: text for path, text in pages.items() if path.suffix == ".ansi"}
    assert coloured
    for path, text in coloured.items():
        assert ESCAPE.sub("", text) == pages[path.with_suffix(".txt")]
        assert text != ESCAPE.sub("", text)


def test_a_title_and_labels_are_painted():
    plain = "trec\n  ties *  asc\nnothing here\n"
    assert colour_text(plain) == ("\x1b[1mtrec\x1b[0m\n  \x1b[36mties *\x1b[0m  asc\nnothing here\n")


def test_the_example_finds_both_rules():
    page = (seen.EXAMPLE / "README.md").read_text()  # which is fresh: `test_manual`
    result = page.split("```console")
    assert "esci, " in result[1]
    assert "esci-code" not in result[1]
    assert "esci-code" in result[2].split("RR@20")[0]
    assert "nDCG.gain: exp → linear" in page
    assert "RR.cutoff: 10 → none" in page
