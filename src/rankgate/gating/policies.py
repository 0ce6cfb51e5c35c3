"""What policies may say, and whether one says it rightly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.gating.policy import default, found, read
from rankgate.gating.rules import RULES
from rankgate.gating.settings import COMMON, LISTS, SETTINGS

if TYPE_CHECKING:
    from rankgate.declare import Parameter
    from rankgate.gating.policy import Policy
    from rankgate.gating.rule import RuleKind


@dataclass(frozen=True)
class Vocabulary:
    """All that a policy may say.

    Attributes:
        settings: of ``[gate]``.
        lists: of ``[lists]``.
        common: of every ``[[rules]]``.
        kinds: of rules, each with its own parameters.
    """

    settings: tuple[Parameter, ...]
    lists: tuple[Parameter, ...]
    common: tuple[Parameter, ...]
    kinds: tuple[RuleKind, ...]


def vocabulary() -> Vocabulary:
    """All that a policy may say."""
    common = tuple(
        replace(each, choices=tuple(RULES)) if each.name == "kind" else each for each in COMMON
    )
    return Vocabulary(SETTINGS, LISTS, common, tuple(RULES.values()))


def policy(path: str | None = None) -> Policy:
    """The policy of a file; without one that of the current folder, else the default.

    Raises:
        InputError: the file cannot be read, or says what no policy can; with its line.
    """
    place = Path(path) if path else found(Path())
    return read(place) if place else default()
