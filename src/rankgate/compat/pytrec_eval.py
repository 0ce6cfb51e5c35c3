"""pytrec_eval, computed here: ``from rankgate.compat import pytrec_eval``."""

from rankgate.interface.compat import pytrec_eval
from rankgate.interface.compat.pytrec_eval import *  # noqa: F403 - every name of the library

__all__ = pytrec_eval.__all__


def __getattr__(name: str) -> object:
    return getattr(pytrec_eval, name)


def __dir__() -> list[str]:
    return dir(pytrec_eval)
