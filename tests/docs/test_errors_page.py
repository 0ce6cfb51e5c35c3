"""Every code that an error can have is on the page of error codes."""

from __future__ import annotations

import re
from pathlib import Path

from rankgate.core import errors
from support.programs import tool

ROOT = Path(__file__).parents[2]
page = tool("docs/_pages/errors.py")


def test_codes_that_tests_name_are_on_the_page():
    """Codes in calls of `raises` and `refused` of all tests."""
    tested_codes = {
        code
        for path in (ROOT / "tests").rglob("test_*.py")
        for code in re.findall(
            r"(?:raises|assert_refused)\([^\n]*?\"([a-z]+(?:-[a-z]+)+)\"", path.read_text()
        )
    }
    listed_codes = {code for code in page.codes() if code in tested_codes}
    assert len(listed_codes) > 0.8 * len(tested_codes)


def test_the_page_has_a_row_for_each_code():
    text = page.page()
    codes = page.codes()
    assert len(codes) > 100
    assert all(f"| `{code}` |" in text for code in codes)
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    defaults = {
        error_class.default_code for error_class in classes if issubclass(error_class, errors.RankgateError)
    }
    assert defaults <= set(codes)
    assert text.count("…") > 100


def test_messages_keep_to_their_cell():
    rows = [line for line in page.page().splitlines() if line.startswith("| `")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 3 for row in rows)
