"""The API for plug-ins: one place to import from, and the list of extension points.

>>> from rankgate import extend
>>> extend.API_VERSION
1
>>> [point.name for point in extend.EXTENSION_POINTS][:3]
['metric', 'convention', 'format']

The names are described in `rankgate.interface.extend`; each is imported when it is first used.
"""

from __future__ import annotations

from rankgate.core.present.lazy_names import lazy_names
from rankgate.interface import extend

_HOMES = {"rankgate.interface.extend": extend.__all__}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
