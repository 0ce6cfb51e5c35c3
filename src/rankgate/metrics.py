"""Metrics by name: ``from rankgate.metrics import nDCG``.

>>> from rankgate.metrics import nDCG
>>> str(nDCG(gain="exp") @ 10)
"nDCG(gain='exp')@10"
"""

from rankgate.measurement import metrics
from rankgate.measurement.metrics import *  # noqa: F403 - every metric

__all__ = metrics.__all__
