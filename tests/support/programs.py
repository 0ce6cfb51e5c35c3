"""Programs of the project outside the package, such as ``docs/_seen/make.py``, as modules."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

ROOT = Path(__file__).parents[2]


def tool(path: str) -> ModuleType:
    """The module of a file, by its path in the project."""
    spec = spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Import the modules of a folder by name; after the block the modules are those of before."""
    original_modules = _modules_of(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        try:
            yield
        finally:
            for name in _modules_of(folder):
                del sys.modules[name]
            sys.modules.update(original_modules)


def _modules_of(folder: Path) -> dict[str, ModuleType]:
    start = f"{folder}{os.sep}"
    return {
        name: module
        for name, module in sys.modules.items()
        if (getattr(module, "__file__", None) or "").startswith(start)
    }
