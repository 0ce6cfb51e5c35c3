"""The plug-in that an error came from, so that the message names it and not rankgate."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from rankgate.core.declare.plugins import files_in_use, plugin_origins
from rankgate.interface.extend.points import EXTENSION_POINTS


def find_culprit(error: Exception) -> str:
    """Return the plug-in that an error passed through last, with file and line; empty if none.

    Args:
        error: any exception with its traceback.
    """
    owners = dict(_plugin_paths())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        for path, owner in owners.items():
            if Path(frame.filename) == path or path in Path(frame.filename).parents:
                return f"{owner} ({frame.filename}:{frame.lineno})"
    return ""


def _plugin_paths() -> Iterator[tuple[Path, str]]:
    """The files, and the folders of packages, of plug-ins that were imported, with their names."""
    for plugin in files_in_use():
        yield Path(plugin.origin.name), str(plugin.origin)
    for origin, point in plugin_origins(
        *(extension_point.group for extension_point in EXTENSION_POINTS)
    ):
        module = sys.modules.get(point.module.partition(".")[0])
        file = getattr(module, "__file__", None)
        if file:
            path = Path(file)
            yield (path.parent if path.name == "__init__.py" else path), str(origin)
