"""Pages about other libraries run where these are installed; they are not in ``dev``."""

from __future__ import annotations

import doctest
import importlib
import warnings
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "neighbours"
PAGES = sorted(page for page in FOLDER.glob("*.md") if page.stem != "index")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other library
        try:
            importlib.import_module(page.stem)
        except ImportError:
            pytest.skip(f"{page.stem} is not installed: pip install {page.stem}")
        monkeypatch.chdir(tmp_path)
        done = doctest.testfile(str(page), module_relative=False)
    assert (done.failed, done.attempted > 5) == (0, True)
