"""The axes of a convention one by one: what each decides and what it may be.

Read from the declaration of ``Convention`` itself, so that nothing is said twice.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_type_hints

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.signature import documented, parameter
from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.convention import WORDS, Alignment, Convention

KINDS = (
    *("nothing", "no_judgments", "without_relevant", "nothing_retrieved", "nothing_judged"),
    *("no_hit", "zero"),
)
"""The kinds of empty that ``forced`` knows, in the order in which they are tried."""

_WHOLE = frozenset({"parameters", "special"})  # these hold other choices and are none themselves
_JOINT = frozenset({"unknown"})  # of the run as a whole, not of a metric
_RANGES = {"digits": Range(0), "depth": Range(1)}


@dataclass(frozen=True)
class Axis(Parameter):
    """One choice of a convention.

    Attributes:
        each: whether it can differ from metric to metric.
    """

    each: bool = True


def number(value: object) -> float | None:
    """A number, NaN or none from a word or as it is; raises ValueError for anything else."""
    read: float | None = _NUMBER.parse(value)
    return read


_NUMBER = Parameter("forced", "float", range=Range(finite=False), optional=True)


@functools.cache
def axes() -> Mapping[str, Axis]:
    """Every axis by name, in the order of the declaration."""
    from rankgate.data.run import Duplicates

    known = {"Duplicates": Duplicates, "Mapping": Mapping, "Any": Any}
    hints = get_type_hints(Convention, localns=known)
    help_of = _documented(Convention) | _documented(Alignment)
    return types.MappingProxyType(
        {
            each.name: _axis(each.name, hints[each.name], each.default, help_of.get(each.name, ""))
            for each in fields(Convention)
            if each.name not in WORDS | _WHOLE
        }
    )


def _axis(name: str, hint: object, default: object, help_: str) -> Axis:
    found = parameter(name, hint, default, help_=help_)
    if found.kind == "gain":  # a mapping: here of kinds of empty
        found = replace(found, kind="map", default={}, choices=KINDS, optional=False)
    limits = _RANGES.get(name, Range(finite=False))
    return Axis(**{**vars(found), "range": limits}, each=name not in _JOINT)


def _documented(declared: type) -> dict[str, str]:
    """What a docstring says under ``Attributes`` of each field."""
    found = documented(declared.__doc__ or "", "Attributes")
    return {name: text.replace("``", "").replace("None", "none") for name, text in found.items()}
