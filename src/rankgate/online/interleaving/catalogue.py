"""All interleaving methods: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from functools import partial

from rankgate.core.declare import Registry, find_declared
from rankgate.online.interleaving.method import Interleaving

METHODS = Registry(
    Interleaving,
    "interleaving method",
    partial(find_declared, "rankgate.online.interleaving.methods", Interleaving),
    "rankgate.interleavings",
)
"""Interleaving methods by name."""
