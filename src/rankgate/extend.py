"""What plug-ins are written with: one place to import from, and the list of extension points.

>>> from rankgate import extend
>>> extend.API_VERSION
1
>>> [point.name for point in extend.EXTENSION_POINTS][:3]
['metric', 'convention', 'format']

The names are described in `rankgate.interface.extend`; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.interface import extend

if TYPE_CHECKING:
    from rankgate.interface.extend import *  # noqa: F403 - every name

__all__ = extend.__all__


def __getattr__(name: str) -> Any:  # noqa: ANN401 - each name has its own type
    if name not in __all__:
        raise AttributeError(f"module 'rankgate.extend' has no attribute '{name}'")
    return getattr(extend, name)


def __dir__() -> list[str]:
    return __all__
