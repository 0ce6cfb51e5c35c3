"""Judgments that were repeated: by raters, judges, prompts; each combination once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

JUDGMENTS = "judgments"
"""The facet of judgments that say none."""


@dataclass(frozen=True)
class Repeated:
    """Judgments by the levels of their facets.

    Attributes:
        facets: by name their levels, in the order given.
        qrels: by the level of each facet, in order.
    """

    facets: Mapping[str, tuple[str, ...]]
    qrels: Mapping[tuple[str, ...], Any]

    @classmethod
    def of(cls, given: Any) -> Repeated:
        """From one set of judgments, several, or several by label, as in judge:A,prompt:1.

        Raises:
            UsageError: labels of other facets, the same label twice, a combination that is missing.
        """
        if isinstance(given, Mapping) and given and all(map(_is_label, given)):
            labelled = [(_levels(str(label)), qrels) for label, qrels in given.items()]
        else:
            some = list(given) if isinstance(given, list | tuple) else [given]
            labelled = [_of_word(each, number) for number, each in enumerate(some, 1)]
        names = tuple(labelled[0][0])
        for levels, _ in labelled:
            if tuple(levels) != names:
                raise UsageError(
                    f"judgments are of the facets {', '.join(names)} and {', '.join(levels)}; give "
                    "all of them the same facets in the same order.",
                    code="invalid-design",
                )
        found: dict[tuple[str, ...], Any] = {}
        for levels, qrels in labelled:
            place = tuple(levels.values())
            if place in found:
                raise UsageError(
                    f"two sets of judgments are {_said(names, place)}; give each its own level.",
                    code="invalid-design",
                )
            found[place] = qrels
        facets = {name: tuple(dict.fromkeys(place[i] for place in found))
                  for i, name in enumerate(names)}  # fmt: skip
        for place in product(*facets.values()):
            if place not in found:
                raise UsageError(
                    f"no judgments are {_said(names, place)}: every level goes with every level of "
                    "the other facets; add them, or make one facet of both.",
                    code="invalid-design",
                )
        return cls(facets, found)


def _said(names: Sequence[str], place: Sequence[str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in zip(names, place, strict=True))


def _is_label(word: object) -> bool:
    return isinstance(word, str) and ":" in word


def _of_word(given: Any, number: int) -> tuple[dict[str, str], Any]:
    """``judge:A,prompt:1=FILE``, or what read_qrels takes."""
    if isinstance(given, str) and not Path(given).exists():
        label, equals, place = given.partition("=")
        if equals and _is_label(label):
            return _levels(label), place
    name = str(given) if isinstance(given, str | Path) else str(number)
    return {JUDGMENTS: name}, given


def _levels(label: str) -> dict[str, str]:
    """The levels by facet.

    Raises:
        UsageError: not of the form FACET:LEVEL,...

    >>> _levels("judge:A,prompt:1")
    {'judge': 'A', 'prompt': '1'}
    """
    levels: dict[str, str] = {}
    for word in label.split(","):
        facet, colon, level = word.strip().partition(":")
        if not (facet and colon and level) or facet in levels:
            raise UsageError(
                f"{label!r}: say FACET:LEVEL, several between commas, as in judge:A,prompt:1.",
                code="invalid-syntax",
            )
        levels[facet] = level
    return levels
