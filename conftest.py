"""Collect doctests from the modules that have some: no other is imported or read for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a module of the package without an example."""
    if collection_path.suffix == ".py" and "src" in collection_path.parts:
        return not _has_example(collection_path) or None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in no module of tests without an example."""
    collectors = yield
    if file_path.suffix != ".py" or _has_example(file_path):
        return collectors
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def _has_example(path: Path) -> bool:
    return b">>> " in path.read_bytes()
