"""The kinds of rules: a new one is a file in this folder, or an entry point of a package."""

from __future__ import annotations

from rankgate.core.declare import Registry, find_declared
from rankgate.decisions.gating.rule import RuleKind


def _kinds() -> tuple[RuleKind, ...]:
    """The rules that infer, then the rules that count, then the rules about single queries."""
    kinds = find_declared(__name__, RuleKind)
    return tuple(sorted(kinds, key=lambda kind: (not kind.statistical, not kind.sliced)))


RULES = Registry(RuleKind, "kind of rule", _kinds, group="rankgate.rules")
"""Every kind of rule, by name."""
