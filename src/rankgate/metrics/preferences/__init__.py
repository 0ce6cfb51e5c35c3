"""Metrics of preferences: which of two documents judges preferred, and which is ranked first."""

from rankgate.metrics.preferences.fulfilled import (
    PrefsAvg,
    PrefsBalanced,
    PrefsFul,
    PrefsPair,
    PrefsPoss,
    PrefsSimple,
)

__all__ = ["PREFERENCE_METRICS"]

PREFERENCE_METRICS = (PrefsSimple, PrefsPair, PrefsAvg, PrefsBalanced, PrefsPoss, PrefsFul)
"""Every metric of preferences, in the order in which they are listed."""
