"""SciPy's special functions of NumPy arrays.

They are the functions of `scipy.special` itself. That package also imports wrappers for arrays of
other libraries, and with them `numpy.f2py` and `numpy.testing`: nine tenths of its 0.15 s, which
are an eighth of the time of `compare` of 65 queries.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import scipy

_PACKAGE = "scipy.special"


def _load_functions() -> ModuleType:
    """The module of the compiled functions, or the package in a SciPy with other modules.

    Python imports a module after its package, so an empty package replaces `scipy.special` during
    the import. Another thread could import from it then; with more threads, the real one is used.
    """
    if _PACKAGE in sys.modules or threading.active_count() > 1:
        return import_module(_PACKAGE)
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(Path(scipy.__file__).with_name("special"))]
    sys.modules[_PACKAGE] = package
    try:
        with suppress(ImportError):
            return import_module(f"{_PACKAGE}._ufuncs")
    finally:
        del sys.modules[_PACKAGE]
    return import_module(_PACKAGE)


_functions: Any = _load_functions()
bdtr = _functions.bdtr
betaincinv = _functions.betaincinv
chdtrc = _functions.chdtrc
chdtri = _functions.chdtri
fdtrc = _functions.fdtrc
fdtri = _functions.fdtri
gammaincinv = _functions.gammaincinv
gammaln = _functions.gammaln
nctdtr = _functions.nctdtr
ndtr = _functions.ndtr
ndtri = _functions.ndtri
stdtr = _functions.stdtr
stdtrit = _functions.stdtrit
