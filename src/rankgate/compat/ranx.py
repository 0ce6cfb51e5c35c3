"""The API of ranx, computed by rankgate: ``from rankgate.compat import ranx``."""

from rankgate.interface.compat import ranx
from rankgate.interface.compat.ranx import *  # noqa: F403 - every name of the library

__all__ = ranx.__all__
