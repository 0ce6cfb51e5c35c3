"""All off-policy estimators: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from functools import partial

from rankgate.core.declare import Registry, find_declared
from rankgate.online.off_policy.estimator import Estimator

ESTIMATORS = Registry(
    Estimator,
    "estimator",
    partial(find_declared, "rankgate.online.off_policy.estimators", Estimator),
    "rankgate.off_policy_estimators",
)
"""Estimators by name."""
