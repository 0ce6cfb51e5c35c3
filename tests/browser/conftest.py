"""A browser, and what finds faults for those who do not see a page; each test skips without."""

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from support.chromium import Chromium, program

AXE = "axe_playwright_python"  # pip install --no-deps axe-playwright-python: it holds axe-core


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    if program() is None or shutil.which("bash") is None:
        pytest.skip("no Chromium on the PATH (Debian: apt install chromium)")
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, from the file that RANKGATE_AXE names or from a package."""
    named = os.environ.get("RANKGATE_AXE")
    found = None if named else importlib.util.find_spec(AXE)
    if not named and (found is None or found.origin is None):
        pytest.skip(f"axe-core is not there (pip install --no-deps {AXE.replace('_', '-')})")
    place = Path(named) if named else Path(found.origin).with_name("axe.min.js")
    return place.read_text(encoding="utf-8")
