"""All interleaving methods: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from functools import partial

from rankgate.core.declare import Registry, declared_in
from rankgate.online.interleaving.method import Interleaving

METHODS = Registry(
    Interleaving,
    "interleaving method",
    partial(declared_in, "rankgate.online.interleaving.methods", Interleaving),
    "rankgate.interleavings",
)
"""Interleaving methods by name."""
