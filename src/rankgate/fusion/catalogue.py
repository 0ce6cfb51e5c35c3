"""Every fusion method, by name."""

from __future__ import annotations

from rankgate.declare import Registry
from rankgate.fusion.method import Method
from rankgate.fusion.methods import ranks, scores, trained, votes

METHODS = Registry(
    Method,
    "fusion method",
    (*ranks.METHODS, *scores.METHODS, *votes.METHODS, *trained.METHODS),
    group="rankgate.fusion",
)
"""The methods: by ranks, by scores, by votes, trained."""
