"""Collect doctests from the modules that have some: the others need not be imported for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out a module of the package without an example."""
    if collection_path.suffix == ".py" and "src" in collection_path.parts:
        return b">>> " not in collection_path.read_bytes() or None
    return None
