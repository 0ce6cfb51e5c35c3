"""A browser, and a checker of accessibility."""

import os
from importlib import resources
from pathlib import Path

import pytest

from support.chromium import Chromium
from support.demos import demo_folder, demo_history  # noqa: F401 - fixtures
from support.needs import AXE
from support.serving import quick_passwords  # noqa: F401 - a fixture


@pytest.fixture(scope="session")
def chromium():
    """One browser for all tests."""
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, from the file that RANKGATE_AXE names or from a package."""
    axe_path = os.environ.get("RANKGATE_AXE")
    file = Path(axe_path) if axe_path else resources.files(AXE) / "axe.min.js"
    return file.read_text(encoding="utf-8")
