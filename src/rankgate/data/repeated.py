"""Repeated judgments: by raters, judges and prompts, each combination once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

JUDGMENTS = "judgments"
"""The facet of judgments without a facet."""


@dataclass(frozen=True)
class RepeatedJudgments:
    """Judgments by the levels of their facets.

    Attributes:
        facets: the levels of each facet by its name, in the order given.
        qrels: the judgments by the level of each facet, in order.
    """

    facets: Mapping[str, tuple[str, ...]]
    qrels: Mapping[tuple[str, ...], Any]

    @classmethod
    def of(cls, source: Any) -> RepeatedJudgments:
        """From one set of judgments, several, or several by label, such as judge:A,prompt:1.

        Raises:
            UsageError: labels of other facets, the same label twice, a combination that is missing.
        """
        if isinstance(source, Mapping) and source and all(map(_is_label, source)):
            labelled_sets = [(_parse_levels(str(label)), qrels) for label, qrels in source.items()]
        else:
            judgment_sets = list(source) if isinstance(source, list | tuple) else [source]
            labelled_sets = [
                _split_label(judgments, number) for number, judgments in enumerate(judgment_sets, 1)
            ]
        names = tuple(labelled_sets[0][0])
        for levels, _ in labelled_sets:
            if tuple(levels) != names:
                raise UsageError(
                    f"judgments are of the facets {', '.join(names)} and {', '.join(levels)}; give "
                    "all of them the same facets in the same order.",
                    code="invalid-design",
                )
        qrels_by_levels: dict[tuple[str, ...], Any] = {}
        for levels, qrels in labelled_sets:
            level_names = tuple(levels.values())
            if level_names in qrels_by_levels:
                raise UsageError(
                    f"two sets of judgments are {_format_levels(names, level_names)}; give each "
                    "its own "
                    "level.",
                    code="invalid-design",
                )
            qrels_by_levels[level_names] = qrels
        facets = {
            name: tuple(dict.fromkeys(level_names[i] for level_names in qrels_by_levels))
            for i, name in enumerate(names)
        }
        for level_names in product(*facets.values()):
            if level_names not in qrels_by_levels:
                raise UsageError(
                    f"no judgments are {_format_levels(names, level_names)}: every level goes "
                    "with every "
                    "level of "
                    "the other facets; add them, or make one facet of both.",
                    code="invalid-design",
                )
        return cls(facets, qrels_by_levels)


def _format_levels(names: Sequence[str], level_names: Sequence[str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in zip(names, level_names, strict=True))


def _is_label(label: object) -> bool:
    return isinstance(label, str) and ":" in label


def _split_label(source: Any, number: int) -> tuple[dict[str, str], Any]:
    """``judge:A,prompt:1=FILE``, or any source of `read_qrels`."""
    if isinstance(source, str) and not Path(source).exists():
        label, equals, path = source.partition("=")
        if equals and _is_label(label):
            return _parse_levels(label), path
    name = str(source) if isinstance(source, str | Path) else str(number)
    return {JUDGMENTS: name}, source


def _parse_levels(label: str) -> dict[str, str]:
    """The levels by facet.

    Raises:
        UsageError: not of the form FACET:LEVEL,...

    >>> _parse_levels("judge:A,prompt:1")
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
