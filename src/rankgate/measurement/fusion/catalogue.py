"""Every fusion method, by name."""

from __future__ import annotations

from rankgate.core.declare import Registry
from rankgate.measurement.fusion.method import Method
from rankgate.measurement.fusion.methods import ranks, scores, trained, votes

METHODS = Registry(
    Method,
    "fusion method",
    (*ranks.METHODS, *scores.METHODS, *votes.METHODS, *trained.METHODS),
    group="rankgate.fusion",
)
"""The methods: by ranks, by scores, by votes, trained."""
