"""The axes of a convention one by one: what each decides and what it may be.

Read from the declaration of ``Convention`` itself, so that nothing is said twice.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from rankgate.data.run import Duplicates
from rankgate.scoring.convention import WORDS, Alignment, Convention

Kind = Literal["choice", "int", "float", "bool", "map"]

_WHOLE = frozenset({"parameters", "special"})  # these hold other choices and are none themselves
_JOINT = frozenset({"unknown"})  # of the run as a whole, not of a metric
_NONE, _NAN = ("none", "null"), ("nan", "undefined")


@dataclass(frozen=True)
class Axis:
    """One choice of a convention.

    Attributes:
        name: the field of ``Convention``.
        about: what it decides.
        kind: what it takes; a ``map`` has values by kind of empty.
        choices: the words it may be.
        optional: whether it may be none.
        default: what it is unless a convention says otherwise.
        each: whether it can differ from metric to metric.
    """

    name: str
    about: str
    kind: Kind
    choices: tuple[str, ...]
    optional: bool
    default: Any
    each: bool

    @property
    def takes(self) -> str:
        """What it may be, in words."""
        words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
        if self.kind == "map":
            return f"NAME.KIND=VALUE for the kinds {', '.join(KINDS)}".replace("NAME", self.name)
        told = " or ".join(self.choices) if self.choices else words[self.kind]
        return f"{told} or none" if self.optional else told

    def read(self, value: object) -> Any:  # noqa: ANN401 - as the field has it
        """A value as the field has it, from a word or as it is.

        Raises:
            ValueError: it is not what the axis takes.
        """
        plain = literal(value) if isinstance(value, str) else value
        if plain is None and self.optional:
            return None
        if self.kind == "map" and isinstance(plain, Mapping) and set(plain) <= set(KINDS):
            return {kind: number(inside) for kind, inside in plain.items()}
        if self.kind == "choice" and value in self.choices:
            return value
        if self.kind == "bool" and isinstance(plain, bool):
            return plain
        if self.kind == "int" and isinstance(plain, int) and not isinstance(plain, bool):
            least = 0 if self.name == "digits" else 1
            if plain >= least:
                return plain
        if self.kind == "float" and isinstance(plain, int | float) and not isinstance(plain, bool):
            return float(plain)
        raise ValueError(f"must be {self.takes}")


KINDS = (
    *("nothing", "no_judgments", "without_relevant", "nothing_retrieved", "nothing_judged"),
    *("no_hit", "zero"),
)
"""The kinds of empty that ``forced`` knows, in the order in which they are tried."""


def number(value: object) -> float | None:
    """A number, NaN or none from a word or as it is; raises ValueError for anything else."""
    plain = literal(value) if isinstance(value, str) else value
    if plain is None:
        return None
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        return float(plain)
    raise ValueError("must be a number, nan or none")


def literal(word: str) -> Any:  # noqa: ANN401 - what the word says
    """What a word says: none, nan, true, false, a number; else the word itself.

    >>> literal("none"), literal("True"), literal("10"), literal("0.5"), literal("exp")
    (None, True, 10, 0.5, 'exp')
    """
    folded = word.strip().lower()
    if folded in _NONE:
        return None
    if folded in _NAN:
        return math.nan
    if folded in ("true", "false"):
        return folded == "true"
    for kind in (int, float):
        try:
            return kind(folded)
        except ValueError:
            continue
    return word


@functools.cache
def axes() -> Mapping[str, Axis]:
    """Every axis by name, in the order of the declaration."""
    known = {"Duplicates": Duplicates, "Mapping": Mapping, "Any": Any}
    hints = get_type_hints(Convention, localns=known)
    about = _documented(Convention) | _documented(Alignment)
    found = {}
    for each in fields(Convention):
        if each.name in WORDS | _WHOLE:
            continue
        kind, choices, optional = _taken(hints[each.name])
        found[each.name] = Axis(
            name=each.name,
            about=about.get(each.name, ""),
            kind=kind,
            choices=choices,
            optional=optional,
            default={} if kind == "map" else each.default,
            each=each.name not in _JOINT,
        )
    return types.MappingProxyType(found)


def _taken(hint: object) -> tuple[Kind, tuple[str, ...], bool]:
    """What a field takes: its kind, its words, whether none."""
    parts = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    optional = type(None) in parts
    (plain,) = [part for part in parts if part is not type(None)]
    if get_origin(plain) is Literal:
        return "choice", tuple(map(str, get_args(plain))), optional
    if plain in (bool, int, float):
        return {bool: "bool", int: "int", float: "float"}[plain], (), optional  # type: ignore[return-value]
    return "map", (), optional


def _documented(declared: type) -> dict[str, str]:
    """What a docstring says under ``Attributes`` of each field."""
    _, _, listed = inspect.cleandoc(declared.__doc__ or "").partition("Attributes:\n")
    found = {}
    for entry in re.split(r"\n(?=    \w)", "\n" + listed):
        names, _, told = entry.strip().partition(":")
        sentence = " ".join(told.split()).replace("``", "").replace("None", "none")
        found.update(dict.fromkeys(names.replace(" ", "").split(","), sentence))
    return {name: told for name, told in found.items() if name}
