"""Which plug-in an error came from, so that the message names it and not rankgate."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from rankgate.core.declare.plugins import files_in_use, origins
from rankgate.interface.extend.points import EXTENSION_POINTS


def culprit(error: Exception) -> str:
    """Return the plug-in that an error passed through last, with file and line; empty if none.

    Args:
        error: any exception with its traceback.
    """
    owners = dict(_owners())
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        for place, owner in owners.items():
            if Path(frame.filename) == place or place in Path(frame.filename).parents:
                return f"{owner} ({frame.filename}:{frame.lineno})"
    return ""


def _owners() -> Iterator[tuple[Path, str]]:
    """The files, and the folders of packages, of plug-ins that were imported, with their names."""
    for each in files_in_use():
        yield Path(each.origin.name), str(each.origin)
    for origin, point in origins(*(each.group for each in EXTENSION_POINTS)):
        module = sys.modules.get(point.module.partition(".")[0])
        file = getattr(module, "__file__", None)
        if file:
            place = Path(file)
            yield (place.parent if place.name == "__init__.py" else place), str(origin)
