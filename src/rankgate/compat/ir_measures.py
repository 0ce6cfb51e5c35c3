"""The API of ir_measures, computed by rankgate: ``from rankgate.compat import ir_measures``."""

from rankgate.interface.compat import ir_measures
from rankgate.interface.compat.ir_measures import *  # noqa: F403 - every name of the library

__all__ = ir_measures.__all__


def __getattr__(name: str) -> ir_measures.Measure:
    """Return any other measure by its name."""
    measure: ir_measures.Measure = getattr(ir_measures, name)
    return measure
