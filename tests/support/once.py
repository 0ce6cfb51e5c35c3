"""Files that one worker makes for all workers."""

from __future__ import annotations

import fcntl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def make_once(factory: pytest.TempPathFactory, name: str, write: Callable[[Path], object]) -> Path:
    """The folder of a name that ``write`` fills in the first worker; the others wait for it."""
    base = factory.getbasetemp()
    shared = base.parent if base.name.startswith("popen-") else base
    folder, partial = shared / name, shared / f"{name}.partial"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            partial.mkdir()
            write(partial)
            partial.rename(folder)
    return folder
