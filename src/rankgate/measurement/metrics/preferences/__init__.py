"""Metrics of preferences: which of two documents judges preferred, and which is ranked first."""

from rankgate.measurement.metrics.preferences.fulfilled import (
    PrefsAvg,
    PrefsBalanced,
    PrefsFul,
    PrefsPair,
    PrefsPoss,
    PrefsSimple,
)
from rankgate.measurement.metrics.preferences.ideal import PrefsCompat

__all__ = ["PREFERENCE_METRICS"]

PREFERENCE_METRICS = (
    PrefsSimple,
    PrefsPair,
    PrefsAvg,
    PrefsBalanced,
    PrefsPoss,
    PrefsFul,
    PrefsCompat,
)
"""Every metric of preferences, in the order in which they are listed."""
